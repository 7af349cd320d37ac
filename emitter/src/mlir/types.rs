//! Types, constants and affine maps as MLIR spells them.

use stages::Shape;

use crate::{
    kernel::Scalar,
    program::{Elem, IndexMap, ValueInfo},
};

/// The element type in memory. Booleans are stored as bytes, as the runtime hands them over.
pub(super) const fn elem(elem: Elem) -> &'static str {
    match elem {
        Elem::F32 => "f32",
        Elem::Bf16 => "bf16",
        Elem::I32 => "i32",
        Elem::Bool => "i8",
    }
}

pub(super) const fn scalar(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::F32 => "f32",
        Scalar::F64 => "f64",
        Scalar::I32 => "i32",
        Scalar::I64 => "i64",
        Scalar::Bool => "i1",
    }
}

pub(super) fn tensor(shape: &Shape, of: Elem) -> String {
    let mut text = String::from("tensor<");
    for extent in shape.dims() {
        text.push_str(&extent.to_string());
        text.push('x');
    }
    text.push_str(elem(of));
    text.push('>');
    text
}

pub(super) fn value(info: &ValueInfo) -> String {
    tensor(&info.shape, info.elem)
}

/// A literal of the element type by its bits.
pub(super) fn literal(of: Elem, bits: u32) -> String {
    match of {
        Elem::F32 => format!("0x{bits:08X}"),
        Elem::Bf16 => format!("0x{:04X}", bits >> 16),
        Elem::I32 => bits.cast_signed().to_string(),
        Elem::Bool => u32::from(bits != 0).to_string(),
    }
}

/// `(d0,d1,…)`.
pub(super) fn dims(rank: usize) -> String {
    let names: Vec<_> = (0..rank).map(|axis| format!("d{axis}")).collect();
    format!("({})", names.join(","))
}

/// The map from a result's index space to an operand's.
pub(super) fn affine_map(rank: usize, map: &IndexMap) -> String {
    let results: Vec<_> = map
        .0
        .iter()
        .map(|axis| axis.map_or_else(|| "0".to_owned(), |axis| format!("d{axis}")))
        .collect();
    format!("affine_map<{}->({})>", dims(rank), results.join(","))
}

pub(super) fn list(values: &[usize]) -> String {
    let texts: Vec<_> = values.iter().map(usize::to_string).collect();
    format!("[{}]", texts.join(", "))
}
