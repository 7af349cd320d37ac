//! Errors of the IREE runtime.

use super::handle::host_allocator;
use eerie_sys::runtime as sys;
use std::{fmt, ptr};

/// An error reported by the IREE runtime, in its own words: a code and what went wrong.
#[derive(Clone, PartialEq, Eq)]
pub struct Status {
    message: String,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Status {}

/// Takes over `status` and makes it a result.
pub(super) fn check(status: sys::iree_status_t) -> Result<(), Status> {
    if status.is_null() {
        return Ok(());
    }
    let allocator = host_allocator();
    let (mut text, mut length) = (ptr::null_mut(), 0);
    // SAFETY: `status` is a live status that the caller gave up; the text is allocated by
    // `allocator`, `length` bytes long, and freed by the same allocator once copied.
    let message = unsafe {
        let printed = sys::iree_status_to_string(status, &allocator, &mut text, &mut length);
        let message = if printed && !text.is_null() {
            let bytes = std::slice::from_raw_parts(text.cast::<u8>(), length);
            let message = without_build_path(&String::from_utf8_lossy(bytes));
            sys::iree_allocator_free(allocator, text.cast());
            message
        } else {
            "an error without a message".to_owned()
        };
        sys::iree_status_free(status);
        message
    };
    Err(Status { message })
}

/// IREE begins with the file it was compiled from; the part that names the build machine's folders
/// says nothing.
fn without_build_path(message: &str) -> String {
    const ROOT: &str = "/runtime/src/";
    let first = message.split(": ").next().unwrap_or_default();
    match first.find(ROOT) {
        Some(at) => message[at + ROOT.len()..].to_owned(),
        None => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_message_names_the_source_but_not_the_build_machine() {
        let cut = super::without_build_path;
        let tail = "iree/vm/context.c:12: NOT_FOUND; no function";
        assert_eq!(cut(&format!("/home/x/eerie/iree/runtime/src/{tail}")), tail);
        assert_eq!(
            cut("NOT_FOUND; see a: /runtime/src/"),
            "NOT_FOUND; see a: /runtime/src/"
        );
    }
}
