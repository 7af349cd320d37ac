//! Which values of a boundary belong to the batch.

/// How a boundary's values lie in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// No axis depends on the number of frames.
    Whole,
    /// Axis 1 is time, one row for this many frames of the input, the last for what is left.
    Rows(usize),
    /// As `Rows(4)`, but for rows that are blind ([`crate::compare::is_blind`]): frames of padding
    /// that see no valid frame and so read every slot of their chunk alike. Where the last chunk
    /// reaches beyond the batch, the reference has zeros there and a bucket has other frames. Such
    /// a row is set to zero before another row reads it, but a zero may keep its sign for a while.
    Attended,
    /// `[clips, heads, chunks, queries, slots]`: all slots of the batch's queries.
    Queries,
    /// The same, but only slots that do not hold keys from behind the batch.
    Keys,
}

use Extent::{Attended, Keys, Queries, Rows, Whole};

/// Every boundary by name, `N` for the number of a block.
pub const TABLE: [(Extent, &[&str]); 14] = [
    (Rows(1), &["mel_cast"]),
    (
        Rows(2),
        &[
            "sscp_conv_0.convolution",
            "sscp_conv_0.norm.sum_at_time",
            "sscp_conv_0.norm.cumulative_sum",
            "sscp_conv_0.norm.mean",
            "sscp_conv_0.norm.squared_at_time",
            "sscp_conv_0.norm.cumulative_squared",
            "sscp_conv_0.norm.variance",
            "sscp_conv_0.norm.inverse_stddev",
            "sscp_conv_0.norm",
            "sscp_conv_0",
        ],
    ),
    (
        Rows(4),
        &[
            "sscp_conv_1.convolution",
            "sscp_conv_1.norm.sum_at_time",
            "sscp_conv_1.norm.cumulative_sum",
            "sscp_conv_1.norm.mean",
            "sscp_conv_1.norm.squared_at_time",
            "sscp_conv_1.norm.cumulative_squared",
            "sscp_conv_1.norm.variance",
            "sscp_conv_1.norm.inverse_stddev",
            "sscp_conv_1.norm",
            "sscp_conv_1",
            "input_projection",
        ],
    ),
    (
        Rows(4),
        &[
            "conformer.N.feed_forward_start.pre_norm",
            "conformer.N.feed_forward_start.linear_1",
            "conformer.N.feed_forward_start.silu",
            "conformer.N.feed_forward_start.linear_2",
            "conformer.N.feed_forward_start.post_norm",
            "conformer.N.feed_forward_start",
            "conformer.N.attention.pre_norm",
            "conformer.N.attention.query",
            "conformer.N.attention.key",
            "conformer.N.attention.value",
            "conformer.N.attention.query_scaled",
        ],
    ),
    (
        Whole,
        &[
            "conformer.N.attention.query_scale",
            "conformer.N.attention.position_signal",
            "conformer.N.attention.relative_key",
        ],
    ),
    (Queries, &["conformer.N.attention.relative_shift"]),
    (
        Keys,
        &[
            "conformer.N.attention.content_logits",
            "conformer.N.attention.logits",
            "conformer.N.attention.softcap",
        ],
    ),
    (
        Queries,
        &[
            "conformer.N.attention.masked",
            "conformer.N.attention.probabilities",
        ],
    ),
    (
        Attended,
        &[
            "conformer.N.attention.context",
            "conformer.N.attention.post",
            "conformer.N.attention.post_norm",
            "conformer.N.attention",
            "conformer.N.light_conv.masked_input",
            "conformer.N.light_conv.pre_norm",
        ],
    ),
    (
        Rows(4),
        &[
            "conformer.N.light_conv.linear_start",
            "conformer.N.light_conv.gate",
            "conformer.N.light_conv.depthwise",
            "conformer.N.light_conv.conv_norm",
            "conformer.N.light_conv.silu",
            "conformer.N.light_conv.linear_end",
            "conformer.N.light_conv",
        ],
    ),
    (
        Rows(4),
        &[
            "conformer.N.feed_forward_end.pre_norm",
            "conformer.N.feed_forward_end.linear_1",
            "conformer.N.feed_forward_end.silu",
            "conformer.N.feed_forward_end.linear_2",
            "conformer.N.feed_forward_end.post_norm",
            "conformer.N.feed_forward_end",
            "conformer.N",
        ],
    ),
    (
        Rows(16),
        &[
            "pooling",
            "mask",
            "projection.soft_norm",
            "projection.soft_linear",
            "projection.soft_post_norm",
        ],
    ),
    (
        Whole,
        &[
            "projection.hard_embedding",
            "projection.hard_norm",
            "projection.hard_linear",
            "projection.hard_post_norm",
        ],
    ),
    (Whole, &["lengths", "audio_tokens"]),
];

/// The extent of a boundary; panics for a name that the table lacks.
pub fn of(name: &str) -> Extent {
    let general = general(name);
    let found = TABLE
        .iter()
        .find(|(_, names)| names.contains(&general.as_str()));
    let (extent, _) = found.unwrap_or_else(|| panic!("{name} is not in the table"));
    *extent
}

/// The name with `N` for the number of a block.
pub fn general(name: &str) -> String {
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let parts = name.split('.');
    let parts: Vec<&str> = parts
        .map(|part| if is_number(part) { "N" } else { part })
        .collect();
    parts.join(".")
}
