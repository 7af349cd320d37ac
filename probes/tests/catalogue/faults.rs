//! What an outcome says where a side computes otherwise, or not at all.

use emitter::{
    Contract, Cut,
    emit::{EmitError, Emitted, emit},
    target::TargetClass,
};
use oracle::MlxSide;
use probes::catalogue::{Bench, Case, Family, Outcome, SideError, Size, under_contract};
use stages::graph::Op;

use crate::open;

fn case(family: Family, name: &str) -> Case {
    let cases = family.cases(Size::Short).unwrap();
    cases.into_iter().find(|case| case.name() == name).unwrap()
}

fn outcomes(
    cases: &[&Case],
    emit: &(dyn Fn(&Case) -> Result<Emitted, EmitError> + Sync),
) -> Vec<Outcome> {
    let (mlx, iree) = (MlxSide::new().unwrap(), open());
    let mut outcomes = Vec::new();
    let bench = Bench::new(&mlx, &iree).emitting(emit);
    bench.run(cases, &mut |_, outcome| outcomes.push(outcome));
    outcomes
}

#[test]
fn an_emission_of_another_function_differs_on_both_sides_and_names_elements() {
    let (sin, cos) = (
        case(Family::Unary, "Sin F32"),
        case(Family::Unary, "Cos F32"),
    );
    // The operands are the sine's.
    let wrong = Case::new(
        "Sin F32",
        &[sin.inputs().values().next().unwrap().clone()],
        &[],
        |b, x| b.apply(Op::Cos, x),
    );
    let wrong = wrong.unwrap();
    let found = outcomes(&[&sin, &cos], &|case| {
        under_contract(if case.name() == "Sin F32" {
            &wrong
        } else {
            case
        })
    });
    assert!(!found[0].is_equal() && found[1].is_equal());
    let interp = found[0].interp.as_ref().unwrap().as_ref().unwrap();
    let differing = interp.differing.unwrap();
    assert!(differing > 100_000, "{differing}");
    for (class, iree) in &found[0].iree {
        assert_eq!(iree.as_ref().unwrap(), interp, "{class:?}");
    }
    assert_eq!(found[0].iree.len(), 2);
    assert_ne!(*found[0].mlx.as_ref().unwrap(), interp.digest);
    let first = &found[0].first[0];
    assert_eq!(first.operands.len(), 1);
    assert_ne!(first.mlx, first.interp.unwrap());
    let x = f32::from_bits(first.operands[0]);
    assert!(
        (f32::from_bits(first.mlx) - x.sin()).abs() < 1e-6,
        "{first:x?}"
    );
    // Equal sides have one digest.
    let equal = found[1].interp.as_ref().unwrap().as_ref().unwrap();
    assert_eq!(*found[1].mlx.as_ref().unwrap(), equal.digest);
    assert!(found[1].first.is_empty());
}

#[test]
fn what_states_no_order_is_not_interpreted_and_another_tree_differs() {
    let sum = case(Family::Reduction, "Sum [5, 2048] over [1] F32");
    let found = outcomes(&[&sum], &|case| {
        let cut = Cut::step(case.graph(), case.result());
        emit(case.graph(), &cut, Contract::Native)
    });
    assert!(found[0].interp.is_none() && !found[0].is_equal());
    for (class, side) in &found[0].iree {
        assert!(side.as_ref().unwrap().differing > Some(0), "{class:?}");
    }
}

#[test]
fn a_program_that_does_not_compile_fails_alone() {
    let names = [
        "Matmul plain 5x24x7 F32",
        "Matmul plain 8x64x16 F32",
        "Matmul plain 1x7x1 F32",
    ];
    let cases = names.map(|name| case(Family::Contraction, name));
    // Its arguments are another's, which nothing hands over.
    let found = outcomes(&cases.each_ref(), &|case| {
        under_contract(if case.name() == names[1] {
            &cases[0]
        } else {
            case
        })
    });
    assert!(found[0].is_equal() && found[2].is_equal() && !found[1].is_equal());
    let error = found[1].interp.as_ref().unwrap().as_ref().unwrap_err();
    assert!(matches!(error, SideError::Interp(_)), "{error}");
    let [(TargetClass::NoFma, Err(error))] = &found[1].iree[..] else {
        panic!("{:?}", found[1].iree)
    };
    assert!(matches!(error, SideError::Iree(_)), "{error}");
    assert!(found[1].mlx.is_ok());
}

#[test]
fn a_result_of_another_shape_is_no_result() {
    let cases = ["Matmul plain 5x24x7 F32", "Matmul linear 5x24x7 F32"];
    let [plain, _] = cases.map(|name| case(Family::Contraction, name));
    let inputs: Vec<_> = plain.inputs().values().cloned().collect();
    let turned = Case::new(plain.name(), &inputs, &[], |b, x| {
        let product = b.apply(Op::Matmul, x)?;
        b.transpose(product, &[1, 0])
    });
    let turned = turned.unwrap();
    let found = outcomes(&[&plain], &|_| under_contract(&turned));
    for side in found[0].compared() {
        let error = side.as_ref().unwrap_err();
        let text = "give a result of shape [5,7]: it is [7,5]";
        assert_eq!(error.to_string(), text);
    }
}
