//! Which elements of its operands a primitive reads for wanted elements of its result.

use stages::{
    Shape,
    graph::{Node, Op, ValueInfo},
};

use super::ContractError;

/// Stands for an element that is not there: +0.
pub(super) const NOWHERE: u32 = u32::MAX;

/// What is read, by element of an operand. The order of terms is the row-major order of the
/// reduced axes; for convolutions kernel positions row-major, channels fastest.
#[derive(Clone, Debug, Default)]
pub(super) struct Reads {
    /// Operand by operand, one element for each wanted one.
    pub each: Vec<Option<Vec<u32>>>,
    /// Operand by operand, `width` elements for each row.
    pub rows: Vec<Option<Vec<u32>>>,
    /// Elements of a row.
    pub width: usize,
    /// Row and place in it of each wanted element, if rows are not the wanted elements.
    pub pick: Option<Vec<[u32; 2]>>,
    /// Of a quantised product: the column of each wanted element.
    pub columns: Vec<u32>,
    /// The operand that each wanted element comes from, of data movement; `each` has one list
    /// only then, which holds the places in these.
    pub from: Option<Vec<u8>>,
}

/// The operands of a node's primitive that take part in products it may be fused with.
pub(super) type Infos<'a> = [&'a ValueInfo];

/// What `node` reads for the elements `wanted` of its result. `operands` are its own.
pub(super) fn of(
    node: &Node,
    operands: &Infos<'_>,
    wanted: &[u32],
) -> Result<Reads, ContractError> {
    let result = &node.info.shape;
    Ok(match &node.op {
        Op::Input { .. } | Op::Weight { .. } | Op::Constant { .. } | Op::Arange { .. } => {
            Reads::default()
        }
        Op::Full { .. } => movement(wanted, |_| (0, 0)),
        Op::ExpandDims { .. }
        | Op::Squeeze { .. }
        | Op::Reshape { .. }
        | Op::Flatten { .. }
        | Op::Unflatten { .. } => movement(wanted, |at| (0, at)),
        Op::Broadcast { .. } => {
            let (from, lead) = (&operands[0].shape, result.rank() - operands[0].shape.rank());
            let strides = from.strides();
            let step = |axis: usize| match axis.checked_sub(lead) {
                Some(own) if from[own] == result[axis] => strides[own],
                _ => 0,
            };
            strided(result, wanted, 0, (0..result.rank()).map(step).collect())
        }
        Op::Transpose { axes } => {
            let strides = operands[0].shape.strides();
            let steps = axes.iter().map(|&axis| strides[axis]).collect();
            strided(result, wanted, 0, steps)
        }
        Op::Slice { start, strides, .. } => {
            let own = operands[0].shape.strides();
            let base = start.iter().zip(&own).map(|(i, s)| i * s).sum();
            let steps = strides.iter().zip(&own).map(|(i, s)| i * s).collect();
            strided(result, wanted, base, steps)
        }
        Op::Split {
            indices,
            axis,
            part,
        } => {
            let own = operands[0].shape.strides();
            let before = part.checked_sub(1).and_then(|i| indices.get(i));
            let base = before.map_or(0, |i| i * own[*axis]);
            strided(result, wanted, base, own)
        }
        Op::Pad { axes, low, .. } => {
            let from = &operands[0].shape;
            let (own, walk) = (from.strides(), Walk::new(result));
            movement(wanted, |at| {
                let mut place = 0;
                for axis in 0..result.rank() {
                    let i = walk.coordinate(at, axis);
                    let before = axes.iter().position(|a| *a == axis).map_or(0, |k| low[k]);
                    match i.checked_sub(before) {
                        Some(i) if i < from[axis] => place += i * own[axis],
                        _ => return (1, 0),
                    }
                }
                (0, place as u32)
            })
        }
        Op::Concatenate { axis } => {
            let walk = Walk::new(result);
            let shapes: Vec<(&Shape, Vec<usize>)> = operands
                .iter()
                .map(|info| (&info.shape, info.shape.strides()))
                .collect();
            movement(wanted, |at| {
                let mut i = walk.coordinate(at, *axis);
                let mut part = 0;
                while part + 1 < shapes.len() && i >= shapes[part].0[*axis] {
                    i -= shapes[part].0[*axis];
                    part += 1;
                }
                let strides = &shapes[part].1;
                let others = (0..result.rank()).filter(|a| a != axis);
                let place: usize = others.map(|a| walk.coordinate(at, a) * strides[a]).sum();
                (part as u8, (place + i * strides[*axis]) as u32)
            })
        }
        Op::GatherAxis { axis } => {
            // Which element the index names is known only when it has been computed.
            let (from, walk) = (&operands[0].shape, Walk::new(result));
            let strides = from.strides();
            let width = from[*axis];
            check(wanted.len(), width)?;
            let mut row = Vec::with_capacity(wanted.len() * width);
            for &at in wanted {
                let others = (0..result.rank()).filter(|a| a != axis);
                let first: usize = others.map(|a| walk.coordinate(at, a) * strides[a]).sum();
                row.extend((0..width).map(|i| (first + i * strides[*axis]) as u32));
            }
            Reads {
                rows: vec![Some(row), None],
                each: vec![None, Some(wanted.to_vec())],
                width,
                ..Reads::default()
            }
        }
        Op::Reduce { axes, .. } => {
            let from = &operands[0].shape;
            let places = lines(from, axes);
            check(wanted.len(), places.len())?;
            // The result keeps the reduced axes with extent 1.
            let (walk, strides) = (Walk::new(result), from.strides());
            let mut row = Vec::with_capacity(wanted.len() * places.len());
            for &at in wanted {
                let first: usize = (0..result.rank())
                    .map(|axis| walk.coordinate(at, axis) * strides[axis])
                    .sum();
                row.extend(places.iter().map(|place| (first + place) as u32));
            }
            whole(vec![Some(row)], places.len())
        }
        Op::Softmax { .. } | Op::Scan { .. } => {
            let axis = match node.op {
                Op::Scan { axis, .. } => axis,
                _ => result.rank() - 1,
            };
            picked(result, axis, wanted)?
        }
        Op::Matmul => products(result, operands[0], operands[1], wanted, [0, 1], 2)?,
        Op::AddMM { .. } => {
            let mut reads = products(result, operands[1], operands[2], wanted, [1, 2], 3)?;
            reads.each[0] = Some(wanted.to_vec());
            reads
        }
        Op::QuantizedMatmul {
            group_size,
            bits,
            transpose,
        } => quantized(node, operands, wanted, [*group_size, *bits], *transpose)?,
        Op::Convolution { .. } => convolution(node, operands, wanted)?,
        _ => Reads {
            each: vec![Some(wanted.to_vec()); operands.len()],
            rows: vec![None; operands.len()],
            ..Reads::default()
        },
    })
}

