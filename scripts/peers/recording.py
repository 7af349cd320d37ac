"""The inputs of the recordings of the encoder, and their files."""

import hashlib
import json
import math
import platform

import numpy as np
from safetensors.numpy import load_file

# name: (file, prefix of its tensors, clips, frames, what it is)
INPUTS = {
    "jfk": ("mel-jfk", "", slice(None), 53, "the first 53 frames of mel-jfk.safetensors"),
    "left": (
        "mel-synthetic",
        "batch.left.",
        slice(1, 3),
        49,
        "the first 49 frames of clips 1 and 2 (loud, clipped; left padded) of batch.left in "
        "mel-synthetic.safetensors",
    ),
    "jfk4bit": ("mel-jfk", "", slice(None), 96, "the first 96 frames of mel-jfk.safetensors"),
}


def read_input(name, directory):
    """`input.mel` [B,T,128] F32 and `input.mask` [B,T] BOOL, True for valid frames."""
    file, prefix, clips, frames, _ = INPUTS[name]
    tensors = load_file(f"{directory}/{file}.safetensors")
    mel = tensors[f"{prefix}mel"][clips, :frames]
    valid = tensors[f"{prefix}valid"][clips, :frames]
    return {"input.mel": mel, "input.mask": valid.astype(bool)}


def describe(name, checkpoint, **notes):
    """What a recording's file says about itself."""
    with open(f"{checkpoint}/model.safetensors", "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {
        "checkpoint_sha256": digest,
        "input": INPUTS[name][-1],
        "device": "cpu",
        "machine": platform.machine(),
        **notes,
    }


DTYPES = {"F32": np.float32, "BF16": np.uint16, "I32": np.int32, "BOOL": np.bool_}


def save(path, tensors, metadata):
    """Writes safetensors, the same bytes for the same values: `tensors` are pairs of a dtype and an
    array, BF16 as its bits. Wide elements come first, so that all are aligned."""
    header = {"__metadata__": {**metadata, "order": json.dumps(list(tensors))}}
    placed = sorted(tensors.items(), key=lambda item: -item[1][1].itemsize)
    end = 0
    for name, (dtype, array) in placed:
        assert array.dtype == DTYPES[dtype], (name, dtype, array.dtype)
        assert array.nbytes == math.prod(array.shape) * array.itemsize
        header[name] = {
            "dtype": dtype,
            "shape": array.shape,
            "data_offsets": [end, end + array.nbytes],
        }
        end += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _, (_, array) in placed:
            file.write(array.tobytes())
    print(path.rpartition("/")[2], len(tensors), "tensors,", end, "bytes")
