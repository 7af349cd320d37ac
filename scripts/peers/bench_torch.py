"""Time transformers' Gemma3nAudioEncoder; see scripts/bench-torch.

The speech of mel-jfk, repeated or cut to each number of frames, none of them padding. Sizes are
taken in turn, so that a slow spell meets all; the first round warms up and is not counted.
"""

import argparse
import json
from importlib.metadata import version
from statistics import median
from time import perf_counter

import numpy as np
import torch
from safetensors.numpy import load_file
from transformers.models.gemma3n.configuration_gemma3n import Gemma3nAudioConfig
from transformers.models.gemma3n.modeling_gemma3n import Gemma3nAudioEncoder

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("fixtures")
parser.add_argument("--frames", type=int, action="append")
parser.add_argument("--blocks", type=int, default=12)
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--rounds", type=int, default=5)
options = parser.parse_args()


def encoder():
    """The encoder of Gemma 3n E2B, which is E4B's too, with random weights."""
    with open(f"{options.fixtures}/sscp-real/config.json") as file:
        config = json.load(file)["audio_config"]
    del config["model_type"]
    config["conf_num_hidden_layers"] = options.blocks
    torch.manual_seed(0)
    return Gemma3nAudioEncoder(Gemma3nAudioConfig(**config)).eval()


def features(frames):
    mel = load_file(f"{options.fixtures}/recorded/mel-jfk.safetensors")["mel"]
    taken = np.take(mel, np.arange(frames) % mel.shape[1], axis=1)
    return torch.from_numpy(taken), torch.zeros(1, frames, dtype=torch.bool)


torch.set_num_threads(options.threads)
sizes = options.frames or [188, 1097, 2997]
seconds = {frames: [] for frames in sizes}
with torch.inference_mode():
    model = encoder()
    assert {p.dtype for p in model.parameters()} == {torch.float32}
    inputs = {frames: features(frames) for frames in sizes}
    for counted in range(options.rounds + 1):
        for frames, (mel, padding) in inputs.items():
            begin = perf_counter()
            output = model(mel, padding)
            end = perf_counter()
            assert output.last_hidden_state.isfinite().all()
            if counted:
                seconds[frames].append(end - begin)

runs = [{"frames": f, "seconds": median(s), "min": min(s)} for f, s in seconds.items()]
print(
    json.dumps(
        {
            "torch": version("torch"),
            "transformers": version("transformers"),
            "threads": options.threads,
            "blocks": options.blocks,
            "rounds": options.rounds,
            "runs": runs,
        }
    )
)
