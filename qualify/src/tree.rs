//! `qualify stages`: stages and boundaries as a tree.

use std::io::{self, Write};

use stages::registry::{BoundaryView, Tree};

/// Writes the tree: a line a boundary with shape, grid and parents, and a sentence below.
///
/// # Errors
/// When the output cannot be written.
pub fn print(out: &mut dyn Write, tree: &Tree) -> io::Result<()> {
    let all = || tree.stages.iter().flat_map(|stage| &stage.boundaries);
    let width = all().map(|b| b.id.as_str().len()).max().unwrap_or(0) + 4;
    let shapes = all().map(|b| b.shape.to_string().len()).max().unwrap_or(0);
    for stage in &tree.stages {
        writeln!(out, "{}", stage.name)?;
        for (i, boundary) in stage.boundaries.iter().enumerate() {
            let last = i + 1 == stage.boundaries.len();
            let (branch, trunk) = if last {
                ("└─ ", "   ")
            } else {
                ("├─ ", "│  ")
            };
            let name = format!("{branch}{}", boundary.id);
            let (shape, grid) = (&boundary.shape, boundary.grid.name());
            writeln!(
                out,
                "{name:<width$}{shape:<shapes$}  {grid:<4}  ← {}",
                parents(boundary)
            )?;
            writeln!(out, "{trunk}   {}", boundary.about)?;
        }
    }
    Ok(())
}

fn parents(boundary: &BoundaryView) -> String {
    if boundary.parents.is_empty() {
        return "the model's inputs".to_owned();
    }
    let names: Vec<_> = boundary.parents.iter().map(|id| id.as_str()).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use stages::{DType, graph::Builder};

    use super::*;

    #[test]
    fn the_tree_shows_shape_grid_parents_and_a_sentence() {
        let mut b = Builder::new();
        let x = b.input("x", [2, 3], DType::F32);
        b.enter_stage("norm");
        let s = b.sum(x, &[1]).unwrap();
        b.boundary("norm.sum", s, "Row sums.").unwrap();
        let c = b.cumsum(s, 0).unwrap();
        b.boundary("norm", c, "Their running sum.").unwrap();
        let mut text = Vec::new();
        print(&mut text, &Tree::of(&b.finish())).unwrap();
        let expected = "\
norm
├─ norm.sum [2,1]  F32   ← the model's inputs
│     Row sums.
└─ norm     [2,1]  F32   ← norm.sum
      Their running sum.
";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }
}
