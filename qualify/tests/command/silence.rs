//! A recording on which equality proves nothing.

use hound::SampleFormat;

use crate::{audio::wav, harness::Place};

#[test]
fn silence_is_vacuous_where_the_reference_is_constant() {
    let place = Place::new();
    place.put("silence.wav", &wav(SampleFormat::Int, 16, &[0_i16; 16_000]));
    place
        .run(
            "--audio silence.wav --bucket exact --stage mel_cast \
             --stage sscp_conv_0.convolution --report r.json",
        )
        .exits(3)
        .prints("1 of 2 boundaries bit-exact, 1 vacuous")
        .prints("the reference is constant or nowhere finite in 1 boundary, the first mel_cast")
        .prints("equality proves nothing");
    let report = place.json("r.json");
    assert_eq!(report["verdict"], "vacuous");
    assert_eq!(report["exit_code"], 3);
    let [mel, convolution] = [0, 1].map(|i| &report["boundaries"][i]);
    assert_eq!(mel["verdict"], "vacuous");
    assert_eq!(mel["local"]["verdict"], "vacuous");
    assert_eq!(mel["inherited"]["differing"], 0);
    // The zeros that pad it make its borders differ from its middle.
    assert_eq!(convolution["verdict"], "bit_exact");
}
