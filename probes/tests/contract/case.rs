//! A step, its values, and what the search makes of them.

use std::collections::BTreeMap;

use emitter::Contract;
use half::bf16;
use probes::contract::{Answer, Limits, Question, Statement, find, stated};
use stages::{
    DType, Graph, Tensor,
    graph::{Builder, GraphError, Op, ValueId},
};

/// A step and the values of its inputs.
pub struct Case {
    pub name: String,
    pub graph: Graph,
    pub inputs: BTreeMap<String, Tensor>,
}

/// The step that `build` makes of inputs.
pub fn case(
    name: &str,
    inputs: &[Tensor],
    build: impl FnOnce(&mut Builder, &[ValueId]) -> Result<ValueId, GraphError>,
) -> Case {
    let mut b = Builder::new();
    let mut tensors = BTreeMap::new();
    let mut values = Vec::new();
    for (i, tensor) in inputs.iter().enumerate() {
        let name = format!("x{i}");
        values.push(b.input(&name, tensor.shape().clone(), tensor.dtype()));
        tensors.insert(name, tensor.clone());
    }
    let result = build(&mut b, &values).unwrap();
    b.boundary("result", result, "").unwrap();
    Case {
        name: name.to_owned(),
        graph: b.finish(),
        inputs: tensors,
    }
}

impl Case {
    /// The question, given nothing but the inputs and what came out.
    pub fn question(&self, result: &Tensor) -> Question {
        let value = self.graph.boundaries()[0].value;
        let mut question = Question::new(&self.graph, value).unwrap();
        let leaves = |op: &Op| match op {
            Op::Input { name } => self.inputs.get(name).cloned(),
            _ => None,
        };
        question.observe(&leaves, result).unwrap();
        question
    }

    /// What is found, and how it is said.
    pub fn find(&self, result: &Tensor) -> (Question, Answer) {
        let question = self.question(result);
        let answer = find(&question, Limits::default(), 8).unwrap();
        (question, answer)
    }
}

/// What the emitter states of the lines of an answer, one by one.
pub fn emitted(question: &Question, answer: &Answer) -> Vec<Statement> {
    let lines = answer.contract().unwrap().lines.iter();
    lines
        .map(|line| stated(question, line.value, Contract::MlxCpu).unwrap())
        .collect()
}

/// Reproducible numbers.
pub struct Draw(pub u64);

impl Draw {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Between −1 and 1 times a power of two from 2⁻⁴ to 2³.
    pub fn float(&mut self) -> f32 {
        let x = (self.bits() >> 40) as f32 / (1u32 << 23) as f32 - 1.0;
        x * 2f32.powi((self.bits() % 8) as i32 - 4)
    }

    pub fn tensor(&mut self, dtype: DType, shape: &[usize]) -> Tensor {
        let count = shape.iter().product();
        let values: Vec<f32> = (0..count).map(|_| self.float()).collect();
        floats(dtype, shape, &values)
    }

    /// Words of bits.
    pub fn words(&mut self, shape: &[usize]) -> Tensor {
        let count: usize = shape.iter().product();
        let values: Vec<u32> = (0..count).map(|_| self.bits() as u32).collect();
        Tensor::from_u32(shape, &values).unwrap()
    }
}

/// Floats in a dtype.
pub fn floats(dtype: DType, shape: &[usize], values: &[f32]) -> Tensor {
    match dtype {
        DType::BF16 => {
            let values: Vec<bf16> = values.iter().map(|&x| bf16::from_f32(x)).collect();
            Tensor::from_bf16(shape, &values).unwrap()
        }
        _ => Tensor::from_f32(shape, values).unwrap(),
    }
}
