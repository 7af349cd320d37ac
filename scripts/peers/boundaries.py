"""The project's names for what the modules of both peers return and compute inside.

Both peers name their modules as the checkpoint does.
"""

NORM_STATISTICS = [
    "sum_at_time",
    "cumulative_sum",
    "mean",
    "squared_at_time",
    "cumulative_squared",
    "variance",
    "inverse_stddev",
]

# Below a conformer block: a module's path, the boundary its result is. A block's own result is
# that of its last norm.
FEED_FORWARD = {
    "": "",
    ".pre_layer_norm": ".pre_norm",
    ".ffw_layer_1": ".linear_1",
    ".ffw_layer_2": ".linear_2",
    ".post_layer_norm": ".post_norm",
}
ATTENTION = {
    "": "",
    ".pre_attn_norm": ".pre_norm",
    ".attn.q_proj": ".query",
    ".attn.k_proj": ".key",
    ".attn.v_proj": ".value",
    ".attn.relative_position_embedding.pos_proj": ".relative_key",
    ".attn.relative_position_embedding": ".logits",
    ".attn": ".context",
    ".post": ".post",
    ".post_norm": ".post_norm",
}
LIGHT_CONV = {
    "": "",
    ".pre_layer_norm": ".pre_norm",
    ".linear_start": ".linear_start",
    ".depthwise_conv1d": ".depthwise",
    ".conv_norm": ".conv_norm",
    ".linear_end": ".linear_end",
}
BLOCK = {
    "ffw_layer_start": ("feed_forward_start", FEED_FORWARD, ["silu"]),
    "attention": (
        "attention",
        ATTENTION,
        [
            "query_scale",
            "query_scaled",
            "position_signal",
            "content_logits",
            "relative_shift",
            "softcap",
            "masked",
            "probabilities",
        ],
    ),
    "lconv1d": ("light_conv", LIGHT_CONV, ["masked_input", "gate", "silu"]),
    "ffw_layer_end": ("feed_forward_end", FEED_FORWARD, ["silu"]),
}

# The embedder runs once on the encoder's result, `soft`, and once on the padding token, `hard`.
EMBEDDER = {
    "embedding": ("embedding", ["hard"]),
    "hard_embedding_norm": ("norm", ["hard"]),
    "soft_embedding_norm": ("norm", ["soft"]),
    "embedding_projection": ("linear", ["soft", "hard"]),
    "embedding_post_projection_norm": ("post_norm", ["soft", "hard"]),
}


def of_modules(blocks):
    """Boundaries by the paths of the modules whose results they are."""
    projection = "audio_tower.subsample_conv_projection"
    names = {f"{projection}.input_proj_linear": "input_projection"}
    for i in range(2):
        for part, ours in {"": "", ".conv": ".convolution", ".norm": ".norm"}.items():
            names[f"{projection}.conv_{i}{part}"] = f"sscp_conv_{i}{ours}"
    for i in range(blocks):
        names[f"audio_tower.conformer.{i}"] = f"conformer.{i}"
        for layer, (our_layer, parts, _) in BLOCK.items():
            for part, ours in parts.items():
                path = f"audio_tower.conformer.{i}.{layer}{part}"
                names[path] = f"conformer.{i}.{our_layer}{ours}"
    for module, (ours, _) in EMBEDDER.items():
        names[f"embed_audio.{module}"] = f"projection.{{}}_{ours}"
    return names


def every(blocks):
    """All boundaries of an encoder."""
    names = {name for name in of_modules(blocks).values() if not name.startswith("projection.")}
    names |= {"mel_cast", "pooling", "lengths", "mask", "audio_tokens"}
    names |= {f"sscp_conv_{i}.norm.{inner}" for i in range(2) for inner in NORM_STATISTICS}
    for layer, _, inside in BLOCK.values():
        names |= {f"conformer.{i}.{layer}.{inner}" for i in range(blocks) for inner in inside}
    for ours, passes in EMBEDDER.values():
        names |= {f"projection.{each}_{ours}" for each in passes}
    return names


def is_of_the_end(name):
    """Whether a boundary, or an input, is at or behind the encoder's pooling."""
    own = ("input.", "pooling", "lengths", "mask", "projection.", "audio_tokens")
    return name.startswith(own)
