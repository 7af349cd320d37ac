//! Operations of a level-one graph on MLX (CPU) and, under its contract, on IREE: the same trees.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, which clippy takes for production code"
)]

use std::path::Path;

use emitter::Contract;
use oracle::{MlxSide, iree::IreeSide};
use probes::{
    ops::{OpError, Site, iree::Compiled, mlx},
    order::{Confirmation, Form, Join, ProbeError, Rounding, Tree, confirm, reveal},
};
use runtime::{DeviceKind, Native, Store, Toolchain};
use stages::DType::{BF16, F32};

/// The sum of a site's terms on one side.
type Sum<'a> = &'a mut dyn FnMut(&[f32]) -> Result<f32, OpError>;

/// Sites whose sums are rounded to F32 each, and the order that they have.
fn sites() -> Vec<(Site, Form)> {
    let mut sites = Vec::new();
    for n in [2, 3, 16, 100, 256] {
        sites.push(Site::sum(n, F32));
        sites.push(Site::dot(n, F32));
        sites.push(Site::cumsum(n, F32));
    }
    sites.push(Site::sum_over([1, 2, 16, 12], &[2, 3], F32));
    sites.push(Site::sum_over([1, 64, 3], &[1], F32));
    sites.push(Site::convolution(&[3, 3], 1, F32));
    sites.push(Site::convolution(&[3, 3], 16, F32));
    sites.push(Site::convolution(&[5], 24, F32));
    // The second convolution of the audio encoder's front: K = 1152.
    sites.push(Site::convolution(&[3, 3], 128, F32));
    let mut sites: Vec<_> = sites
        .into_iter()
        .map(|site| (site.unwrap(), Form::Sequential))
        .collect();
    // Axes that do not follow one another: runs over the last, then over them.
    let then = Join::Sequential;
    let apart = Site::sum_over([10, 2, 24], &[0, 2], F32).unwrap();
    sites.push((apart, Form::Runs { len: 24, then }));
    sites
}

fn check(
    site: &Site,
    form: Form,
    rounding: Rounding,
    op: Sum<'_>,
) -> Result<(Tree, Confirmation), ProbeError<OpError>> {
    let tree = reveal(site.terms(), op)?;
    assert_eq!(tree, form.tree(site.terms()), "{}: {tree}", site.name());
    let confirmed = confirm(&tree, rounding, 0..8, op)?;
    assert!(
        confirmed.telling > 2 || site.terms() < 16,
        "{}: {confirmed:?}",
        site.name()
    );
    Ok((tree, confirmed))
}

fn open() -> IreeSide {
    let store = Store::open(Path::new(env!("CARGO_TARGET_TMPDIR")).join("order")).unwrap();
    let toolchain = Toolchain::new(&Native::locate().unwrap(), Some(store));
    IreeSide::open(DeviceKind::LocalTask, None, toolchain).unwrap()
}

#[test]
fn mlx_adds_in_sequence() {
    let side = MlxSide::new().unwrap();
    for (site, form) in sites() {
        let mut op = |terms: &[f32]| mlx::sum(&side, &site, terms);
        let found = check(&site, form, Rounding::F32, &mut op);
        found.unwrap_or_else(|error| panic!("{}: failed to {error}", site.name()));
    }
}

#[test]
fn iree_adds_in_the_same_order_under_the_contract() {
    let (sites, forms): (Vec<Site>, Vec<Form>) = sites().into_iter().unzip();
    let side = open();
    let compiled = Compiled::new(&side, &sites, Contract::MlxCpu);
    let compiled = compiled.unwrap_or_else(|error| panic!("failed to {error}"));
    for (index, (site, form)) in sites.iter().zip(forms).enumerate() {
        let mut op = |terms: &[f32]| compiled.sum(index, terms);
        let found = check(site, form, Rounding::F32, &mut op);
        found.unwrap_or_else(|error| panic!("{}: failed to {error}", site.name()));
    }
}

#[test]
fn bf16_sums_round_each_time_on_both_sides_and_are_refused_beyond_256_terms() {
    let sites = [
        Site::sum(200, BF16),
        Site::cumsum(256, BF16),
        Site::sum(300, BF16),
    ];
    let sites = sites.map(Result::unwrap);
    let (mlx_side, iree_side) = (MlxSide::new().unwrap(), open());
    let compiled = Compiled::new(&iree_side, &sites, Contract::MlxCpu).unwrap();
    for (index, site) in sites.iter().enumerate() {
        let sides: [Sum<'_>; 2] = [
            &mut |terms| mlx::sum(&mlx_side, site, terms),
            &mut |terms| compiled.sum(index, terms),
        ];
        for op in sides {
            let found = check(site, Form::Sequential, Rounding::Bf16, op);
            match found {
                Ok(_) => assert!(site.terms() <= 256),
                Err(ProbeError::Uncounted { result, .. }) => {
                    assert_eq!((site.terms(), result), (300, 256.0));
                }
                Err(error) => panic!("{}: failed to {error}", site.name()),
            }
        }
    }
}

#[test]
fn bf16_products_are_summed_in_f32_and_rounded_once_on_both_sides() {
    let sites = [Site::dot(200, BF16), Site::convolution(&[3, 3], 16, BF16)];
    let sites = sites.map(Result::unwrap);
    let (mlx_side, iree_side) = (MlxSide::new().unwrap(), open());
    let compiled = Compiled::new(&iree_side, &sites, Contract::MlxCpu).unwrap();
    for (index, site) in sites.iter().enumerate() {
        let sides: [Sum<'_>; 2] = [
            &mut |terms| mlx::sum(&mlx_side, site, terms),
            &mut |terms| compiled.sum(index, terms),
        ];
        for op in sides {
            let tree = reveal(site.terms(), op).unwrap();
            assert_eq!(tree.form(), Some(Form::Sequential));
            assert!(confirm(&tree, Rounding::Bf16, 0..8, op).is_err());
            let confirmed = confirm(&tree, Rounding::Bf16Once, 0..8, op);
            assert_eq!(confirmed.unwrap().outputs, 8);
        }
    }
}

#[test]
fn whatever_order_the_compiler_chooses_is_revealed_and_confirmed() {
    let sites = [
        Site::sum(128, F32),
        Site::sum(1152, F32),
        Site::sum_over([10, 2, 24], &[0, 2], F32),
        Site::convolution(&[3, 3], 16, F32),
    ];
    let sites = sites.map(Result::unwrap);
    let side = open();
    let compiled = Compiled::new(&side, &sites, Contract::Native).unwrap();
    for (index, site) in sites.iter().enumerate() {
        let mut op = |terms: &[f32]| compiled.sum(index, terms);
        let tree = reveal(site.terms(), &mut op).unwrap();
        let confirmed = confirm(&tree, Rounding::F32, 0..16, &mut op);
        let confirmed = confirmed.unwrap_or_else(|e| panic!("{}: failed to {e}", site.name()));
        assert!(confirmed.telling > 2, "{}: {confirmed:?}", site.name());
    }
}

#[test]
fn another_number_of_terms_than_the_sites_is_refused() {
    let side = MlxSide::new().unwrap();
    let site = Site::dot(8, F32).unwrap();
    let error = reveal(9, &mut |terms| mlx::sum(&side, &site, terms)).unwrap_err();
    assert_eq!(error.to_string(), "add 9 terms: the operation adds 8");
}
