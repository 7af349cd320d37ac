"""Record the boundaries of the audio encoder from transformers' own modules, in F32.

usage: stages_torch.py CHECKPOINT DIRECTORY

Reads the features in DIRECTORY and writes there transformers-<input>-f32.safetensors: `input.mel`
and `input.mask` and the boundaries under the project's names. Missing are those that are no value
of transformers' (`mel_cast`, `lengths`) or another one (`masked`, where it puts the least F32).
"""

import sys
from importlib.metadata import version

import numpy as np
import torch
from transformers.models.gemma3n import modeling_gemma3n as gemma3n

import boundaries
from embedder import observe_embedder
from observe import Delegate, Observer, watched
from observe_encoder import observe_encoder, split_heads
from recording import describe, read_input, save
from torch_model import load

NOT_COMMON = ("mel_cast", "lengths", "masked")

checkpoint, directory = sys.argv[1:]
torch.set_grad_enabled(False)
torch.set_num_threads(1)


def stand_ins(watchers):
    nn = Delegate(torch.nn, {"functional": watched(torch.nn.functional, watchers)})
    library = watched(torch, watchers)
    library.nn = nn
    return {"torch": library, "nn": nn}


observer = Observer("forward", gemma3n, stand_ins)
model = load(checkpoint)


def observe_tower():
    original = gemma3n.Gemma3nAudioEncoder.forward

    def forward(self, *arguments, **keywords):
        output = original(self, *arguments, **keywords)
        observer.record("pooling", output.last_hidden_state)
        observer.record("mask", output.audio_mel_mask)
        return output

    gemma3n.Gemma3nAudioEncoder.forward = forward


def observe_tokens():
    original = gemma3n.Gemma3nModel.get_placeholder_mask

    def get_placeholder_mask(self, *arguments, audio_features, **keywords):
        observer.record("audio_tokens", audio_features)
        return original(self, *arguments, audio_features=audio_features, **keywords)

    gemma3n.Gemma3nModel.get_placeholder_mask = get_placeholder_mask


def channels_last(_, value):
    """[B,C,T',F'] to [B,T',F',C], [B,C,T'] to [B,T',C]."""
    return value.movedim(1, -1)


def observe():
    observe_encoder(observer, gemma3n.Gemma3nAudioCumulativeGroupNorm)
    observer.results(torch.nn.Linear, split_heads(observer))
    for cls in (torch.nn.Conv1d, torch.nn.Conv2d, gemma3n.Gemma3nAudioSSCPConvBlock):
        observer.results(cls, channels_last)
    for cls in (
        torch.nn.Embedding,
        gemma3n.Gemma3nRMSNorm,
        gemma3n.Gemma3nAudioCumulativeGroupNorm,
        gemma3n.Gemma3nAudioRelativePositionEmbedding,
        gemma3n.Gemma3nAudioAttention,
        gemma3n.Gemma3nAudioConformerAttention,
        gemma3n.Gemma3nAudioConformerFeedForward,
        gemma3n.Gemma3nAudioConformerLightConv1d,
        gemma3n.Gemma3nAudioConformerBlock,
    ):
        observer.results(cls)
    observe_embedder(observer, gemma3n.Gemma3nMultimodalEmbedder, lambda: model.embed_audio)
    observe_tower()
    observe_tokens()


def run(inputs):
    """Inputs and boundaries of one run."""
    config = model.config
    blocks = config.audio_config.conf_num_hidden_layers
    observer.attach(model.named_modules(), blocks, config.audio_config.conf_num_attention_heads)
    mel, mask = (torch.from_numpy(inputs[f"input.{name}"].copy()) for name in ("mel", "mask"))
    tokens = (len(mel), config.audio_soft_tokens_per_image)
    model(
        input_ids=torch.full(tokens, config.audio_token_id),
        input_features=mel,
        input_features_mask=mask,
        use_cache=False,
    )
    common = {n for n in boundaries.every(blocks) if n.rpartition(".")[2] not in NOT_COMMON}
    values = {name: value for name, value in observer.values.items() if name in common}
    assert values.keys() == common, common - values.keys()
    return {"input.mel": mel, "input.mask": mask, **values}


DTYPES = {torch.float32: "F32", torch.bool: "BOOL"}


def stored(value):
    """A tensor as the file takes it."""
    return DTYPES[value.dtype], np.array(value.numpy(), order="C")


observe()
for source in ("jfk", "left"):
    tensors = run(read_input(source, directory))
    notes = describe(
        source,
        checkpoint,
        torch=version("torch"),
        transformers=version("transformers"),
        profile="f32",
    )
    path = f"{directory}/transformers-{source}-f32.safetensors"
    save(path, {name: stored(value) for name, value in tensors.items()}, notes)
