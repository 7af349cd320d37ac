//! `Convolution`: products of gathered patches with the weights.

use stages::graph::Op as Primitive;

use super::{LowerError, call::Call, contraction};
use crate::{
    kernel::{KernelBuilder, Scalar},
    program::{IndexMap, Op, Value},
};

/// MLX 0.32.2, `conv.cpp`, CPU: the sum over kernel positions and input channels from +0, in F32,
/// every product rounded on its own, one rounding at the end. Kernel positions come in row-major
/// order with the channels fastest; in a grouped convolution over one axis, which MLX also turns
/// into a matrix product, the channels come first. Padding takes part as +0·w or, where MLX loops
/// directly (dilated or grouped), is left out: the same for finite weights.
pub(super) fn lower(call: &mut Call<'_, '_>) -> Result<Value, LowerError> {
    let Primitive::Convolution {
        strides,
        low,
        high,
        kernel_dilation,
        input_dilation,
        groups,
        flip,
    } = call.op
    else {
        return Err(call.malformed("it is no convolution"));
    };
    if *flip {
        return Err(call.unsupported("the kernel is flipped"));
    }
    if input_dilation.iter().any(|&n| n != 1) {
        return Err(call.unsupported("the input is dilated"));
    }
    let (x, w) = (call.value(0)?, call.value(1)?);
    let spatial = strides.len();
    let around = |sizes: &[usize]| [&[0][..], sizes, &[0]].concat();
    let padded = call.pad(x, around(low), around(high), 0);
    let weight = call.dims(w);
    let kernel = &weight[1..=spatial];
    let taps = positions(kernel);
    let result = call.result.shape.dims().to_vec();
    let per_group = weight[spatial + 1];
    if *groups == 1 && taps.len() * per_group > SHORT {
        let seen = patches(call, padded, kernel, strides, kernel_dilation)?;
        let (rows, inner) = (result[..=spatial].iter().product(), taps.len() * per_group);
        let lhs = call.reshape(seen, [rows, inner]);
        let rhs = call.reshape(w, [weight[0], inner]);
        let product = contraction::dot_of(call, lhs, rhs)?;
        let product = call.reshape(product, result);
        return call.rounded(product);
    }
    let seen: Vec<Value> = taps
        .iter()
        .map(|tap| {
            let mut start = vec![0];
            let mut stop = vec![result[0]];
            let mut steps = vec![1];
            for axis in 0..spatial {
                let first = tap[axis] * kernel_dilation[axis];
                let count = result[axis + 1];
                start.push(first);
                stop.push(first + count.saturating_sub(1) * strides[axis] + count.min(1));
                steps.push(strides[axis]);
            }
            let channels = call.program.info(padded).shape[spatial + 1];
            start.push(0);
            stop.push(channels);
            steps.push(1);
            call.slice(padded, start, stop, steps)
        })
        .collect();

    if *groups == 1 {
        return chain(call, &seen, w, &Sees::All(per_group));
    }
    if per_group == 1 && *groups == weight[0] {
        return chain(call, &seen, w, &Sees::Own);
    }
    let channels_first = *groups > 1 && spatial == 1 && kernel_dilation.iter().all(|&n| n == 1);
    let layout = Layout {
        groups: *groups,
        taps: taps.len(),
        per_group,
        channels_first,
    };
    let product = grouped(call, &seen, w, &layout)?;
    let product = call.reshape(product, result);
    call.rounded(product)
}

/// Up to this many terms a convolution is a chain of products in one kernel: a product of matrices
/// that narrow would spend its time on moving patches.
const SHORT: usize = 16;

fn patches(
    call: &mut Call<'_, '_>,
    x: Value,
    kernel: &[usize],
    strides: &[usize],
    dilation: &[usize],
) -> Result<Value, LowerError> {
    let places = &call.result.shape.dims()[..=kernel.len()];
    let channels = call.program.info(x).shape[kernel.len() + 1];
    let shape = [places, kernel, &[channels]].concat();
    let grid = call.program.info(x).grid;
    let op = Op::Patches {
        kernel: kernel.to_vec(),
        strides: strides.to_vec(),
        dilation: dilation.to_vec(),
    };
    call.push(op, vec![x], shape, grid)
}

