"""Record transformers' own Gemma3nAudioFeatureExtractor on the recording and the synthetic clips.

usage: mel_transformers.py JFK.wav OUT_DIR

Writes mel-jfk.safetensors (`mel` [1,T,128] F32, `valid` [1,T] U8) and mel-synthetic.safetensors
(`<clip>.<side>.mel`, `<clip>.<side>.valid`; clip `batch` is all of them together; and the
extractor's `window` [512] F32).

NumPy's F32 cosine, and with it the window, depends on the processor: a polynomial in fused
multiply-adds where x86 has them, something else elsewhere. Record on x86 with AVX2 and FMA or
AVX-512, for which the test of the window stands.
"""

import sys
from importlib.metadata import version

import numpy as np
from safetensors.numpy import save_file
from transformers import Gemma3nAudioFeatureExtractor

from clips import BATCH, recording, synthetic

jfk_path, out = sys.argv[1:]


def extract(waves, side):
    features = Gemma3nAudioFeatureExtractor(padding_side=side)(waves, return_tensors="np")
    mel, valid = features["input_features"], features["input_features_mask"]
    assert mel.dtype == np.float32 and valid.dtype == bool
    return np.ascontiguousarray(mel), np.ascontiguousarray(valid).astype(np.uint8)


def save(name, tensors):
    # One entry: safetensors writes several in an order of its own each time.
    made_by = ", ".join(f"{peer} {version(peer)}" for peer in ("transformers", "numpy"))
    save_file(tensors, f"{out}/{name}.safetensors", {"recorded_with": made_by})
    print(name, sum(t.nbytes for t in tensors.values()), "bytes")


jfk = recording(jfk_path)
left, right = extract([jfk], "left"), extract([jfk], "right")
# 176000 samples are a multiple of 128: nothing is padded, so one side stands for both.
assert all(np.array_equal(a, b) for a, b in zip(left, right))
save("mel-jfk", {"mel": right[0], "valid": right[1]})

tensors = {"window": Gemma3nAudioFeatureExtractor().window}
for side in ("left", "right"):
    for name in [*BATCH, "batch"]:
        waves = [synthetic(kind) for kind in (BATCH if name == "batch" else [name])]
        tensors[f"{name}.{side}.mel"], tensors[f"{name}.{side}.valid"] = extract(waves, side)
save("mel-synthetic", tensors)
