//! One side's answer: the tree, whether products are fused, and what a replay of both gives.

use emitter::Contract;
use oracle::{MlxSide, iree::IreeSide};
use probes::{
    ops::{OpError, Site, iree::Compiled, mlx::OnMlx},
    order::{
        Arithmetic, Confirmation, Fused, Plan, ProbeError, Revealed, Rounding, Sums, check_rows,
        confirm, reveal,
    },
};
use stages::DType;

use super::positive;
use crate::engine::Engine;

/// How many random results a tree has to reproduce.
const OUTPUTS: u64 = 256;

/// Where operations run.
pub enum Host<'e> {
    Mlx(&'e MlxSide),
    Iree(&'e IreeSide, Contract),
}

/// What was found out.
#[derive(Debug)]
pub struct Answer {
    pub revealed: Revealed,
    /// Which products are fused; nothing if there are none, or all are exact.
    pub fused: Option<Fused>,
    /// How results are rounded, of the ways that were tried the one that reproduces them.
    pub rounding: Rounding,
    /// What the tree reproduces, or why not.
    pub replay: Result<Confirmation, String>,
    /// Whether rows are known not to depend on each other; nothing if there is one.
    pub rows_apart: Option<bool>,
    /// Whether the same tree reproduces the operation on a single row.
    pub one_row: Option<bool>,
}

pub(super) type Found<T> = Result<T, ProbeError<OpError>>;

impl<'e> Host<'e> {
    /// The sides that were opened.
    pub fn all(engine: &'e Engine, contract: Contract) -> Vec<Host<'e>> {
        let mlx = engine.mlx.iter().map(Host::Mlx);
        let iree = engine.iree.iter().map(|side| Host::Iree(side, contract));
        mlx.chain(iree).collect()
    }

    /// What the side is called.
    pub fn name(&self) -> &'static str {
        match self {
            Host::Mlx(_) => "mlx",
            Host::Iree(..) => "iree",
        }
    }

    /// Probes a site; `single` is the same operation on one row.
    pub fn ask(&self, site: &Site, single: impl Fn() -> Result<Site, OpError>) -> Found<Answer> {
        if site.of().is_some() {
            return positive::ask(self, site, &single);
        }
        let revealed = self.on(site, &mut |op| {
            check_rows(op)?;
            reveal(op)
        })?;
        let fused = self.fused(site, &revealed)?;
        let factors: Vec<f32> = (0..site.terms())
            .map(|i| 0.3 + (i % 97) as f32 / 64.0)
            .collect();
        let rounded = |factor: &f32| match site.dtype() {
            DType::BF16 => Rounding::Bf16.round(*factor),
            _ => *factor,
        };
        let factors: Vec<f32> = factors.iter().map(rounded).collect();
        let given = site.with_factors(&factors);
        let roundings: &[Rounding] = match site.dtype() {
            DType::BF16 => &[Rounding::Bf16, Rounding::Bf16Once],
            _ => &[Rounding::F32],
        };
        let mut rounding = roundings[0];
        let mut replay = Err(String::new());
        for &tried in roundings {
            let arithmetic = arithmetic(&given, tried, fused.as_ref());
            replay = match self.on(&given, &mut |op| {
                confirm(&revealed.tree, &arithmetic, 0..OUTPUTS, op)
            }) {
                Ok(found) => Ok(found),
                Err(ProbeError::Op(error)) => return Err(ProbeError::Op(error)),
                Err(error) => Err(error.to_string()),
            };
            if replay.is_ok() {
                rounding = tried;
                break;
            }
        }
        let one_row = if site.rows() > 1 && replay.is_ok() {
            let single = single().map_err(ProbeError::Op)?.with_factors(&factors);
            let arithmetic = arithmetic(&single, rounding, fused.as_ref());
            let found = self.on(&single, &mut |op| {
                confirm(&revealed.tree, &arithmetic, 0..16, op)
            });
            match found {
                Err(ProbeError::Op(error)) => return Err(ProbeError::Op(error)),
                found => Some(found.is_ok()),
            }
        } else {
            None
        };
        Ok(Answer {
            revealed,
            fused,
            rounding,
            replay,
            rows_apart: (site.rows() > 1).then_some(true),
            one_row,
        })
    }

    /// Asks about products, if there are some that need rounding.
    fn fused(&self, site: &Site, revealed: &Revealed) -> Found<Option<Fused>> {
        if site.factors().is_none() || site.dtype() != DType::F32 {
            return Ok(None);
        }
        let (plan, mut fused) = (Plan::new(&revealed.tree), Fused::default());
        for part in [false, true] {
            let asked = site.with_factors(&plan.factors(part));
            self.on(&asked, &mut |op| fused.ask(&plan, part, op))?;
        }
        Ok(Some(fused))
    }

    /// Runs something on a site.
    fn on<T>(
        &self,
        site: &Site,
        run: &mut dyn FnMut(&mut dyn Sums<Error = OpError>) -> Found<T>,
    ) -> Found<T> {
        match self {
            Host::Mlx(side) => run(&mut OnMlx::new(side, site)),
            Host::Iree(side, contract) => {
                let sites = std::slice::from_ref(site);
                let compiled = Compiled::new(side, sites, *contract).map_err(ProbeError::Op)?;
                match compiled.site(0) {
                    Some(mut op) => run(&mut op),
                    None => Err(ProbeError::Op(OpError::NoResult(0))),
                }
            }
        }
    }
}

fn arithmetic(site: &Site, rounding: Rounding, fused: Option<&Fused>) -> Arithmetic {
    Arithmetic {
        rounding,
        factors: site.factors().map(<[f32]>::to_vec),
        fused: fused.cloned().unwrap_or_default(),
        scale: site.scale(),
    }
}

impl Answer {
    /// Whether both add in the same order and fuse the same products.
    pub fn same(&self, other: &Answer) -> bool {
        (&self.revealed.tree, &self.fused) == (&other.revealed.tree, &other.fused)
    }

    /// How results are rounded, in words.
    pub fn rounding(&self) -> &'static str {
        match self.rounding {
            Rounding::F32 => "each sum to F32",
            Rounding::Bf16 => "each sum to BF16",
            Rounding::Bf16Once => "each sum to F32, the last one to BF16",
        }
    }

    /// All of it in one line.
    pub fn told(&self) -> String {
        let mut tree = self.revealed.tree.to_string();
        if tree.chars().count() > 160 {
            tree = tree.chars().take(160).chain(" …".chars()).collect();
        }
        let fused = match &self.fused {
            None => String::new(),
            Some(fused) => format!("; FMA: {fused}"),
        };
        let replay = match &self.replay {
            Ok(found) => {
                let Confirmation { outputs, telling } = found;
                let rounding = self.rounding();
                format!(
                    "{outputs} random results reproduced ({telling} tell the order), {rounding}"
                )
            }
            Err(reason) => format!("NOT reproduced: failed to {reason}"),
        };
        let one_row = match self.one_row {
            Some(false) => "; a single row is added otherwise",
            _ => "",
        };
        let (vectors, checks) = (self.revealed.vectors, self.revealed.checks);
        format!("{tree}{fused}; {replay}{one_row}; {vectors} vectors and {checks} checks")
    }
}
