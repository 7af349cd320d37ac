//! The `mlx` side walks our restatement of the model. mlx-vlm's own modules must give its bits,
//! transformers' its values up to the order of additions.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests, which clippy takes for production code"
)]

mod live;
mod mlx_vlm;
mod transformers;
