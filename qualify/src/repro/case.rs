//! A step with everything it takes, and what each side makes of it.

use std::collections::{BTreeMap, HashMap};

use emitter::{
    Cut,
    emit::emit,
    mlir::{Function, print_module},
    program::{Elem, Program, Source},
};
use oracle::{Captures, iree::tensor, supply::prepared};
use reports::Grid;
use stages::{
    Boundary, BoundaryId, Graph, Tensor,
    graph::{Op, resize::Alone},
};

use crate::{
    engine::Engine,
    failure::{Failure, Kind, OrFail},
    model::Model,
    run, uncompiled,
};

/// The name of the exported function.
pub const FUNCTION: &str = "step";

/// An argument of the compiled function, as it is handed over.
pub struct Argument {
    /// Where it comes from: the boundary's, input's or weight's name.
    pub name: String,
    /// How it is stored.
    pub elem: Elem,
    /// Its values.
    pub tensor: Tensor,
}

/// A step, its arguments, and what the reference makes of them.
pub struct Case {
    /// The boundary.
    pub boundary: BoundaryId,
    /// The dtype its values are declared representable in.
    pub grid: Grid,
    /// What is compiled.
    pub program: Program,
    /// The function's arguments, in order.
    pub arguments: Vec<Argument>,
    /// The reference's result.
    pub expected: Tensor,
}

/// What the candidate makes of a case.
pub struct Observed {
    /// Its result.
    pub result: Tensor,
    /// The module's text.
    pub text: String,
    /// The flags it was compiled with.
    pub flags: Vec<String>,
}

impl Case {
    /// The step as a run has it, on the reference's values.
    ///
    /// # Errors
    /// When it cannot be emitted, or an argument was not captured.
    pub fn whole(model: &Model, boundary: &Boundary, captures: &Captures) -> Result<Case, Failure> {
        let expected = captures.get(&boundary.id).cloned();
        let supply = run::candidate::supply(model, captures);
        Case::of(model, &model.graph, boundary, &supply, expected)
    }

    /// A step that stands alone, on these tensors by name; the reference computes it anew.
    ///
    /// # Errors
    /// When it cannot be emitted or MLX fails.
    pub fn alone(
        model: &Model,
        step: &Alone,
        tensors: &BTreeMap<String, Tensor>,
        engine: &Engine,
    ) -> Result<Case, Failure> {
        let graph = &step.graph;
        let missing = || {
            Failure::new(
                Kind::Environment,
                "compute the step alone: it has no result",
            )
        };
        let boundary = graph.boundaries().first().ok_or_else(missing)?;
        let mlx = engine.mlx.as_ref().ok_or_else(missing)?;
        let given = |name: &str| tensors.get(name).cloned();
        let captures = mlx
            .capture(graph, &given, tensors, &[boundary], &mut |_| {})
            .or_fail(Kind::Environment)?;
        let supply = |source: &Source| match source {
            Source::Input(name) | Source::Weight(name) | Source::Boundary(name) => given(name),
        };
        let expected = captures.get(&boundary.id).cloned();
        Case::of(model, graph, boundary, &supply, expected)
    }

    fn of(
        model: &Model,
        graph: &Graph,
        boundary: &Boundary,
        supply: &dyn oracle::supply::Supply,
        expected: Option<Tensor>,
    ) -> Result<Case, Failure> {
        let cut = Cut::step(graph, boundary);
        let program = emit(graph, &cut, model.contract).or_fail(Kind::Environment)?;
        let program = program.laid_out;
        let argument = |arg: &emitter::program::Arg| {
            let (Source::Input(name) | Source::Weight(name) | Source::Boundary(name)) = &arg.source;
            Ok(Argument {
                name: name.clone(),
                elem: program.info(arg.value).elem,
                tensor: prepared(arg, supply).or_fail(Kind::Environment)?,
            })
        };
        let arguments = program.args().iter().map(argument);
        let arguments = arguments.collect::<Result<_, Failure>>()?;
        let unknown = || Failure::new(Kind::Environment, "capture the reference's result");
        Ok(Case {
            boundary: boundary.id.clone(),
            grid: run::grid(graph.info(boundary.value).dtype),
            expected: expected.ok_or_else(unknown)?,
            program,
            arguments,
        })
    }

    /// The module's text, as it is compiled.
    pub fn text(&self) -> String {
        let function = Function {
            name: FUNCTION,
            program: &self.program,
        };
        print_module("repro", &[function])
    }

    /// Compiles and runs it, on the arguments as they are handed over.
    ///
    /// # Errors
    /// When it does not compile or the call fails.
    pub fn observe(&self, engine: &Engine) -> Result<Observed, Failure> {
        let closed = || Failure::new(Kind::Environment, "use IREE: it was not opened");
        let side = engine.iree.as_ref().ok_or_else(closed)?;
        let unit = side.build("repro", vec![self.program.clone()]);
        let unit = unit.map_err(uncompiled::failure)?;
        let buffers = side.call_prepared(&unit, 0, self.arguments.iter().map(|a| &a.tensor));
        let buffers = buffers.or_fail(Kind::Environment)?;
        let result = buffers.first().map(tensor).transpose();
        Ok(Observed {
            result: result.or_fail(Kind::Environment)?.ok_or_else(closed)?,
            text: self.text(),
            flags: unit.flags.clone(),
        })
    }
}

/// What a step that stands alone starts from: the reference's values of its parents, the model's
/// inputs and weights, by name.
pub fn tensors(model: &Model, step: &Alone, captures: &Captures) -> BTreeMap<String, Tensor> {
    let names: HashMap<&str, bool> = step
        .graph
        .nodes()
        .filter_map(|(_, node)| match &node.op {
            Op::Input { name } => Some((name.as_str(), false)),
            Op::Weight { name } => Some((name.as_str(), true)),
            _ => None,
        })
        .collect();
    let tensor = |(name, weight): (&str, bool)| {
        let tensor = if weight {
            model.checkpoint.tensor(name)
        } else {
            let captured = captures.get(&BoundaryId::new(name));
            captured.or_else(|| model.inputs.tensors.get(name))
        };
        Some((name.to_owned(), tensor?.clone()))
    };
    names.into_iter().filter_map(tensor).collect()
}
