//! Convolutions over one and two axes: strides, paddings on either side, dilations and groups.

use stages::{DType, graph::Op};

use super::{
    case::{Stated, case, case_with_weights},
    values::{FLOATS, Operand, noise, tensor},
};

/// What distinguishes a convolution.
struct Form {
    x: &'static [usize],
    w: &'static [usize],
    strides: &'static [usize],
    low: &'static [usize],
    high: &'static [usize],
    dilation: &'static [usize],
    groups: usize,
}

const fn form(x: &'static [usize], w: &'static [usize]) -> Form {
    let one: &[usize] = if x.len() == 3 { &[1] } else { &[1, 1] };
    let zero: &[usize] = if x.len() == 3 { &[0] } else { &[0, 0] };
    Form {
        x,
        w,
        strides: one,
        low: zero,
        high: zero,
        dilation: one,
        groups: 1,
    }
}

fn forms() -> Vec<Form> {
    vec![
        // The front end's: 3×3, stride 2, one column on both sides, one row before.
        Form {
            strides: &[2, 2],
            low: &[0, 1],
            high: &[0, 1],
            ..form(&[2, 11, 16, 1], &[8, 3, 3, 1])
        },
        Form {
            strides: &[2, 2],
            low: &[1, 1],
            high: &[0, 1],
            ..form(&[1, 9, 10, 8], &[6, 3, 3, 8])
        },
        Form {
            low: &[1, 1],
            high: &[1, 1],
            ..form(&[1, 6, 7, 32], &[5, 3, 3, 32])
        },
        form(&[2, 5, 5, 3], &[4, 1, 1, 3]),
        Form {
            strides: &[3, 1],
            ..form(&[1, 10, 4, 2], &[3, 3, 2, 2])
        },
        Form {
            dilation: &[2, 1],
            ..form(&[1, 9, 8, 3], &[4, 3, 3, 3])
        },
        Form {
            dilation: &[2, 3],
            low: &[2, 0],
            high: &[1, 3],
            ..form(&[1, 9, 8, 3], &[4, 3, 3, 3])
        },
        Form {
            groups: 2,
            ..form(&[2, 6, 5, 4], &[6, 3, 2, 2])
        },
        Form {
            groups: 4,
            low: &[1, 1],
            high: &[1, 1],
            ..form(&[1, 6, 5, 4], &[4, 3, 3, 1])
        },
        // Along one axis.
        form(&[2, 20, 6], &[5, 3, 6]),
        Form {
            strides: &[2],
            low: &[2],
            high: &[1],
            ..form(&[1, 21, 6], &[5, 5, 6])
        },
        Form {
            dilation: &[3],
            ..form(&[1, 21, 6], &[5, 3, 6])
        },
        // Depthwise, as in the light convolution: all padding in front.
        Form {
            low: &[4],
            groups: 16,
            ..form(&[2, 25, 16], &[16, 5, 1])
        },
        Form {
            groups: 16,
            ..form(&[1, 9, 16], &[16, 5, 1])
        },
        Form {
            groups: 3,
            ..form(&[2, 15, 6], &[9, 4, 2])
        },
        Form {
            groups: 3,
            strides: &[2],
            low: &[1],
            high: &[2],
            ..form(&[1, 15, 6], &[9, 4, 2])
        },
        Form {
            groups: 4,
            ..form(&[1, 15, 4], &[8, 3, 1])
        },
        Form {
            groups: 2,
            dilation: &[2],
            ..form(&[1, 15, 4], &[6, 3, 2])
        },
        Form {
            groups: 8,
            dilation: &[2],
            low: &[4],
            ..form(&[1, 15, 8], &[8, 3, 1])
        },
        // Long sums.
        form(&[1, 4, 700], &[3, 3, 700]),
    ]
}

fn op(form: &Form) -> Op {
    Op::Convolution {
        strides: form.strides.to_vec(),
        low: form.low.to_vec(),
        high: form.high.to_vec(),
        kernel_dilation: form.dilation.to_vec(),
        input_dilation: vec![1; form.strides.len()],
        groups: form.groups,
        flip: false,
    }
}

fn name(form: &Form, dtype: DType) -> String {
    let Form {
        x,
        w,
        strides,
        low,
        high,
        dilation,
        groups,
    } = form;
    format!(
        "Convolution {x:?} by {w:?} step {strides:?} pad {low:?} {high:?} dilated {dilation:?} \
         groups {groups} {dtype}"
    )
}

pub(super) fn cases() -> Vec<Stated> {
    let mut cases = Vec::new();
    for dtype in FLOATS {
        for (i, form) in forms().iter().enumerate() {
            let seed = 2 * i as u64;
            let (x, w) = (noise(dtype, form.x, seed), noise(dtype, form.w, seed + 1));
            cases.push(case_with_weights(name(form, dtype), &[x], &[w], |b, x| {
                b.apply(op(form), x)
            }));
        }
        cases.push(special(dtype));
        cases.push(case(
            format!("Convolution of a transpose {dtype}"),
            &[noise(dtype, [2, 6, 20], 91), noise(dtype, [5, 3, 6], 92)],
            |b, x| {
                let turned = b.transpose(x[0], &[0, 2, 1])?;
                b.apply(op(&form(&[2, 20, 6], &[5, 3, 6])), &[turned, x[1]])
            },
        ));
    }
    cases
}

/// Zeros, denormals, infinities and NaN beside padding.
fn special(dtype: DType) -> Stated {
    let x: [f32; 10] = [
        -0.0,
        0.0,
        1e-30,
        f32::INFINITY,
        1.0,
        f32::NAN,
        2.0,
        -1e-38,
        f32::MAX,
        -0.0,
    ];
    let w: [f32; 6] = [1.0, -0.0, 1e-10, -1.0, 0.5, f32::INFINITY];
    let inputs: [Operand; 2] = [tensor(dtype, [1, 10, 1], &x), tensor(dtype, [2, 3, 1], &w)];
    let padded = Form {
        low: &[1],
        high: &[2],
        ..form(&[1, 10, 1], &[2, 3, 1])
    };
    case(
        format!("Convolution of special values {dtype}"),
        &inputs,
        |b, x| b.apply(op(&padded), x),
    )
}
