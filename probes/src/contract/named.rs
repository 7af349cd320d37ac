//! Single operations by name, for captures in files.

use std::{collections::BTreeMap, str::FromStr};

use stages::{
    DType, Graph, Tensor,
    graph::{Builder, GraphError, Op, Quantized, ValueId},
};

use super::{ContractError, Question};

/// An operation with its arguments: `NAME [KEY=VALUE…]`.
///
/// ```
/// use probes::contract::Operation;
///
/// let operation: Operation = "sum axis=0,2".parse()?;
/// assert_eq!(operation.to_string(), "sum axis=0,2");
/// assert!("sum".parse::<Operation>().is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    text: String,
    form: Form,
}

#[derive(Clone, Debug, PartialEq)]
enum Form {
    Unary(Op),
    Binary(Op),
    Sum { axes: Vec<usize> },
    Mean { axis: usize },
    Cumsum { axis: usize, reverse: bool },
    Softmax { precise: bool },
    RmsNorm { eps: f64 },
    Matmul { transposed: bool },
    AddMm { transposed: bool },
    Quantized { group_size: usize, bits: usize },
    Dequantize { group_size: usize, bits: usize },
    Softplus,
}

/// All of them, for messages.
pub const OPERATIONS: &str = "\
exp, log, tanh, sin, cos, sigmoid, softplus, sqrt, rsqrt, square of x; add, subtract, multiply, divide of \
a and b; sum axis=I[,J…], mean axis=I, cumsum axis=I [reverse], \
softmax [precise], rms_norm eps=E of x (and w); matmul [transposed] of a and b, addmm [transposed] \
of c, a and b; quantized_matmul group_size=G bits=B of x, words, scales and biases, dequantize \
group_size=G bits=B of the last three";

impl FromStr for Operation {
    type Err = String;

    fn from_str(text: &str) -> Result<Operation, String> {
        let mut words = text.split_whitespace();
        let name = words.next().unwrap_or_default();
        let mut given = BTreeMap::new();
        for word in words {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            given.insert(key, value);
        }
        let mut taken = Arguments { name, given };
        let form = match name {
            "exp" => Form::Unary(Op::Exp),
            "log" => Form::Unary(Op::Log),
            "tanh" => Form::Unary(Op::Tanh),
            "sin" => Form::Unary(Op::Sin),
            "cos" => Form::Unary(Op::Cos),
            "sigmoid" => Form::Unary(Op::Sigmoid),
            "square" => Form::Unary(Op::Square),
            "sqrt" => Form::Unary(Op::Sqrt { reciprocal: false }),
            "rsqrt" => Form::Unary(Op::Sqrt { reciprocal: true }),
            "softplus" => Form::Softplus,
            "add" => Form::Binary(Op::Add),
            "subtract" => Form::Binary(Op::Subtract),
            "multiply" => Form::Binary(Op::Multiply),
            "divide" => Form::Binary(Op::Divide),
            "sum" => Form::Sum {
                axes: taken.numbers("axis")?,
            },
            "mean" => Form::Mean {
                axis: taken.number("axis")?,
            },
            "cumsum" => Form::Cumsum {
                axis: taken.number("axis")?,
                reverse: taken.flag("reverse"),
            },
            "softmax" => Form::Softmax {
                precise: taken.flag("precise"),
            },
            "rms_norm" => Form::RmsNorm {
                eps: taken.number("eps")?,
            },
            "matmul" => Form::Matmul {
                transposed: taken.flag("transposed"),
            },
            "addmm" => Form::AddMm {
                transposed: taken.flag("transposed"),
            },
            "quantized_matmul" => Form::Quantized {
                group_size: taken.number("group_size")?,
                bits: taken.number("bits")?,
            },
            "dequantize" => Form::Dequantize {
                group_size: taken.number("group_size")?,
                bits: taken.number("bits")?,
            },
            _ => {
                return Err(format!(
                    "there is no operation {name:?}; there are {OPERATIONS}"
                ));
            }
        };
        match taken.given.keys().next() {
            Some(key) => Err(format!("{name} takes no {key}")),
            None => Ok(Operation {
                text: text.split_whitespace().collect::<Vec<_>>().join(" "),
                form,
            }),
        }
    }
}

/// What stands behind an operation's name.
struct Arguments<'a> {
    name: &'a str,
    given: BTreeMap<&'a str, &'a str>,
}

impl Arguments<'_> {
    fn flag(&mut self, key: &str) -> bool {
        self.given.remove(key).is_some()
    }

    fn number<T: FromStr>(&mut self, key: &str) -> Result<T, String> {
        let value = self.given.remove(key);
        let number = value.and_then(|value| value.parse().ok());
        number.ok_or_else(|| format!("{} needs {key}=NUMBER", self.name))
    }

    fn numbers(&mut self, key: &str) -> Result<Vec<usize>, String> {
        let value = self.given.remove(key).unwrap_or_default();
        let numbers: Result<Vec<usize>, _> = value.split(',').map(str::parse).collect();
        numbers.map_err(|_| format!("{} needs {key}=I or {key}=I,J,…", self.name))
    }
}

impl std::fmt::Display for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

/// Why captures of an operation cannot be asked about; completes "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum NamedError {
    /// The tensors do not fit the operation.
    #[error("apply {operation} to the tensors: {error}")]
    Graph {
        /// The operation.
        operation: String,
        /// Why.
        error: GraphError,
    },
    /// They do, and yet there is no question.
    #[error(transparent)]
    Contract(#[from] ContractError),
}