/// The most elements that are read for one primitive.
const MOST: usize = 1 << 26;

/// Refuses what would fill the memory.
fn check(rows: usize, width: usize) -> Result<(), ContractError> {
    match rows.checked_mul(width) {
        Some(reads) if reads <= MOST => Ok(()),
        _ => Err(ContractError::TooLarge { rows, width }),
    }
}

fn whole(rows: Vec<Option<Vec<u32>>>, width: usize) -> Reads {
    Reads {
        each: vec![None; rows.len()],
        rows,
        width,
        ..Reads::default()
    }
}

fn movement(wanted: &[u32], read: impl Fn(u32) -> (u8, u32)) -> Reads {
    let (from, places) = wanted.iter().map(|&at| read(at)).unzip();
    Reads {
        each: vec![Some(places)],
        from: Some(from),
        ..Reads::default()
    }
}

fn strided(result: &Shape, wanted: &[u32], base: usize, steps: Vec<usize>) -> Reads {
    let walk = Walk::new(result);
    movement(wanted, |at| {
        let steps = steps.iter().enumerate();
        let place: usize = steps.map(|(axis, s)| walk.coordinate(at, axis) * s).sum();
        (0, (base + place) as u32)
    })
}

/// Coordinates of row-major indices.
struct Walk {
    dims: Vec<usize>,
    strides: Vec<usize>,
}

impl Walk {
    fn new(shape: &Shape) -> Walk {
        Walk {
            dims: shape.dims().to_vec(),
            strides: shape.strides(),
        }
    }

    fn coordinate(&self, at: u32, axis: usize) -> usize {
        at as usize / self.strides[axis].max(1) % self.dims[axis].max(1)
    }
}

/// Places along axes from index 0, row-major.
fn lines(shape: &Shape, axes: &[usize]) -> Vec<usize> {
    let strides = shape.strides();
    let mut places = vec![0];
    for &axis in axes {
        let steps = |place| (0..shape[axis]).map(move |i| (place, i));
        places = places
            .into_iter()
            .flat_map(steps)
            .map(|(place, i)| place + i * strides[axis])
            .collect();
    }
    places
}

/// Whole lines along an axis, and the wanted elements in them.
fn picked(shape: &Shape, axis: usize, wanted: &[u32]) -> Result<Reads, ContractError> {
    let (walk, stride, width) = (Walk::new(shape), shape.strides()[axis], shape[axis]);
    let mut firsts: Vec<u32> = Vec::new();
    let mut known = std::collections::HashMap::new();
    let mut pick = Vec::with_capacity(wanted.len());
    for &at in wanted {
        let place = walk.coordinate(at, axis) as u32;
        let first = at - place * stride as u32;
        let row = *known.entry(first).or_insert_with(|| {
            firsts.push(first);
            firsts.len() as u32 - 1
        });
        pick.push([row, place]);
    }
    check(firsts.len(), width)?;
    let along = |&first: &u32| (0..width as u32).map(move |i| first + i * stride as u32);
    Ok(Reads {
        pick: Some(pick),
        ..whole(vec![Some(firsts.iter().flat_map(along).collect())], width)
    })
}

