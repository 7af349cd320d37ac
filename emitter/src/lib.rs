//! emitter
