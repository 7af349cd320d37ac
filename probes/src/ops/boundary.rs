//! The operation that makes a boundary of a model, at the model's shapes.

use stages::{
    Boundary, Graph, Shape,
    graph::{Builder, Op, ReduceKind, View},
};

use super::{Layout, Of, OpError, Site, named::gapless};

impl Site {
    /// The operation whose result a boundary is, on row-major operands: a sum, a product, a
    /// convolution, a cumulative sum or a softmax. Its weights take the factors.
    ///
    /// # Errors
    /// When it is another operation, or MLX would run it on operands in another memory order.
    pub fn of_boundary(graph: &Graph, boundary: &Boundary) -> Result<Site, OpError> {
        let node = graph.node(boundary.value);
        let name = format!("{} ({})", boundary.id.as_str(), node.op.name());
        let refuse = |reason: &str| OpError::Unanswerable {
            what: name.clone(),
            reason: reason.to_owned(),
        };
        let infos: Vec<_> = node.inputs.iter().map(|&input| graph.info(input)).collect();
        let Some(x) = infos.first() else {
            return Err(refuse("it is made from nothing"));
        };
        let (shape, dtype) = (x.shape.clone(), x.dtype);
        let layout = match &node.op {
            Op::Reduce {
                kind: ReduceKind::Sum,
                axes,
            } => along(&shape, axes, 0),
            Op::Scan {
                axis,
                reverse: false,
                inclusive: true,
            } => {
                let last = shape[*axis].saturating_sub(1);
                along(&shape, &[*axis], last * shape.strides()[*axis])
            }
            Op::Softmax { .. } => softmax(&shape),
            Op::Matmul => matmul(&shape, &infos[1].shape),
            Op::Convolution { .. } => windows(&node.op, &shape, &infos[1].shape, &node.info.shape)
                .ok_or_else(|| refuse("it is dilated or flipped, or every window is padded"))?,
            _ => {
                return Err(refuse(
                    "it does not add; with --ops single additions have names",
                ));
            }
        };
        if x.view != View::Contiguous {
            return Err(refuse("MLX runs it on an operand that is not row-major"));
        }
        let turned = match infos.get(1).map(|w| &w.view) {
            None | Some(View::Contiguous) => false,
            Some(View::Permuted(order)) if *order == [1, 0] => true,
            Some(_) => return Err(refuse("MLX runs it on a weight that is not row-major")),
        };
        let w = infos.get(1).map(|w| (w.shape.clone(), w.dtype));
        let op = node.op.clone();
        let mut layout = layout;
        if let (true, Some((w, _))) = (turned, &w) {
            let (k, columns) = (w[0], w[1]);
            layout.multiplies = (0..k * columns).map(|i| i % k.max(1)).collect();
        }
        let build = move |b: &mut Builder, x, name: &str| match &w {
            None => b.apply(op.clone(), &[x]),
            Some((w, dtype)) if turned => {
                let w = b.weight(name, [w[1], w[0]], *dtype);
                let w = b.transpose(w, &[1, 0])?;
                b.apply(op.clone(), &[x, w])
            }
            Some((w, dtype)) => {
                let w = b.weight(name, w.clone(), *dtype);
                b.apply(op.clone(), &[x, w])
            }
        };
        let adds = matches!(node.op, Op::Softmax { .. }).then_some(Of::Exponentials);
        let mut site = Site::new(name, dtype, shape, layout, build)?;
        site.of = adds;
        Ok(site)
    }
}

/// The sum along axes, for index 0 of the others.
fn along(shape: &Shape, axes: &[usize], at: usize) -> Layout {
    let strides = shape.strides();
    let mut places = vec![0];
    for &axis in axes {
        let (extent, stride) = (shape[axis], strides[axis]);
        let steps = |place| (0..extent).map(move |i| place + i * stride);
        places = places.into_iter().flat_map(steps).collect();
    }
    // Rows are the first axis, where that is none of them.
    let outer = if axes.contains(&0) { 1 } else { shape[0] };
    let result: usize = if at == 0 {
        (1..shape.rank())
            .filter(|axis| !axes.contains(axis))
            .map(|axis| shape[axis])
            .product()
    } else {
        strides[0]
    };
    Layout {
        places,
        at,
        rows: outer,
        strides: (strides[0], result),
        ..Layout::default()
    }
}

/// Rows along the last axis.
fn softmax(shape: &Shape) -> Layout {
    let n = shape.dims().last().copied().unwrap_or(1);
    let mut layout = gapless(shape.elements() / n.max(1), n);
    layout.strides = (n, n);
    layout
}

fn matmul(a: &Shape, b: &Shape) -> Layout {
    let n = a[a.rank() - 1];
    let columns = b[b.rank() - 1];
    let rows = a.elements() / n.max(1);
    Layout {
        places: (0..n).collect(),
        rows,
        strides: (n, columns),
        multiplies: (0..b.elements())
            .map(|i| i / columns.max(1) % n.max(1))
            .collect(),
        ..Layout::default()
    }
}

/// The first window without padding, of the first filter; rows are clips.
fn windows(op: &Op, x: &Shape, w: &Shape, result: &Shape) -> Option<Layout> {
    let Op::Convolution {
        strides,
        low,
        kernel_dilation,
        input_dilation,
        flip,
        ..
    } = op
    else {
        return None;
    };
    if *flip
        || kernel_dilation
            .iter()
            .chain(input_dilation)
            .any(|&dilation| dilation != 1)
    {
        return None;
    }
    let (outer, inner, from) = (x.strides(), w[w.rank() - 1], result.strides());
    let (mut start, mut at) = (0, 0);
    let mut places = vec![0];
    for axis in 0..strides.len() {
        let output = low[axis].div_ceil(strides[axis]);
        let first = output * strides[axis] - low[axis];
        if first + w[axis + 1] > x[axis + 1] || output >= result[axis + 1] {
            return None;
        }
        start += first * outer[axis + 1];
        at += output * from[axis + 1];
        let (extent, stride) = (w[axis + 1], outer[axis + 1]);
        let taps = |place| (0..extent).map(move |tap| place + tap * stride);
        places = places.into_iter().flat_map(taps).collect();
    }
    let channels = |place| (0..inner).map(move |channel| start + place + channel);
    let places: Vec<usize> = places.into_iter().flat_map(channels).collect();
    let filter = places.len();
    Some(Layout {
        places,
        at,
        rows: x[0],
        strides: (outer[0], from[0]),
        multiplies: (0..w.elements()).map(|i| i % filter.max(1)).collect(),
    })
}
