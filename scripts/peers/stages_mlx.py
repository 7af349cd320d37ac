"""Run mlx-vlm's own SSCP modules on a recorded mel and keep every boundary.

usage: stages_mlx.py CHECKPOINT MEL_DIR OUT_DIR

For each profile (bf16, mixed, f32) and each input writes OUT_DIR/sscp-<input>-<profile>.safetensors:
the input `mel` [B,T,128] F32 and the boundaries under the project's names, each in its own dtype.
Convolutions, norms and ReLUs are [B,T',F',C], the norm's inner values [B,T',1,1].

The modules run as shipped. Their calls are observed from outside: `__call__` of each module, and
for the inside of the cumulative norm the module's `mx` name, which is replaced by a stand-in that
records what `sum`, `cumsum` and `rsqrt` return and what a running sum gives when it is divided.
"""

import hashlib
import json
import platform
import sys
from importlib.metadata import version

import mlx.core as mx
import mlx.nn as nn
import mlx_vlm.models.gemma3n.audio as audio
from mlx.utils import tree_map
from mlx_vlm.models.gemma3n.config import AudioConfig

JFK_FRAMES = 96
PROFILES = {
    # name: (weights as stored, mel cast to BF16, constants of the conformer cast to BF16)
    "bf16": (True, True, True),
    "mixed": (True, True, False),
    "f32": (False, False, False),
}

checkpoint, mel_dir, out = sys.argv[1:]
mx.set_default_device(mx.cpu)

captured = {}
norm_name = None


def record(name, value):
    assert name not in captured, f"{name} was captured twice"
    captured[name] = value


class RunningSum:
    """What `mx.cumsum` returned, watched for the one thing mlx-vlm does with it: divide."""

    def __init__(self, value, quotient):
        self.value, self.quotient = value, quotient

    def __truediv__(self, count):
        result = self.value / count
        record(f"{norm_name}.{self.quotient}", result)
        return result


class ObservedMx:
    """`mlx.core` as the audio module sees it while a cumulative norm runs."""

    # In call order; the second sum and the second cumsum count elements.
    SUMS = ["sum_at_time", None, "squared_at_time"]
    CUMSUMS = [("cumulative_sum", "mean"), None, ("cumulative_squared", "variance")]

    def begin(self):
        self.sums, self.cumsums = iter(self.SUMS), iter(self.CUMSUMS)

    def __getattr__(self, name):
        return getattr(mx, name)

    def sum(self, *arguments, **keywords):
        result = mx.sum(*arguments, **keywords)
        name = next(self.sums)
        if name:
            record(f"{norm_name}.{name}", result)
        return result

    def cumsum(self, *arguments, **keywords):
        result = mx.cumsum(*arguments, **keywords)
        names = next(self.cumsums)
        if not names:
            return result
        record(f"{norm_name}.{names[0]}", result)
        return RunningSum(result, names[1])

    def rsqrt(self, *arguments, **keywords):
        result = mx.rsqrt(*arguments, **keywords)
        record(f"{norm_name}.inverse_stddev", result)
        return result


observed = ObservedMx()


def observe(cls, names, transpose=None):
    """Records what each module of `cls` in `names` (by identity) returns."""
    original = cls.__call__

    def call(self, *arguments, **keywords):
        result = original(self, *arguments, **keywords)
        if name := names.get(id(self)):
            record(name, result.transpose(*transpose) if transpose else result)
        return result

    cls.__call__ = call


def observe_norm():
    original = audio.Gemma3nCumulativeGroupNorm.__call__

    def call(self, *arguments, **keywords):
        global norm_name
        norm_name = names[id(self)]
        observed.begin()
        audio.mx = observed
        try:
            return original(self, *arguments, **keywords)
        finally:
            audio.mx, norm_name = mx, None

    audio.Gemma3nCumulativeGroupNorm.__call__ = call


names = {}
observe_norm()
observe(nn.Conv2d, names)
observe(nn.Linear, names)
observe(audio.Gemma3nCumulativeGroupNorm, names)
# A block returns [B,C,T',F'].
observe(audio.Gemma3nAudioSSCPConvBlock, names, transpose=(0, 2, 3, 1))


def tower(as_stored, bf16_constants):
    """The audio tower with the checkpoint's weights, loaded by mlx-vlm's own rules."""
    with open(f"{checkpoint}/config.json") as file:
        model = audio.AudioModel(AudioConfig.from_dict(json.load(file)["audio_config"]))
    stored = mx.load(f"{checkpoint}/model.safetensors")
    prefix = "model.audio_tower."
    weights = {k.removeprefix(prefix): v for k, v in stored.items() if k.startswith(prefix)}
    model.load_weights(list(model.sanitize(weights).items()), strict=True)
    if not as_stored:
        model.update(tree_map(lambda p: p.astype(mx.float32), model.parameters()))
    if bf16_constants:
        for _, module in model.named_modules():
            for name in ("_gradient_clipping", "_post_layer_scale", "_q_scale", "_softcap"):
                if name in module.__dict__ or name in module:
                    setattr(module, name, getattr(module, name).astype(mx.bfloat16))
    model.eval()
    return model


def run(profile, mel):
    as_stored, bf16_mel, bf16_constants = PROFILES[profile]
    projection = tower(as_stored, bf16_constants).subsample_conv_projection
    captured.clear()
    names.clear()
    for i, block in enumerate((projection.conv_0, projection.conv_1)):
        names[id(block)] = f"sscp_conv_{i}"
        names[id(block.conv)] = f"sscp_conv_{i}.convolution"
        names[id(block.norm)] = f"sscp_conv_{i}.norm"
    names[id(projection.input_proj_linear)] = "input_projection"
    record("mel", mel)
    record("mel_cast", mel.astype(mx.bfloat16) if bf16_mel else mel)
    projection(captured["mel_cast"])
    assert len(captured) == 2 + 2 * (3 + 7) + 1, sorted(captured)
    return {name: mx.contiguous(value) for name, value in captured.items()}


with open(f"{checkpoint}/model.safetensors", "rb") as file:
    digest = hashlib.file_digest(file, "sha256").hexdigest()
inputs = {
    "jfk": (
        mx.load(f"{mel_dir}/mel-jfk.safetensors")["mel"][:, :JFK_FRAMES],
        f"the first {JFK_FRAMES} frames of mel-jfk.safetensors",
    ),
    "left": (
        mx.load(f"{mel_dir}/mel-synthetic.safetensors")["batch.left.mel"][1:3],
        "clips 1 and 2 (loud, clipped; left padded) of batch.left.mel in mel-synthetic.safetensors",
    ),
}
for source, (mel, description) in inputs.items():
    for profile in PROFILES:
        tensors = run(profile, mel)
        metadata = {
            "checkpoint_sha256": digest,
            "input": description,
            "mlx": version("mlx"),
            "mlx_vlm": version("mlx-vlm"),
            "device": "cpu",
            "machine": platform.machine(),
            "profile": profile,
            "order": json.dumps(list(tensors)),
        }
        mx.save_safetensors(f"{out}/sscp-{source}-{profile}.safetensors", tensors, metadata)
        print(f"sscp-{source}-{profile}", sum(t.nbytes for t in tensors.values()), "bytes")
