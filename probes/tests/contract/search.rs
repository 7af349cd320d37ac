//! What the search says where there is nothing to find, and of little data.

use probes::contract::{ContractError, Limits, Question, find};
use stages::{
    DType, Tensor,
    graph::{Builder, Op},
};

use super::case::{Draw, case, floats};

#[test]
fn results_that_nothing_gives_are_explained_by_nothing() {
    let mut draw = Draw(3);
    let x = draw.tensor(DType::F32, &[30, 64]);
    let case = case("sum", &[x], |b, v| b.sum(v[0], &[1]));
    let noise = draw.tensor(DType::F32, &[30, 1]);
    let (_, answer) = case.find(&noise);
    assert!(answer.contract().is_none());
    assert_eq!(answer.complete, 0);
    let best = &answer.ranking[0];
    let refuted = best.refuted.unwrap();
    assert!(best.explained < best.elements && refuted.gives != refuted.observed);
    // Ranked by what they explain.
    let explained: Vec<usize> = answer.ranking.iter().map(|c| c.explained).collect();
    assert!(explained.is_sorted_by(|a, b| a >= b));
}

#[test]
fn one_wrong_element_in_a_million_is_found() {
    let mut draw = Draw(4);
    let x = draw.tensor(DType::F32, &[1000, 1000]);
    let case = case("square", std::slice::from_ref(&x), |b, v| {
        b.apply(Op::Square, v)
    });
    let squares: Vec<f32> = x.as_f32().unwrap().iter().map(|x| x * x).collect();
    let mut wrong = squares.clone();
    wrong[777_777] = f32::from_bits(wrong[777_777].to_bits() + 1);
    let of = |values: &[f32]| case.find(&floats(DType::F32, &[1000, 1000], values)).1;
    assert!(of(&squares).contract().is_some());
    let answer = of(&wrong);
    assert!(answer.contract().is_none());
    assert_eq!(answer.ranking[0].explained, 999_999);
    assert_eq!(answer.ranking[0].refuted.unwrap().element, 777_777);
}

#[test]
fn little_data_leaves_much_open_and_that_is_said() {
    let x = Tensor::from_f32([2, 3], &[1., 2., 3., 4., 5., 6.]).unwrap();
    let case = case("sum", &[x], |b, v| b.sum(v[0], &[1]));
    let sums = Tensor::from_f32([2, 1], &[6., 15.]).unwrap();
    let (_, answer) = case.find(&sums);
    // Integers add up to the same in every order.
    assert_eq!(answer.complete as f64, answer.choices);
    let line = &answer.contract().unwrap().lines[0];
    assert_eq!(line.others.len() + 1, answer.complete);
}

#[test]
fn a_step_without_arithmetic_and_captures_that_do_not_fit_are_refused() {
    let mut b = Builder::new();
    let x = b.input("x", [2, 3], DType::F32);
    let y = b.transpose(x, &[1, 0]).unwrap();
    b.boundary("y", y, "").unwrap();
    let graph = b.finish();
    let mut question = Question::new(&graph, graph.boundaries()[0].value).unwrap();
    let x = Tensor::from_f32([2, 3], &[0.0; 6]).unwrap();
    let y = Tensor::from_f32([3, 2], &[0.0; 6]).unwrap();
    let wrong = question.observe(&|_| Some(y.clone()), &y).unwrap_err();
    assert!(matches!(wrong, ContractError::Unfit { .. }), "{wrong}");
    let missing = question.observe(&|_| None, &y).unwrap_err();
    assert_eq!(missing, ContractError::Missing("x".into()));
    question.observe(&|_| Some(x.clone()), &y).unwrap();
    let error = find(&question, Limits::default(), 4).unwrap_err();
    assert_eq!(error, ContractError::NoArithmetic);
}
