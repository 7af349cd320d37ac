"""transformers' Gemma 3n with the weights of a checkpoint, without its vision tower."""

import json

import torch
from safetensors.torch import load_file
from transformers.models.gemma3n import modeling_gemma3n as gemma3n
from transformers.models.gemma3n.configuration_gemma3n import (
    Gemma3nAudioConfig,
    Gemma3nConfig,
    Gemma3nTextConfig,
    Gemma3nVisionConfig,
)


def load(checkpoint):
    """The model, widened to F32."""
    with open(f"{checkpoint}/config.json") as file:
        config = json.load(file)
    text, audio, vision = (
        {k: v for k, v in config[f"{part}_config"].items() if k != "model_type"}
        for part in ("text", "audio", "vision")
    )
    vision = {k: vision[k] for k in ("hidden_size", "vocab_size", "vocab_offset", "rms_norm_eps")}
    own = {k: v for k, v in config.items() if k.endswith(("token_id", "tokens_per_image"))}
    whole = Gemma3nConfig(
        text_config=Gemma3nTextConfig(**text),
        audio_config=Gemma3nAudioConfig(**audio),
        vision_config=Gemma3nVisionConfig(**vision),
        **own,
    )
    for part in (whole, whole.text_config, whole.audio_config):
        part._attn_implementation = "eager"
    model = without_vision(whole).float().eval()
    prefix = "model."
    weights = {
        name.removeprefix(prefix): tensor.float()
        for name, tensor in load_file(f"{checkpoint}/model.safetensors").items()
        if name.startswith(prefix)
    }
    missing, _ = model.load_state_dict(weights, strict=False)
    # Unexpected are only the keys and values of layers that share another's.
    assert not missing, missing
    return model


def without_vision(config):
    """A model of that configuration with nothing where the vision tower would be."""
    original = gemma3n.AutoModel.from_config

    def from_config(part, *arguments, **keywords):
        if part.model_type == "gemma3n_vision":
            return torch.nn.Identity()
        return original(part, *arguments, **keywords)

    gemma3n.AutoModel.from_config = from_config
    try:
        return gemma3n.Gemma3nModel(config)
    finally:
        gemma3n.AutoModel.from_config = original
