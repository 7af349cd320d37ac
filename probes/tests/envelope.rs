//! Sets of reachable sums are those of all trees, schedules are among them, and one schedule is
//! told from another by many sums at once.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests, which clippy takes for production code"
)]

#[path = "envelope/exact.rs"]
mod exact;
#[path = "envelope/four_channels.rs"]
mod four_channels;
#[path = "envelope/numbers.rs"]
mod numbers;
#[path = "envelope/orders.rs"]
mod orders;
#[path = "envelope/schedules.rs"]
mod schedules;
#[path = "envelope/steps.rs"]
mod steps;
#[path = "envelope/trees.rs"]
mod trees;