/// Which channels of the input an output sees.
enum Sees {
    /// All of them, this many.
    All(usize),
    /// The one of its own number.
    Own,
}

/// Few terms: every output's chain of products and sums in one kernel, one channel of one tap
/// after the other.
fn chain(
    call: &mut Call<'_, '_>,
    seen: &[Value],
    w: Value,
    sees: &Sees,
) -> Result<Value, LowerError> {
    let forms = call.forms;
    let (shape, dtype) = (call.result.shape.clone(), call.result.dtype);
    let rank = shape.rank();
    let outputs = shape[rank - 1];
    let terms = match sees {
        Sees::All(channels) => seen.len() * channels,
        Sees::Own => seen.len(),
    };
    // A term's weights lie side by side, as the outputs that use them do.
    let weights = call.reshape(w, [outputs, terms]);
    let weights = call.transpose(weights, vec![1, 0]);
    let mut k = KernelBuilder::new();
    let mut inputs = Vec::new();
    let mut sum = k.f32(0.0);
    for term in 0..terms {
        let tap = seen[term / (terms / seen.len())];
        let mut place = IndexMap::identity(rank);
        let values = match sees {
            Sees::Own => tap,
            Sees::All(channels) => {
                let channel = term % channels;
                let mut start = vec![0; rank];
                let mut stop = shape.dims().to_vec();
                (start[rank - 1], stop[rank - 1]) = (channel, channel + 1);
                place.0[rank - 1] = None;
                call.slice(tap, start, stop, vec![1; rank])
            }
        };
        let weight = call.slice(weights, vec![term, 0], vec![term + 1, outputs], vec![1, 1]);
        let x = k.operand(inputs.len(), Scalar::F32);
        inputs.push((values, place));
        let y = k.operand(inputs.len(), Scalar::F32);
        inputs.push((weight, IndexMap(vec![None, Some(rank - 1)])));
        let product = forms.mul(&mut k, x, y);
        sum = k.add(sum, product);
    }
    let result = forms.round(&mut k, dtype, sum);
    call.map(k.finish(result), inputs, shape, dtype)
}

/// All positions of a kernel in row-major order.
fn positions(kernel: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for &extent in kernel {
        all = all
            .iter()
            .flat_map(|head| (0..extent).map(move |i| [head.as_slice(), &[i]].concat()))
            .collect();
    }
    all
}

/// How patches and weights become matrices.
struct Layout {
    groups: usize,
    taps: usize,
    per_group: usize,
    channels_first: bool,
}

/// Patches `[positions, taps · channels]` times weights, group by group, in F32.
fn grouped(
    call: &mut Call<'_, '_>,
    patches: &[Value],
    w: Value,
    layout: &Layout,
) -> Result<Value, LowerError> {
    let &Layout {
        groups,
        taps,
        per_group,
        channels_first,
    } = layout;
    let dims = call.dims(patches[0]);
    let (channels, places) = (groups * per_group, &dims[..dims.len() - 1]);
    let rows: usize = places.iter().product();
    let inner = taps * per_group;
    let filters = call.dims(w)[0];
    let joined = match patches {
        [one] => *one,
        _ => {
            let axis = places.len();
            let shape = [places, &[taps * channels]].concat();
            let grid = call.program.info(patches[0]).grid;
            call.push(Op::Concatenate { axis }, patches.to_vec(), shape, grid)?
        }
    };
    let split = call.reshape(joined, [rows, taps, groups, per_group]);
    let weights = call.reshape(w, [filters, taps, per_group]);
    let (lhs, rhs) = if channels_first {
        let lhs = call.transpose(split, vec![2, 0, 3, 1]);
        (lhs, call.transpose(weights, vec![0, 2, 1]))
    } else {
        (call.transpose(split, vec![2, 0, 1, 3]), weights)
    };
    let lhs = call.reshape(lhs, [groups, rows, inner]);
    let rhs = call.reshape(rhs, [groups, filters / groups, inner]);
    let product = contraction::dot_of(call, lhs, rhs)?;
    Ok(call.transpose(product, vec![1, 0, 2]))
}
