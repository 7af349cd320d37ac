//! Products whose every partial sum is rounded, [`LANES`](crate::layout) columns at a time.
//!
//! Their sum is no reduction that the compiler knows how to turn into vectors, so the vector is
//! written out: an element of the index space sums a whole tile of columns in a loop of its own.
//! It hands each column to a result of its own, which are put side by side afterwards: an element
//! of a tensor cannot be a vector.

use std::fmt::Write;

use super::types;
use crate::program::ValueInfo;

/// The names and kinds of a product.
pub(super) struct Product<'a> {
    /// The result's name and `[M, N/t, t]`.
    pub out: &'a str,
    pub result: &'a ValueInfo,
    /// `[M, K]`.
    pub lhs: &'a str,
    pub lhs_type: String,
    /// `[N/t, K, t]`.
    pub rhs: &'a str,
    pub rhs_type: String,
    /// K.
    pub inner: usize,
}

/// The lines that compute a product rounded to BF16.
pub(super) fn print(text: &mut String, product: &Product<'_>) {
    let Product {
        out,
        result,
        lhs,
        lhs_type,
        rhs,
        rhs_type,
        inner,
    } = product;
    let [rows, tiles, lanes] = *result.shape.dims() else {
        return;
    };
    let (vector, integers) = (
        format!("vector<{lanes}xf32>"),
        format!("vector<{lanes}xi32>"),
    );
    let column = types::tensor(&[rows, tiles].into(), result.elem);
    let each = |of: &dyn Fn(usize) -> String| (0..lanes).map(of).collect::<Vec<_>>().join(", ");
    let mut line = |line: &str| {
        let _ = writeln!(text, "    {line}");
    };
    line(&format!("{out}_e = tensor.empty() : {column}"));
    line(&format!(
        "{out}_t:{lanes} = linalg.generic {{indexing_maps = [{}], iterator_types = [\"parallel\", \"parallel\"]}} outs({} : {}) {{",
        each(&|_| "affine_map<(d0,d1)->(d0,d1)>".into()),
        each(&|_| format!("{out}_e")),
        each(&|_| column.clone()),
    ));
    line(&format!("^bb0({}):", each(&|i| format!("%o{i}: f32"))));
    for (name, value) in [
        ("c16", 16),
        ("c1", 1),
        ("half", 32767),
        ("mask", -65536),
        ("quiet", 2_143_289_344),
    ] {
        line(&format!(
            "  %{name} = arith.constant dense<{value}> : {integers}"
        ));
    }
    line(&format!("  %start = arith.constant dense<0.0> : {vector}"));
    line("  %m = linalg.index 0 : index");
    line("  %n = linalg.index 1 : index");
    for (name, value) in [("zero", 0), ("one", 1), ("inner", *inner)] {
        line(&format!("  %{name} = arith.constant {value} : index"));
    }
    for i in 0..lanes {
        line(&format!("  %l{i} = arith.constant {i} : index"));
    }
    line(&format!(
        "  %sum = scf.for %k = %zero to %inner step %one iter_args(%acc = %start) -> ({vector}) {{"
    ));
    line(&format!(
        "    %a = tensor.extract {lhs}[%m, %k] : {lhs_type}"
    ));
    line(&format!("    %as = vector.broadcast %a : f32 to {vector}"));
    for i in 0..lanes {
        line(&format!(
            "    %b{i} = tensor.extract {rhs}[%n, %k, %l{i}] : {rhs_type}"
        ));
    }
    line(&format!(
        "    %bs = vector.from_elements {} : {vector}",
        each(&|i| format!("%b{i}"))
    ));
    line(&format!(
        "    %p = arith.mulf %as, %bs to_nearest_even : {vector}"
    ));
    round(&mut line, "p", &vector, &integers, lanes);
    line(&format!("    %s = arith.addf %acc, %p_r : {vector}"));
    round(&mut line, "s", &vector, &integers, lanes);
    line(&format!("    scf.yield %s_r : {vector}"));
    line("  }");
    for i in 0..lanes {
        line(&format!(
            "  %y{i} = vector.extract %sum[{i}] : f32 from {vector}"
        ));
    }
    line(&format!(
        "  linalg.yield {} : {}",
        each(&|i| format!("%y{i}")),
        each(&|_| "f32".into())
    ));
    line(&format!("}} -> ({})", each(&|_| column.clone())));
    let part = types::tensor(&[rows, tiles, 1].into(), result.elem);
    for i in 0..lanes {
        line(&format!(
            "{out}_p{i} = stablehlo.reshape {out}_t#{i} : ({column}) -> {part}"
        ));
    }
    line(&format!(
        "{out} = stablehlo.concatenate {}, dim = 2 : ({}) -> {}",
        each(&|i| format!("{out}_p{i}")),
        each(&|_| part.clone()),
        types::value(result)
    ));
}

/// `%x_r`, the vector `%x` on the BF16 grid: as [`round_bf16`](super::body::round_bf16), whose
/// constants are given.
fn round(line: &mut impl FnMut(&str), x: &str, vector: &str, integers: &str, lanes: usize) {
    for (name, rhs) in [
        ("u", format!("arith.bitcast %{x} : {vector} to {integers}")),
        ("top", format!("arith.shrui %{x}_u, %c16 : {integers}")),
        ("odd", format!("arith.andi %{x}_top, %c1 : {integers}")),
        ("up", format!("arith.addi %{x}_u, %half : {integers}")),
        ("tie", format!("arith.addi %{x}_up, %{x}_odd : {integers}")),
        ("cut", format!("arith.andi %{x}_tie, %mask : {integers}")),
        ("nan", format!("arith.cmpf uno, %{x}, %{x} : {vector}")),
        (
            "bits",
            format!("arith.select %{x}_nan, %quiet, %{x}_cut : vector<{lanes}xi1>, {integers}"),
        ),
        (
            "r",
            format!("arith.bitcast %{x}_bits : {integers} to {vector}"),
        ),
    ] {
        line(&format!("    %{x}_{name} = {rhs}"));
    }
}