impl Operation {
    /// The names of its operands.
    pub fn operands(&self) -> &'static [&'static str] {
        match &self.form {
            Form::Binary(_) | Form::Matmul { .. } => &["a", "b"],
            Form::AddMm { .. } => &["c", "a", "b"],
            Form::Quantized { .. } => &["x", "words", "scales", "biases"],
            Form::Dequantize { .. } => &["words", "scales", "biases"],
            Form::RmsNorm { .. } => &["x", "w"],
            _ => &["x"],
        }
    }

    /// The question that captured tensors put: its operands' by their names, and `result`.
    ///
    /// # Errors
    /// When one is missing, or they do not fit.
    pub fn question(
        &self,
        tensors: &dyn Fn(&str) -> Option<Tensor>,
    ) -> Result<Question, NamedError> {
        let mut operands = BTreeMap::new();
        for name in self.operands() {
            match tensors(name) {
                Some(tensor) => {
                    operands.insert(*name, tensor);
                }
                // A norm without a weight.
                None if *name == "w" => {}
                None => return Err(ContractError::Missing((*name).to_owned()).into()),
            }
        }
        let result = tensors("result").ok_or_else(|| ContractError::Missing("result".into()))?;
        let (graph, value) = self.graph(&operands).map_err(|error| NamedError::Graph {
            operation: self.text.clone(),
            error,
        })?;
        let mut question = Question::new(&graph, value)?;
        let leaves = |op: &Op| match op {
            Op::Input { name } => operands.get(name.as_str()).cloned(),
            _ => None,
        };
        question.observe(&leaves, &result)?;
        Ok(question)
    }

    fn graph(&self, operands: &BTreeMap<&str, Tensor>) -> Result<(Graph, ValueId), GraphError> {
        let mut b = Builder::new();
        let mut values = BTreeMap::new();
        for (name, tensor) in operands {
            let value = b.input(name, tensor.shape().clone(), tensor.dtype());
            values.insert(*name, value);
        }
        let of = |name: &str| {
            values.get(name).copied().ok_or_else(|| GraphError::Shape {
                op: "operation",
                shapes: name.to_owned(),
                reason: "it is missing".into(),
            })
        };
        let turned = |b: &mut Builder, transposed: bool| {
            let matrix = of("b")?;
            let rank = b.shape(matrix).rank();
            if !transposed || rank < 2 {
                return Ok(matrix);
            }
            let mut axes: Vec<usize> = (0..rank).collect();
            axes.swap(rank - 2, rank - 1);
            b.transpose(matrix, &axes)
        };
        let quantized = |group_size: usize, bits: usize| {
            Ok::<Quantized, GraphError>(Quantized {
                words: of("words")?,
                scales: of("scales")?,
                biases: of("biases")?,
                group_size,
                bits,
            })
        };
        let within = |b: &Builder, value: ValueId, axis: usize| {
            let shape = b.shape(value);
            if axis < shape.rank() {
                return Ok(axis);
            }
            Err(GraphError::Shape {
                op: "operation",
                shapes: shape.to_string(),
                reason: format!("it has no axis {axis}"),
            })
        };
        let value = match &self.form {
            Form::Unary(op) => b.apply(op.clone(), &[of("x")?])?,
            Form::Binary(op) => b.binary(op.clone(), of("a")?, of("b")?)?,
            Form::Softplus => b.binary_scalar(Op::LogAddExp, of("x")?, 0.0)?,
            Form::Sum { axes } => {
                for &axis in axes {
                    within(&b, of("x")?, axis)?;
                }
                b.sum(of("x")?, axes)?
            }
            &Form::Mean { axis } => {
                let axis = within(&b, of("x")?, axis)?;
                b.mean(of("x")?, axis)?
            }
            &Form::Cumsum { axis, reverse } => {
                let scan = Op::Scan {
                    axis: within(&b, of("x")?, axis)?,
                    reverse,
                    inclusive: true,
                };
                b.apply(scan, &[of("x")?])?
            }
            &Form::Softmax { precise } => b.apply(Op::Softmax { precise }, &[of("x")?])?,
            &Form::RmsNorm { eps } => {
                let x = of("x")?;
                let dtype = b.dtype(x);
                let last = b.shape(x).rank().saturating_sub(1);
                let axis = within(&b, x, last)?;
                let wide = b.astype(x, DType::F32)?;
                let square = b.apply(Op::Square, &[wide])?;
                let mean = b.mean(square, axis)?;
                let shifted = b.binary_scalar(Op::Add, mean, eps)?;
                let inverse = b.apply(Op::Sqrt { reciprocal: true }, &[shifted])?;
                let normed = b.binary(Op::Multiply, wide, inverse)?;
                let normed = b.astype(normed, dtype)?;
                match values.get("w") {
                    Some(&w) => b.binary(Op::Multiply, w, normed)?,
                    None => normed,
                }
            }
            &Form::Matmul { transposed } => {
                let matrix = turned(&mut b, transposed)?;
                b.matmul(of("a")?, matrix)?
            }
            &Form::AddMm { transposed } => {
                let matrix = turned(&mut b, transposed)?;
                let (alpha, beta) = (1.0, 1.0);
                b.apply(Op::AddMM { alpha, beta }, &[of("c")?, of("a")?, matrix])?
            }
            &Form::Quantized { group_size, bits } => {
                let matrix = quantized(group_size, bits)?;
                b.quantized_linear(of("x")?, matrix)?
            }
            &Form::Dequantize { group_size, bits } => {
                let matrix = quantized(group_size, bits)?;
                b.dequantize(matrix)?
            }
        };
        Ok((b.finish(), value))
    }
}
