"""Quantise a checkpoint as mlx-vlm does: affine, 4 bits, groups of 64.

usage: tiny_4bit.py CHECKPOINT OUT_DIR

Every linear layer and embedding whose rows are whole groups is quantised, except in the audio
tower and whatever belongs to vision; of the audio tensors that is `embed_audio.embedding` and
`embed_audio.embedding_projection`. Names and layout are MLX's.
"""

import json
import shutil
import sys
from pathlib import Path

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_flatten
from mlx_vlm.utils import skip_multimodal_module

from mlx_model import load

QUANTIZATION = {"group_size": 64, "bits": 4, "mode": "affine"}

checkpoint, out = map(Path, sys.argv[1:])
mx.set_default_device(mx.cpu)
out.mkdir(exist_ok=True)


def is_quantised(path, module):
    return (
        hasattr(module, "to_quantized")
        and not skip_multimodal_module(path)
        and module.weight.shape[-1] % QUANTIZATION["group_size"] == 0
    )


model = load(checkpoint)
nn.quantize(model, **QUANTIZATION, class_predicate=is_quantised)
tensors = dict(tree_flatten(model.parameters()))
mx.save_safetensors(str(out / "model.safetensors"), tensors, {"format": "mlx"})

config = json.loads((checkpoint / "config.json").read_text())
config["quantization"] = config["quantization_config"] = QUANTIZATION
(out / "config.json").write_text(json.dumps(config, indent=2) + "\n")
shutil.copyfile(checkpoint / "preprocessor_config.json", out / "preprocessor_config.json")

audio = [name for name in tensors if name.startswith(("audio_tower.", "embed_audio."))]
quantised = [name for name in tensors if name.endswith(".scales")]
print(f"{out.name}: {len(tensors)} tensors, {len(audio)} of audio, {len(quantised)} quantised")
