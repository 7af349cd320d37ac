//! A graph's boundaries by stage, as `qualify stages` shows them.

use serde::Serialize;

use crate::{BoundaryId, DType, Graph, Shape};

/// Stages in evaluation order.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tree {
    /// The stages.
    pub stages: Vec<StageView>,
}

/// A stage and its boundaries in evaluation order.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StageView {
    /// The stage's name.
    pub name: String,
    /// Its boundaries.
    pub boundaries: Vec<BoundaryView>,
}

/// A boundary and what is known of it before anything runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BoundaryView {
    /// Its name.
    pub id: BoundaryId,
    /// Its extents.
    pub shape: Shape,
    /// The dtype its values must be representable in: the value's own.
    pub grid: DType,
    /// The boundaries its step starts from; none where it starts from the model's inputs.
    pub parents: Vec<BoundaryId>,
    /// One sentence.
    pub about: String,
}

impl Tree {
    /// The tree of a graph.
    pub fn of(graph: &Graph) -> Tree {
        let mut stages: Vec<StageView> = Vec::new();
        for boundary in graph.boundaries() {
            let info = graph.info(boundary.value);
            let view = BoundaryView {
                id: boundary.id.clone(),
                shape: info.shape.clone(),
                grid: info.dtype,
                parents: graph
                    .parents(boundary)
                    .iter()
                    .map(|parent| parent.id.clone())
                    .collect(),
                about: boundary.about.clone(),
            };
            match stages.iter_mut().find(|s| s.name == boundary.stage) {
                Some(stage) => stage.boundaries.push(view),
                None => stages.push(StageView {
                    name: boundary.stage.clone(),
                    boundaries: vec![view],
                }),
            }
        }
        Tree { stages }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Profile,
        config::tests::{parse, small},
        model::gemma3n_audio::{Frames, audio_encoder},
    };

    #[test]
    fn the_tree_has_every_boundary_of_the_graph_once() {
        let config = parse(&small()).unwrap();
        let graph = audio_encoder(&config, Profile::Bf16, 1, Frames::Exact(8)).unwrap();
        let tree = Tree::of(&graph);
        let stages: Vec<_> = tree.stages.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(
            stages[..6],
            [
                "mel_cast",
                "sscp_conv_0",
                "sscp_conv_1",
                "input_projection",
                "conformer.0.feed_forward_start",
                "conformer.0.attention"
            ]
        );
        let total: usize = tree.stages.iter().map(|s| s.boundaries.len()).sum();
        assert_eq!(total, graph.boundaries().len());
        let norm = &tree.stages[1].boundaries[8];
        assert_eq!(
            (norm.id.as_str(), norm.grid),
            ("sscp_conv_0.norm", DType::BF16)
        );
        assert_eq!(norm.shape, [1, 4, 64, 8].into());
        assert_eq!(norm.parents.len(), 3);
    }
}
