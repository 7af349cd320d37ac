"""mlx-vlm's Gemma 3n with the weights of a checkpoint, without its vision tower."""

import json

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_map
from mlx_vlm.models.gemma3n import audio, gemma3n, language
from mlx_vlm.models.gemma3n.config import AudioConfig, ModelConfig, TextConfig, VisionConfig

PROFILES = {
    # name: (weights as stored, mel cast to BF16, constants of the conformer cast to BF16)
    "bf16": (True, True, True),
    "mixed": (True, True, False),
    "f32": (False, False, False),
}
CONSTANTS = ("_gradient_clipping", "_post_layer_scale", "_q_scale", "_softcap")


class Model(gemma3n.Model):
    """All of `gemma3n.Model` but the vision tower, which no fixture has weights for."""

    def __init__(self, config):
        nn.Module.__init__(self)
        text = config.text_config
        self.model_type, self.config = config.model_type, config
        self.vocab_size = text.vocab_size
        self.vocab_size_per_layer_input = text.vocab_size_per_layer_input
        self.language_model = language.LanguageModel(text)
        self.embed_vision = gemma3n.Gemma3nMultimodalEmbedder(config.vision_config, text)
        self.audio_tower = audio.AudioModel(config.audio_config)
        self.embed_audio = gemma3n.Gemma3nMultimodalEmbedder(config.audio_config, text)


def load(checkpoint):
    """The model with a checkpoint's weights as stored, named and laid out by mlx-vlm's rules."""
    with open(f"{checkpoint}/config.json") as file:
        json_config = json.load(file)
    config = ModelConfig.from_dict(json_config)
    config.text_config = TextConfig.from_dict(json_config["text_config"])
    config.audio_config = AudioConfig.from_dict(json_config["audio_config"])
    config.vision_config = VisionConfig.from_dict(json_config["vision_config"])
    model = Model(config)
    weights = mx.load(f"{checkpoint}/model.safetensors")
    for part in (model, model.audio_tower, model.language_model):
        weights = part.sanitize(weights)
    if quantization := json_config.get("quantization"):
        nn.quantize(
            model,
            **quantization,
            class_predicate=lambda path, _: f"{path}.scales" in weights,
        )
    model.load_weights(list(weights.items()), strict=True)
    model.eval()
    return model


def load_for(profile, checkpoint):
    """The model as a profile wants it, and the dtype of its features."""
    as_stored, bf16_mel, bf16_constants = PROFILES[profile]
    model = load(checkpoint)
    if not as_stored:
        model.update(tree_map(widened, model.parameters()))
    if bf16_constants:
        for _, module in model.named_modules():
            for name in CONSTANTS:
                if name in module.__dict__ or name in module:
                    setattr(module, name, getattr(module, name).astype(mx.bfloat16))
    return model, mx.bfloat16 if bf16_mel else mx.float32


def widened(parameter):
    floating = mx.issubdtype(parameter.dtype, mx.floating)
    return parameter.astype(mx.float32) if floating else parameter
