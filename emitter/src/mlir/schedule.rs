//! How the CPU compiler is to divide an operation's loops among workgroups. No value depends on it.

use stages::Shape;

/// Tiles of rows that one workgroup takes at most. Their operand stays in the second-level cache
/// while the weight goes by once; the compiler's own choice of three reads a weight larger than
/// the caches again for each of them.
const ROWS: usize = 24;

/// Tiles of columns that one workgroup takes.
const COLUMNS: usize = 2;

/// The attribute of a packed product whose result is `[M/t, N/u, t, u]`: a tile's accumulators
/// stay in registers along the whole inner axis.
pub(super) fn packed_dot(result: &Shape) -> String {
    let [rows, _, t, u] = result.dims() else {
        return String::new();
    };
    // Workgroups of equal size, as far as that goes.
    let each = rows.div_ceil(rows.div_ceil(ROWS).max(1)).max(1);
    format!(
        "{{compilation_info = #iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<distribution = [{each}, {COLUMNS}, 0, 0, 0, 0], vector_common_parallel = [1, 1, 0, {t}, {u}, 0], vector_reduction = [0, 0, 1, 0, 0, 1]>, translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<Mmt4dTilingExpert>>>}}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workgroups_are_of_one_size() {
        let rows = |tiles: usize| {
            let text = packed_dot(&[tiles, 96, 6, 16].into());
            text.split("distribution = [").nth(1).unwrap()[..2].to_owned()
        };
        assert_eq!([rows(48), rows(46), rows(25)], ["24", "23", "13"]);
        assert_eq!(rows(1), "1,");
    }
}
