//! What the sides run on: the native libraries, the caches, MLX and an IREE device.

use std::{sync::Arc, time::Duration};

use oracle::{
    MlxSide,
    iree::{IreeSide, Unit},
    libm,
};
use remote::{SharedStore, VARIABLE};
use reports::wire::{Fingerprint, Iree};
use runtime::{DeviceKind, Native, Store, Toolchain};

use crate::{
    cli::{DeviceArg, EngineArgs},
    failure::{Failure, Kind, OrFail, said},
    fingerprint,
    run::reference,
};

/// What is kept for other machines too. Compiled modules are not: they are code, and whoever may
/// write the store could have every machine run theirs.
const SHARED: &[&str] = &[reference::KIND];

/// Everything opened and found fit.
#[derive(Debug)]
pub struct Engine {
    /// Where the native libraries are.
    pub native: Native,
    /// Compiled modules and reference captures, unless they are not kept.
    pub store: Option<Store>,
    /// MLX, if a side needs it.
    pub mlx: Option<MlxSide>,
    /// IREE, if a side needs it.
    pub iree: Option<IreeSide>,
    threads: usize,
}

/// Which sides a run needs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Needs {
    /// The live MLX.
    pub mlx: bool,
    /// An IREE device.
    pub iree: bool,
}

impl Engine {
    /// Opens what is needed, and checks that this host computes what the contract states.
    ///
    /// # Errors
    /// When a library, a device or the cache cannot be used, or the host's libm differs.
    pub fn open(args: &EngineArgs, needs: Needs) -> Result<Engine, Failure> {
        let threads = args.threads.map_or_else(
            || std::thread::available_parallelism().map_or(1, usize::from),
            usize::from,
        );
        // Fails only where the pool is made already, which nothing before this does.
        let _ = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build_global();
        let native = Native::locate().map_err(|error| {
            let message = format!("locate the native libraries: {}", said(&error));
            Failure::new(Kind::Environment, message)
        })?;
        let store = if args.no_cache { None } else { Some(store()?) };
        let mlx = if needs.mlx {
            libm::check().or_fail(Kind::Environment)?;
            Some(MlxSide::new().or_fail(Kind::Environment)?)
        } else {
            None
        };
        let iree = if needs.iree {
            let kind = match args.device {
                DeviceArg::LocalTask => DeviceKind::LocalTask,
                DeviceArg::LocalSync => DeviceKind::LocalSync,
            };
            // Without a number the device takes one for each processor, up to its most.
            let given = args.threads.map(usize::from);
            let workers = given.filter(|_| kind == DeviceKind::LocalTask);
            let toolchain = Toolchain::new(&native, store.clone());
            Some(IreeSide::open(kind, workers, toolchain).or_fail(Kind::Environment)?)
        } else {
            None
        };
        Ok(Engine {
            native,
            store,
            mlx,
            iree,
            threads,
        })
    }

    /// MLX and IREE, of an engine that was opened with both.
    ///
    /// # Errors
    /// When it was not.
    pub fn sides(&self) -> Result<(&MlxSide, &IreeSide), Failure> {
        let closed = || Failure::new(Kind::Environment, "use both sides: one was not opened");
        self.mlx.as_ref().zip(self.iree.as_ref()).ok_or_else(closed)
    }

    /// What this run runs on, modules being compiled with these flags.
    pub fn fingerprint_as(&self, flags: &[String]) -> Fingerprint {
        let mut fingerprint = self.fingerprint(None);
        let device = self
            .iree
            .as_ref()
            .map(|side| side.device().kind().to_string());
        fingerprint.iree = device.map(|device| fingerprint::iree(flags, &device));
        fingerprint
    }

    /// What this run runs on. `unit` is the module whose flags stand for all.
    pub fn fingerprint(&self, unit: Option<&Unit>) -> Fingerprint {
        let mlx = self
            .mlx
            .as_ref()
            .map(|side| fingerprint::mlx(side, &self.native));
        let iree: Option<Iree> =
            self.iree.as_ref().zip(unit).map(|(side, unit)| {
                fingerprint::iree(&unit.flags, &side.device().kind().to_string())
            });
        fingerprint::of(mlx, iree, fingerprint::host(self.threads))
    }
}

fn store() -> Result<Store, Failure> {
    let store = Store::open_default().map_err(|error| Failure::of_cache(&error))?;
    let shared = SharedStore::from_environment().map_err(|error| {
        let failure = Failure::caused(Kind::Environment, &error);
        failure.hinting(&format!(
            "unset {VARIABLE} to keep results on this machine only"
        ))
    })?;
    Ok(match shared {
        Some(shared) => store.sharing(SHARED, Arc::new(shared)),
        None => store,
    })
}

/// Seconds, for reports.
pub fn seconds(elapsed: Duration) -> f64 {
    elapsed.as_secs_f64()
}
