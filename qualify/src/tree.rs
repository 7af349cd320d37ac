//! `qualify stages`: stages and boundaries as a tree.

use std::io::{self, Write};

use stages::{
    BoundaryId,
    registry::{BoundaryView, Tree},
};

const MORE: &str = "├─ ";
const LAST: &str = "└─ ";

/// A line of the tree.
struct Row<'t> {
    /// What stands before it.
    trunk: &'static str,
    branch: &'static str,
    name: &'t str,
    boundary: &'t BoundaryView,
    /// The sentence below it; results of single primitives need none.
    about: Option<&'t str>,
}

impl Row<'_> {
    fn title(&self) -> String {
        [self.trunk, self.branch, self.name].concat()
    }
}

/// Writes the tree: a line a boundary with shape, grid and parents, and a sentence below. Results
/// of single primitives follow the boundary they lead to, named by what comes behind its name.
///
/// # Errors
/// When the output cannot be written.
pub fn print(out: &mut dyn Write, tree: &Tree) -> io::Result<()> {
    let stages = tree.stages.iter();
    let stages: Vec<_> = stages.map(|s| (&s.name, rows(&s.boundaries))).collect();
    let all = || stages.iter().flat_map(|(_, rows)| rows);
    let titles = all().map(|row| row.title().chars().count());
    let titles = titles.max().unwrap_or(0);
    let shapes = all().map(|row| row.boundary.shape.to_string().len());
    let shapes = shapes.max().unwrap_or(0);
    for (stage, rows) in &stages {
        writeln!(out, "{stage}")?;
        for row in rows {
            let (shape, grid) = (&row.boundary.shape, row.boundary.grid.name());
            let (title, parents) = (row.title(), parents(row.boundary));
            writeln!(
                out,
                "{title:<titles$} {shape:<shapes$}  {grid:<4}  ← {parents}"
            )?;
            if let Some(about) = row.about {
                writeln!(out, "{}   {about}", trunk(row.branch))?;
            }
        }
    }
    Ok(())
}

/// What goes on below a branch.
fn trunk(branch: &str) -> &'static str {
    if branch == LAST { "   " } else { "│  " }
}

/// The lines of a stage.
fn rows(boundaries: &[BoundaryView]) -> Vec<Row<'_>> {
    // A primitive whose boundary was not selected stands for itself.
    let (below, tops): (Vec<_>, Vec<_>) = boundaries.iter().partition(|b| {
        let above = primitive(&b.id).map(|(above, _)| above);
        above.is_some_and(|above| boundaries.iter().any(|b| b.id.as_str() == above))
    });
    let mut rows = Vec::new();
    for (branch, top) in branches(tops) {
        rows.push(Row {
            trunk: "",
            branch,
            name: top.id.as_str(),
            boundary: top,
            about: primitive(&top.id).is_none().then_some(&*top.about),
        });
        let own = below.iter().filter_map(|&b| {
            let (above, rest) = primitive(&b.id)?;
            (above == top.id.as_str()).then_some((rest, b))
        });
        for (twig, (name, boundary)) in branches(own.collect()) {
            rows.push(Row {
                trunk: trunk(branch),
                branch: twig,
                name,
                boundary,
                about: None,
            });
        }
    }
    rows
}

/// Each with the branch it stands at.
fn branches<T>(items: Vec<T>) -> impl Iterator<Item = (&'static str, T)> {
    let last = items.len().saturating_sub(1);
    let branch = move |i| if i == last { LAST } else { MORE };
    items
        .into_iter()
        .enumerate()
        .map(move |(i, item)| (branch(i), item))
}

/// The boundary that the result of a primitive leads to, and what comes behind its name.
fn primitive(id: &BoundaryId) -> Option<(&str, &str)> {
    let at = id.as_str().find('/')?;
    Some(id.as_str().split_at(at))
}

/// Named in full, but for results of primitives that lead to the same boundary.
fn parents(boundary: &BoundaryView) -> String {
    if boundary.parents.is_empty() {
        return "the model's inputs".to_owned();
    }
    let own = primitive(&boundary.id).map_or(boundary.id.as_str(), |(above, _)| above);
    let short = |id: &BoundaryId| match primitive(id) {
        Some((above, rest)) if above == own => rest.to_owned(),
        _ => id.to_string(),
    };
    let names: Vec<_> = boundary.parents.iter().map(short).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use stages::{
        DType, Graph,
        graph::{Builder, Op},
    };

    use super::*;

    fn graph() -> Graph {
        let mut b = Builder::new();
        let x = b.input("x", [2, 3], DType::F32);
        b.enter_stage("norm");
        let square = b.apply(Op::Square, &[x]).unwrap();
        let s = b.sum(square, &[1]).unwrap();
        b.boundary("norm.sum", s, "Row sums.").unwrap();
        let c = b.cumsum(s, 0).unwrap();
        let root = b.apply(Op::Sqrt { reciprocal: false }, &[c]).unwrap();
        let half = b.binary_scalar(Op::Multiply, root, 0.5).unwrap();
        b.boundary("norm", half, "Their running sum.").unwrap();
        b.finish()
    }

    fn printed(graph: &Graph) -> String {
        let mut text = Vec::new();
        print(&mut text, &Tree::of(graph)).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn the_tree_shows_shape_grid_parents_and_a_sentence() {
        let expected = "\
norm
├─ norm.sum [2,1]  F32   ← the model's inputs
│     Row sums.
└─ norm     [2,1]  F32   ← norm.sum
      Their running sum.
";
        assert_eq!(printed(&graph()), expected);
    }

    #[test]
    fn primitives_follow_the_boundary_they_lead_to() {
        let expected = "\
norm
├─ norm.sum     [2,1]  F32   ← /1.Square
│     Row sums.
│  └─ /1.Square [2,3]  F32   ← the model's inputs
└─ norm         [2,1]  F32   ← /2.Sqrt
      Their running sum.
   ├─ /1.Scan   [2,1]  F32   ← norm.sum
   └─ /2.Sqrt   [2,1]  F32   ← /1.Scan
";
        assert_eq!(printed(&graph().with_every_op()), expected);
    }
}
