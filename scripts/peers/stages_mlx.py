"""Record every boundary of the audio encoder from mlx-vlm's own modules.

usage: stages_mlx.py CHECKPOINT CHECKPOINT_4BIT DIRECTORY

Reads the features in DIRECTORY and writes there encoder-<input>-<profile>.safetensors for each
input and profile: `input.mel` and `input.mask` and the boundaries under the project's names, each
in its own dtype. What runs is `Model.get_input_embeddings` on a prompt of audio tokens. Recordings
with the 4-bit checkpoint begin at the pooling.
"""

import sys
from importlib.metadata import version

import mlx.core as mx
import mlx.nn as nn
import numpy as np
from mlx_vlm.models.gemma3n import audio, gemma3n

import boundaries
from embedder import observe_embedder
from mlx_model import PROFILES, Model, load_for
from observe import Observer, watched
from observe_encoder import observe_encoder, split_heads
from recording import describe, read_input, save

checkpoint, checkpoint_4bit, directory = sys.argv[1:]
mx.set_default_device(mx.cpu)

observer = Observer(
    "__call__",
    audio,
    lambda watchers: {"mx": watched(mx, watchers), "nn": watched(nn, watchers)},
)
model = None


def observe_tower():
    original = audio.AudioModel.__call__

    def call(self, mel, mask):
        pooling, padding = original(self, mel, mask)
        observer.record("pooling", pooling)
        observer.record("lengths", mx.sum(~padding, axis=1))
        observer.record("mask", padding)
        return pooling, padding

    audio.AudioModel.__call__ = call


def observe_tokens():
    original = Model.merge_multimodal_and_text

    def merge(embeddings, features, *rest, modality):
        observer.record("audio_tokens", features)
        return original(embeddings, features, *rest, modality=modality)

    Model.merge_multimodal_and_text = staticmethod(merge)


def observe():
    observe_encoder(observer, audio.Gemma3nCumulativeGroupNorm)
    for cls in (nn.Linear, nn.QuantizedLinear):
        observer.results(cls, split_heads(observer))
    for cls in (
        nn.Conv1d,
        nn.Conv2d,
        nn.Embedding,
        nn.QuantizedEmbedding,
        audio.Gemma3nRMSNorm,
        audio.Gemma3nCumulativeGroupNorm,
        audio.Gemma3nAudioRelativePositionEmbedding,
        audio.Gemma3nAudioAttention,
        audio.Gemma3nAudioConformerAttention,
        audio.Gemma3nAudioConformerFeedForward,
        audio.Gemma3nAudioConformerLightConv1d,
        audio.Gemma3nAudioConformerBlock,
    ):
        observer.results(cls)
    # A block returns [B,C,T',F'].
    observer.results(audio.Gemma3nAudioSSCPConvBlock, lambda _, x: x.transpose(0, 2, 3, 1))
    observe_embedder(observer, gemma3n.Gemma3nMultimodalEmbedder, lambda: model.embed_audio)
    observe_tower()
    observe_tokens()


def run(folder, profile, inputs):
    """Inputs and boundaries of one run."""
    global model
    model, dtype = load_for(profile, folder)
    config = model.config
    blocks = config.audio_config.conf_num_hidden_layers
    observer.attach(model.named_modules(), blocks, config.audio_config.conf_num_attention_heads)
    mel, mask = mx.array(inputs["input.mel"]), mx.array(inputs["input.mask"])
    observer.record("mel_cast", mel.astype(dtype))
    tokens = (len(mel), config.audio_soft_tokens_per_image)
    model.get_input_embeddings(
        input_ids=mx.full(tokens, config.audio_token_id),
        input_features=observer.values["mel_cast"],
        input_features_mask=mask,
    )
    assert observer.values.keys() == boundaries.every(blocks)
    return {"input.mel": mel, "input.mask": mask, **observer.values}


DTYPES = {mx.float32: "F32", mx.bfloat16: "BF16", mx.int32: "I32", mx.bool_: "BOOL"}


def stored(value):
    """An array as the file takes it."""
    bits = value.view(mx.uint16) if value.dtype == mx.bfloat16 else value
    return DTYPES[value.dtype], np.array(bits, order="C")


observe()
for source, folder in {
    "jfk": checkpoint,
    "left": checkpoint,
    "jfk4bit": checkpoint_4bit,
}.items():
    inputs = read_input(source, directory)
    for profile in PROFILES:
        tensors = run(folder, profile, inputs)
        if folder == checkpoint_4bit:
            tensors = {n: t for n, t in tensors.items() if boundaries.is_of_the_end(n)}
        notes = describe(
            source,
            folder,
            mlx=version("mlx"),
            mlx_vlm=version("mlx-vlm"),
            profile=profile,
        )
        path = f"{directory}/encoder-{source}-{profile}.safetensors"
        save(path, {name: stored(value) for name, value in tensors.items()}, notes)
