//! `qualify stages`.

use crate::harness::Place;

#[test]
fn the_tree_has_every_boundary_with_shape_grid_parents_and_a_sentence() {
    let ended = Place::new().run("stages").exits(0);
    assert!(ended.stderr.is_empty(), "{ended}");
    insta::assert_snapshot!(ended.stdout);
}

#[test]
fn a_glob_selects_within_the_tree() {
    let ended = Place::new()
        .run("stages --stage **.norm.mean --stage conformer.*.attention.q* --stage mask");
    insta::assert_snapshot!(ended.exits(0).stdout);
}

#[test]
fn the_tree_of_a_profile_has_its_grids() {
    let ended = Place::new().run("stages --profile f32").exits(0);
    assert!(!ended.stdout.contains("BF16"), "{ended}");
}

#[test]
fn the_tree_needs_neither_libraries_nor_cache() {
    let place = Place::new();
    let nowhere = place.path("nowhere");
    let variables = [("QUALIFY_NATIVE", &*nowhere), ("QUALIFY_CACHE", &*nowhere)];
    place.run_with("stages", &variables).exits(0);
    assert!(place.holds().is_empty());
}
