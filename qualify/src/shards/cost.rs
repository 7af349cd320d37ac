//! How long a job takes, compared with others, told from its graph alone.

use stages::{Graph, graph::Op};

/// Multiply-adds that are done while a boundary's step is compiled: the tiny encoder's 113 boundaries
/// take some 15 s on two cores, and a second is taken for 10¹⁰ multiply-adds. Only how evenly jobs
/// are dealt depends on it.
const BOUNDARY: u64 = 1_000_000_000;

/// Multiply-adds of a graph's contractions, and for each boundary as many as are done meanwhile.
pub fn of(graph: &Graph) -> u64 {
    let elements = |value| graph.info(value).shape.elements() as u64;
    let contractions = graph.nodes().map(|(value, node)| {
        let inner = match (&node.op, node.inputs.as_slice()) {
            (Op::Matmul | Op::QuantizedMatmul { .. }, [a, ..]) | (Op::AddMM { .. }, [_, a, _]) => {
                graph.info(*a).shape.dims().last().copied().unwrap_or(0) as u64
            }
            (Op::Convolution { .. }, [_, weight]) => {
                let outputs = graph.info(*weight).shape.dims().first().copied();
                elements(*weight) / (outputs.unwrap_or(0) as u64).max(1)
            }
            _ => 0,
        };
        elements(value).saturating_mul(inner)
    });
    let boundaries = (graph.boundaries().len() as u64).saturating_mul(BOUNDARY);
    contractions.fold(boundaries, u64::saturating_add)
}
