//! Softmax and RMS norm on MLX (CPU) and on IREE: in which order exponentials and squares are added.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, which clippy takes for production code"
)]

use std::path::Path;

use emitter::Contract;
use oracle::{MlxSide, iree::IreeSide};
use probes::{
    ops::{
        Absorbing, Finish, OpError, Site, Whole, check_whole_rows, confirm_whole, iree::Compiled,
        mlx::OnMlx,
    },
    order::{ProbeError, Tree, reveal_positive},
};
use runtime::{DeviceKind, Native, Store, Toolchain};
use stages::DType::{BF16, F32};

/// The tree that a side adds in, and how it finishes.
fn told<O: Whole>(
    site: &Site,
    op: &mut O,
    exponentials: &mut dyn Whole,
) -> Result<(Tree, Finish), ProbeError<OpError>> {
    check_whole_rows(site, op)?;
    let tree = {
        let mut absorbing = Absorbing::new(site, op).map_err(ProbeError::Op)?;
        reveal_positive(&mut absorbing)?.tree
    };
    let mut last = None;
    for finish in Finish::ALL {
        match confirm_whole(site, &tree, finish, 0..32, op, exponentials) {
            Ok(confirmed) => {
                assert!(
                    confirmed.telling > 0 || site.terms() < 8,
                    "{}: {confirmed:?}",
                    site.name()
                );
                return Ok((tree, finish));
            }
            Err(error) => last = Some(error),
        }
    }
    println!("{}: {tree}", site.name());
    Err(last.unwrap())
}

fn sites() -> Vec<Site> {
    let mut sites = Vec::new();
    for n in [2, 3, 24, 100, 288] {
        sites.push(Site::softmax(16, n, F32).unwrap());
        sites.push(Site::rms_norm(16, n, F32).unwrap());
    }
    sites.push(Site::softmax(1, 40, F32).unwrap());
    sites.push(Site::rms_norm(1, 40, F32).unwrap());
    sites
}

fn exponentials(sites: &[Site]) -> Vec<Site> {
    let of = |site: &Site| Site::exponentials(site.rows(), site.terms(), site.dtype()).unwrap();
    sites.iter().map(of).collect()
}

fn open() -> IreeSide {
    let store = Store::open(Path::new(env!("CARGO_TARGET_TMPDIR")).join("positive")).unwrap();
    let toolchain = Toolchain::new(&Native::locate().unwrap(), Some(store));
    IreeSide::open(DeviceKind::LocalTask, None, toolchain).unwrap()
}

#[test]
fn mlx_adds_exponentials_and_squares_in_sequence() {
    let side = MlxSide::new().unwrap();
    let sites = sites();
    for (site, exp) in sites.iter().zip(&exponentials(&sites)) {
        let found = told(
            site,
            &mut OnMlx::new(&side, site),
            &mut OnMlx::new(&side, exp),
        );
        let found = found.unwrap_or_else(|error| panic!("{}: failed to {error}", site.name()));
        assert_eq!(
            found,
            (Tree::sequential(site.terms()), Finish::default()),
            "{}",
            site.name()
        );
    }
}

#[test]
fn iree_does_under_the_contract() {
    let (side, sites) = (open(), sites());
    let exps = exponentials(&sites);
    let compiled = Compiled::new(&side, &sites, Contract::MlxCpu).unwrap();
    let exps = Compiled::new(&side, &exps, Contract::MlxCpu).unwrap();
    for (index, site) in sites.iter().enumerate() {
        let (mut op, mut exp) = (compiled.site(index).unwrap(), exps.site(index).unwrap());
        let found = told(site, &mut op, &mut exp);
        let found = found.unwrap_or_else(|error| panic!("{}: failed to {error}", site.name()));
        assert_eq!(
            found,
            (Tree::sequential(site.terms()), Finish::default()),
            "{}",
            site.name()
        );
    }
}

#[test]
fn whatever_the_compiler_chooses_is_revealed_and_confirmed() {
    let side = open();
    let sites = [
        Site::softmax(16, 128, F32).unwrap(),
        Site::rms_norm(16, 128, F32).unwrap(),
    ];
    let exps = exponentials(&sites);
    let compiled = Compiled::new(&side, &sites, Contract::Native).unwrap();
    let exps = Compiled::new(&side, &exps, Contract::Native).unwrap();
    for (index, site) in sites.iter().enumerate() {
        let (mut op, mut exp) = (compiled.site(index).unwrap(), exps.site(index).unwrap());
        let found = told(site, &mut op, &mut exp);
        let (tree, finish) =
            found.unwrap_or_else(|error| panic!("{}: failed to {error}", site.name()));
        println!("{}: {tree}, {finish:?}", site.name());
    }
}

#[test]
fn results_in_bf16_are_refused() {
    let side = MlxSide::new().unwrap();
    for (site, reason) in [
        (
            Site::softmax(4, 64, BF16).unwrap(),
            "arguments in BF16 have 8 bits",
        ),
        (
            Site::rms_norm(4, 64, BF16).unwrap(),
            "does not show the last bit",
        ),
    ] {
        let error = Absorbing::new(&site, &mut OnMlx::new(&side, &site)).unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
    }
}