/// Rows of a and columns of b, `slots` among `count` operands.
fn products(
    result: &Shape,
    a: &ValueInfo,
    b: &ValueInfo,
    wanted: &[u32],
    slots: [usize; 2],
    count: usize,
) -> Result<Reads, ContractError> {
    let rank = result.rank();
    let (inner, columns) = (a.shape[rank - 1], result[rank - 1].max(1));
    check(wanted.len(), inner)?;
    let of_batch = inner * columns;
    let (mut left, mut right) = (Vec::new(), Vec::new());
    let rows = result[rank - 2].max(1);
    debug_assert_eq!(b.shape[rank - 2], inner);
    for &at in wanted {
        let (row, column) = (at as usize / columns, at as usize % columns);
        left.extend((0..inner).map(|k| (row * inner + k) as u32));
        let batch = row / rows;
        right.extend((0..inner).map(|k| (batch * of_batch + k * columns + column) as u32));
    }
    let mut reads = whole(vec![None; count], inner);
    reads.rows[slots[0]] = Some(left);
    reads.rows[slots[1]] = Some(right);
    Ok(reads)
}

/// x, words, scales and biases for every product.
fn quantized(
    node: &Node,
    operands: &Infos<'_>,
    wanted: &[u32],
    [group_size, bits]: [usize; 2],
    transpose: bool,
) -> Result<Reads, ContractError> {
    let x = &operands[0].shape;
    let inner = x[x.rank() - 1];
    let columns = node.info.shape[node.info.shape.rank() - 1].max(1);
    let per_word = 32 / bits.max(1);
    check(wanted.len(), inner)?;
    let mut rows: [Vec<u32>; 3] = Default::default();
    let [words, groups] = [1, 2].map(|i| operands[i].shape[operands[i].shape.rank() - 1]);
    for &at in wanted {
        let (row, column) = (at as usize / columns, at as usize % columns);
        for k in 0..inner {
            // Row and column of the stored matrix.
            let (n, j) = if transpose { (column, k) } else { (k, column) };
            rows[0].push((row * inner + k) as u32);
            rows[1].push((n * words + j / per_word) as u32);
            rows[2].push((n * groups + j / group_size.max(1)) as u32);
        }
    }
    let [x, words, scales] = rows;
    let biases = scales.clone();
    let rows = vec![Some(x), Some(words), Some(scales), Some(biases)];
    Ok(Reads {
        columns: wanted.iter().map(|&at| at % columns as u32).collect(),
        ..whole(rows, inner)
    })
}

/// Patches and filters; outside the input nothing is read.
fn convolution(node: &Node, operands: &Infos<'_>, wanted: &[u32]) -> Result<Reads, ContractError> {
    let Op::Convolution {
        strides,
        low,
        kernel_dilation,
        input_dilation,
        groups,
        flip,
        ..
    } = &node.op
    else {
        return Err(ContractError::Unsupported(node.op.name()));
    };
    if *flip || input_dilation.iter().any(|&n| n != 1) {
        return Err(ContractError::Unsupported(
            "Convolution, flipped or of a dilated input",
        ));
    }
    let (x, w, result) = (&operands[0].shape, &operands[1].shape, &node.info.shape);
    let spatial = strides.len();
    let (filters, channels) = (w[0], w[spatial + 1]);
    let taps: Vec<usize> = (1..=spatial).collect();
    let kernel = Shape::new(&w.dims()[1..=spatial]);
    let positions = lines(&kernel, &(0..taps.len()).collect::<Vec<_>>());
    let width = positions.len() * channels;
    check(wanted.len(), width)?;
    let (walk, own) = (Walk::new(result), x.strides());
    let (walk_kernel, per_group) = (Walk::new(&kernel), filters / (*groups).max(1));
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for &at in wanted {
        let filter = walk.coordinate(at, spatial + 1);
        let first = filter / per_group.max(1) * channels;
        for &position in &positions {
            let mut place = Some(walk.coordinate(at, 0) * own[0]);
            for axis in 0..spatial {
                let tap = walk_kernel.coordinate(position as u32, axis) * kernel_dilation[axis];
                let i = walk.coordinate(at, axis + 1) * strides[axis] + tap;
                let inside = i.checked_sub(low[axis]).filter(|&i| i < x[axis + 1]);
                place = place.zip(inside).map(|(p, i)| p + i * own[axis + 1]);
            }
            for channel in 0..channels {
                left.push(place.map_or(NOWHERE, |p| (p + first + channel) as u32));
                right.push((filter * width + position * channels + channel) as u32);
            }
        }
    }
    Ok(whole(vec![Some(left), Some(right)], width))
}
