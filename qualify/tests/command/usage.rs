//! Command lines that make no sense, and help.

use crate::harness::Place;

/// Runs a line that must be refused before any work, and leave nothing.
#[track_caller]
fn refused(line: &str, because: &str) {
    let place = Place::new();
    let refused = place.run_without_libraries(line).exits(2);
    refused.says(because).does_no_work();
    assert!(place.holds().is_empty(), "{line} left {:?}", place.holds());
}

#[test]
fn the_bare_command_prints_help() {
    let ended = Place::new().run("").exits(2).says("Usage: qualify");
    assert!(ended.stderr.contains("Exit codes:"), "{ended}");
}

#[test]
fn help_is_asked_for_with_success() {
    for line in ["--help", "-h", "help", "help run"] {
        Place::new().run(line).exits(0).prints("Usage: qualify");
    }
    for command in ["run", "stages", "capture", "fixture"] {
        let ended = Place::new().run(&format!("{command} --help")).exits(0);
        let usage = format!("Usage: qualify {command}");
        assert!(ended.stdout.contains(&usage), "{ended}");
        assert!(ended.stderr.is_empty(), "{ended}");
    }
    Place::new().run("--version").exits(0).prints("qualify 0.");
}

#[test]
fn what_is_not_known_is_refused_with_what_is() {
    refused("--frobnicate", "--frobnicate");
    refused("frobnicate", "frobnicate");
    refused("--profile fp8", "bf16, mixed and f32");
    refused("--contract cuda", "mlx-cpu or native");
    refused("--device vulkan", "local-task");
    refused("--threads 0", "1..=256");
    refused("--threads 257", "1..=256");
    refused("--seed -1", "-1");
    refused("--candidate mlx", "iree, interp, recorded:FILE");
    refused("--reference iree", "mlx, recorded:FILE");
    refused("--reference recorded:", "mlx, recorded:FILE");
    refused("capture --side recorded:x --out y", "mlx, iree, interp");
    refused("capture --side mlx", "--out");
    refused("fixture --out d", "--config");
}

#[test]
fn a_stage_that_is_not_there_suggests_those_that_are() {
    let hint = "failed to find a boundary named sscp_conv_3; did you mean sscp_conv_0, sscp_conv_1";
    for command in ["", "run ", "stages ", "capture --side mlx --out f "] {
        refused(&format!("{command}--stage sscp_conv_3"), hint);
    }
    refused(
        "--stage sscp_conv_1 --stage sscp_*.nothing",
        "sscp_*.nothing",
    );
}

#[test]
fn a_bucket_that_is_none_or_too_small_is_refused() {
    let known = "auto, exact or one of 96, 192, 288, ";
    for bucket in ["97", "0", "-1", "all", "2998"] {
        refused(&format!("--bucket={bucket}"), known);
    }
    for command in ["", "stages ", "capture --side mlx --out f "] {
        refused(
            &format!("{command}--bucket 96"),
            "failed to choose bucket 96: the batch has 1097 frames",
        );
    }
    refused(
        "--bucket 960 --audio fixtures/audio/jfk.wav",
        "failed to choose bucket 960: the batch has 1097 frames",
    );
}

#[test]
fn a_fixture_that_is_not_there_lists_those_that_are() {
    refused(
        "--fixture tinny",
        "failed to find fixture \"tinny\": there are tiny, sscp-real, ",
    );
}

#[test]
fn arguments_that_exclude_each_other_are_refused() {
    refused("--seed 1 --checkpoint d --audio a.wav", "'--seed <N>'");
    refused("--fixture tiny --checkpoint d", "--fixture");
    refused("--audio a.wav --mel m", "--audio");
    refused("--mel m --padding left", "--padding");
    refused("--mel m --truncate", "--truncate");
}

#[test]
fn a_checkpoint_needs_something_to_run_on() {
    let reason = "--checkpoint needs --audio FILE or --mel FILE";
    refused("--checkpoint nowhere", reason);
    refused("stages --checkpoint fixtures/tiny", reason);
    refused("capture --side mlx --checkpoint d --out f", reason);
}

#[test]
fn what_states_no_order_is_not_interpreted() {
    let reason = "the native contract states no order";
    refused(
        "--interp on --contract native --report r.json --captures c",
        reason,
    );
    refused("--candidate interp --contract native", reason);
    refused("capture --side interp --contract native --out f", reason);
}
