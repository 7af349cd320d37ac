//! Operations by name, over as many terms and rows as asked for.

use stages::{
    DType, Shape,
    graph::{GraphError, Op},
};

use super::{Layout, Site};

/// `rows` rows of `n` terms, gapless.
pub(super) fn gapless(rows: usize, n: usize) -> Layout {
    Layout {
        places: (0..n).collect(),
        rows,
        strides: (n, 1),
        ..Layout::default()
    }
}

impl Site {
    /// The sums over the last axis of `[rows, n]`.
    ///
    /// # Errors
    /// When the dtype has no sums.
    pub fn sum(rows: usize, n: usize, dtype: DType) -> Result<Site, GraphError> {
        let name = format!("sum {dtype} [{rows},{n}] over 1");
        let shape = [rows, n].into();
        Site::new(name, dtype, shape, gapless(rows, n), |b, x, _| {
            b.sum(x, &[1])
        })
    }

    /// The means over the last axis of `[rows, n]`.
    ///
    /// # Errors
    /// When the dtype has no sums.
    pub fn mean(rows: usize, n: usize, dtype: DType) -> Result<Site, GraphError> {
        let name = format!("mean {dtype} [{rows},{n}] over 1");
        let shape = [rows, n].into();
        let mut site = Site::new(name, dtype, shape, gapless(rows, n), |b, x, _| b.mean(x, 1))?;
        let scale = (1.0 / n as f64) as f32;
        site.scale = Some(match dtype {
            DType::BF16 => half::bf16::from_f32(scale).to_f32(),
            _ => scale,
        });
        Ok(site)
    }

    /// The sum over some axes of a tensor of `shape`, for index 0 of the others. Terms count
    /// with the last of `axes` fastest.
    ///
    /// # Errors
    /// When the axes are not the shape's.
    pub fn sum_over(
        shape: impl Into<Shape>,
        axes: &[usize],
        dtype: DType,
    ) -> Result<Site, GraphError> {
        let shape = shape.into();
        let strides = shape.strides();
        let mut places = vec![0];
        for &axis in axes.iter().filter(|&&axis| axis < shape.rank()) {
            let stride = strides[axis];
            let along = |place| (0..shape[axis]).map(move |i| place + i * stride);
            places = places.into_iter().flat_map(along).collect();
        }
        let name = format!("sum {dtype} {shape} over {axes:?}");
        let axes = axes.to_vec();
        let layout = Layout {
            places,
            rows: 1,
            ..Layout::default()
        };
        Site::new(name, dtype, shape, layout, move |b, x, _| b.sum(x, &axes))
    }

    /// The first column of the product `[rows, n]·[n, columns]`; the second factor is a weight.
    ///
    /// # Errors
    /// When the dtype has no products.
    pub fn product(
        rows: usize,
        n: usize,
        columns: usize,
        dtype: DType,
    ) -> Result<Site, GraphError> {
        let name = format!("dot {dtype} [{rows},{n}]x[{n},{columns}]");
        let layout = Layout {
            strides: (n, columns),
            multiplies: (0..n * columns).map(|i| i / columns.max(1)).collect(),
            ..gapless(rows, n)
        };
        Site::new(name, dtype, [rows, n].into(), layout, move |b, x, w| {
            let w = b.weight(w, [n, columns], dtype);
            b.apply(Op::Matmul, &[x, w])
        })
    }

    /// The last elements of the cumulative sums over `[rows, n]`.
    ///
    /// # Errors
    /// When `n` is 0.
    pub fn cumsum(rows: usize, n: usize, dtype: DType) -> Result<Site, GraphError> {
        let name = format!("cumsum {dtype} [{rows},{n}]");
        let layout = Layout {
            at: n.saturating_sub(1),
            strides: (n, n),
            ..gapless(rows, n)
        };
        Site::new(name, dtype, [rows, n].into(), layout, |b, x, _| {
            b.cumsum(x, 1)
        })
    }

    /// The one output of each of `rows` convolutions of `[kernel.., channels]` with one filter of
    /// that size, without padding. Terms count in row-major order.
    ///
    /// # Errors
    /// When the kernel is none that convolutions have.
    pub fn convolution(
        rows: usize,
        kernel: &[usize],
        channels: usize,
        dtype: DType,
    ) -> Result<Site, GraphError> {
        let window: Shape = [&[1], kernel, &[channels]].concat().into();
        let shape: Shape = [&[rows], kernel, &[channels]].concat().into();
        let name = format!("convolution {dtype} {shape} of {window}");
        let n = window.elements();
        let layout = Layout {
            multiplies: (0..n).collect(),
            ..gapless(rows, n)
        };
        let axes = kernel.len();
        Site::new(name, dtype, shape, layout, move |b, x, w| {
            let w = b.weight(w, window.clone(), dtype);
            b.apply(convolution(axes, 1), &[x, w])
        })
    }

    /// The first channel of `rows` depthwise convolutions of `[n, channels]` with filters of `n`.
    ///
    /// # Errors
    /// When `n` or `channels` is 0.
    pub fn depthwise(
        rows: usize,
        n: usize,
        channels: usize,
        dtype: DType,
    ) -> Result<Site, GraphError> {
        let name = format!("depthwise convolution {dtype} [{rows},{n},{channels}]");
        let layout = Layout {
            places: (0..n).map(|i| i * channels).collect(),
            rows,
            strides: (n * channels, channels),
            multiplies: (0..n * channels).map(|i| i % n.max(1)).collect(),
            ..Layout::default()
        };
        Site::new(
            name,
            dtype,
            [rows, n, channels].into(),
            layout,
            move |b, x, w| {
                let w = b.weight(w, [channels, n, 1], dtype);
                b.apply(convolution(1, channels), &[x, w])
            },
        )
    }
}

fn convolution(axes: usize, groups: usize) -> Op {
    Op::Convolution {
        strides: vec![1; axes],
        low: vec![0; axes],
        high: vec![0; axes],
        kernel_dilation: vec![1; axes],
        input_dilation: vec![1; axes],
        groups,
        flip: false,
    }
}
