//! One side's answer about exponentials or squares.

use probes::{
    ops::{
        Absorbing, Finish, Of, OpError, Site, Whole, check_whole_rows, confirm_whole,
        iree::Compiled, mlx::OnMlx,
    },
    order::{Fused, ProbeError, Revealed, Rounding, Tree, reveal_positive},
};

use super::reveal::{Answer, Found, Host};

/// How many random rows a tree has to reproduce.
const ROWS: u64 = 64;

/// Probes a site; `single` is the same operation on one row.
///
/// # Errors
/// When it cannot be told.
pub fn ask(
    host: &Host<'_>,
    site: &Site,
    single: &dyn Fn() -> Result<Site, OpError>,
) -> Found<Answer> {
    let mut revealed = None;
    on(host, site, &mut |mut op, _| {
        check_whole_rows(site, &mut op)?;
        let mut absorbing = Absorbing::new(site, &mut op).map_err(ProbeError::Op)?;
        revealed = Some(reveal_positive(&mut absorbing)?);
        Ok(())
    })?;
    let revealed: Revealed = revealed.ok_or(ProbeError::Op(OpError::NoResult(0)))?;
    let mut finish = Finish::default();
    let mut replay = Err(String::new());
    for tried in Finish::ALL {
        // What is no product is not fused.
        if tried.fused && site.of() == Some(Of::Exponentials) {
            continue;
        }
        replay = match confirmed(host, site, &revealed.tree, tried, ROWS) {
            Err(ProbeError::Op(error)) => return Err(ProbeError::Op(error)),
            found => found.map_err(|error| error.to_string()),
        };
        if replay.is_ok() {
            finish = tried;
            break;
        }
    }
    let one_row = if site.rows() > 1 && replay.is_ok() {
        let single = single().map_err(ProbeError::Op)?;
        // A boundary has the rows that it has.
        match confirmed(host, &single, &revealed.tree, finish, 4) {
            Err(ProbeError::Op(error)) => return Err(ProbeError::Op(error)),
            found => Some(found.is_ok()),
        }
    } else {
        None
    };
    let squares = matches!(site.of(), Some(Of::Squares(_))) && replay.is_ok();
    Ok(Answer {
        fused: squares.then(|| Fused::new(vec![finish.fused; site.terms()])),
        revealed,
        rounding: Rounding::F32,
        replay,
        rows_apart: (site.rows() > 1).then_some(true),
        one_row,
    })
}

fn confirmed(
    host: &Host<'_>,
    site: &Site,
    tree: &Tree,
    finish: Finish,
    rows: u64,
) -> Found<probes::order::Confirmation> {
    let mut found = None;
    on(host, site, &mut |mut op, mut exponentials| {
        let confirmation = confirm_whole(site, tree, finish, 0..rows, &mut op, &mut exponentials)?;
        found = Some(confirmation);
        Ok(())
    })?;
    found.ok_or(ProbeError::Op(OpError::NoResult(0)))
}

/// Runs something on a site and on single exponentials of as many rows.
fn on(
    host: &Host<'_>,
    site: &Site,
    run: &mut dyn FnMut(&mut dyn Whole, &mut dyn Whole) -> Found<()>,
) -> Found<()> {
    let exponentials = Site::exponentials(site.rows(), site.terms(), site.dtype());
    let exponentials = exponentials.map_err(|error| ProbeError::Op(error.into()))?;
    match host {
        Host::Mlx(side) => run(
            &mut OnMlx::new(side, site),
            &mut OnMlx::new(side, &exponentials),
        ),
        Host::Iree(side, contract) => {
            let sites = [site.clone(), exponentials];
            let compiled = Compiled::new(side, &sites, *contract).map_err(ProbeError::Op)?;
            match (compiled.site(0), compiled.site(1)) {
                (Some(mut op), Some(mut exponentials)) => run(&mut op, &mut exponentials),
                _ => Err(ProbeError::Op(OpError::NoResult(0))),
            }
        }
    }
}
