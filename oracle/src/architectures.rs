//! For which GPUs a CUDA library has code: read from the library, before anything is loaded.
//!
//! nvcc puts the device code of a library into its section `.nv_fatbin`: containers, each a header
//! (magic, version, its own length, length of what follows) and entries, each a header (kind,
//! length of header and payload, architecture, flags) and its payload. Machine code runs on its
//! own major architecture from its minor one up, or on exactly one if it was compiled for
//! architecture-specific features (`sm_90a`); PTX is compiled on any GPU from its architecture up.

use std::{collections::BTreeSet, fmt, fs::File, path::Path, path::PathBuf};

use memmap2::Mmap;
use object::{Object, ObjectSection};

/// Device code for one architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Architecture {
    /// Ten times the major plus the minor number of the compute capability.
    pub number: u32,
    /// Whether it uses features of that one architecture alone (the `a` of `sm_90a`).
    pub specific: bool,
    /// Whether it is PTX, which the driver still has to compile.
    pub ptx: bool,
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.ptx { "compute" } else { "sm" };
        let specific = if self.specific { "a" } else { "" };
        write!(f, "{kind}_{}{specific}", self.number)
    }
}

impl Architecture {
    /// Whether it runs on a device of this compute capability, times ten.
    #[must_use]
    pub const fn runs_on(self, device: u32) -> bool {
        match (self.specific, self.ptx) {
            (true, _) => self.number == device,
            (false, true) => self.number <= device,
            (false, false) => self.number <= device && self.number / 10 == device / 10,
        }
    }
}

/// Why a library's device code cannot be listed. Completes "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum ArchitectureError {
    /// The file cannot be read.
    #[error("read the library {}", path.display())]
    Read {
        /// The library.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The file is no ELF library.
    #[error("read the library {}", path.display())]
    Elf {
        /// The library.
        path: PathBuf,
        /// What is wrong.
        #[source]
        source: object::Error,
    },
    /// The section of device code is not laid out as it should be.
    #[error("read the device code of {}: {what} at byte {at}", path.display())]
    Layout {
        /// The library.
        path: PathBuf,
        /// What is wrong.
        what: &'static str,
        /// Where in the section.
        at: usize,
    },
}

/// The architectures a library has code for, ascending; none if it has no device code.
///
/// # Errors
/// When the file cannot be read, is no ELF library, or its device code is malformed.
pub fn architectures(library: &Path) -> Result<Vec<Architecture>, ArchitectureError> {
    let path = || library.to_owned();
    let file = File::open(library).map_err(|source| ArchitectureError::Read {
        path: path(),
        source,
    })?;
    // SAFETY: the mapping is only read; a library that is cut short while it is mapped would end
    // this process, as it would every process that has loaded it.
    let bytes = unsafe { Mmap::map(&file) }.map_err(|source| ArchitectureError::Read {
        path: path(),
        source,
    })?;
    let elf = |source| ArchitectureError::Elf {
        path: path(),
        source,
    };
    let parsed = object::File::parse(&*bytes).map_err(elf)?;
    let Some(section) = parsed.section_by_name(".nv_fatbin") else {
        return Ok(Vec::new());
    };
    let code = section.data().map_err(elf)?;
    let found = in_section(code).map_err(|(what, at)| ArchitectureError::Layout {
        path: path(),
        what,
        at,
    })?;
    Ok(found.into_iter().collect())
}

/// What begins a container.
const MAGIC: u32 = 0xBA55_ED50;

/// Containers are aligned to this many bytes.
const ALIGNMENT: usize = 8;

/// The flag of an entry that is for one architecture alone.
const SPECIFIC: u64 = 1 << 20;

type Malformed = (&'static str, usize);

fn in_section(code: &[u8]) -> Result<BTreeSet<Architecture>, Malformed> {
    let mut found = BTreeSet::new();
    let mut at = 0;
    while let Some(magic) = number(code, at, 4) {
        if magic != u64::from(MAGIC) {
            // Padding between containers.
            at += ALIGNMENT;
            continue;
        }
        let header = number(code, at + 6, 2).ok_or(("a header that is cut short", at))?;
        let body = number(code, at + 8, 8).ok_or(("a header that is cut short", at))?;
        let start = advance(at, header, code).ok_or(("a header that is cut short", at))?;
        let end = advance(start, body, code).ok_or(("a container longer than the section", at))?;
        let mut entry = start;
        while entry < end {
            let (architecture, next) = entry_at(&code[..end], entry)?;
            found.extend(architecture);
            entry = next;
        }
        at = end.max(at + ALIGNMENT);
    }
    Ok(found)
}

/// The architecture of an entry, if it is of machine code or PTX, and where the next one begins.
fn entry_at(code: &[u8], at: usize) -> Result<(Option<Architecture>, usize), Malformed> {
    let cut_short = ("an entry that is cut short", at);
    let field = |offset: usize, bytes: usize| number(code, at + offset, bytes).ok_or(cut_short);
    let (kind, header, payload) = (field(0, 2)?, field(4, 4)?, field(8, 8)?);
    let (architecture, flags) = (field(28, 4)?, field(40, 8)?);
    if header == 0 {
        return Err(("an entry without a header", at));
    }
    let next = advance(at, header, code)
        .and_then(|body| advance(body, payload, code))
        .ok_or(cut_short)?;
    let known = matches!(kind, 1 | 2).then_some(Architecture {
        number: architecture as u32,
        specific: flags & SPECIFIC != 0,
        ptx: kind == 1,
    });
    Ok((known, next))
}

/// `at + by`, if that lies within the bytes.
fn advance(at: usize, by: u64, code: &[u8]) -> Option<usize> {
    let to = at.checked_add(usize::try_from(by).ok()?)?;
    (to <= code.len()).then_some(to)
}

/// A little-endian number of this many bytes.
fn number(code: &[u8], at: usize, bytes: usize) -> Option<u64> {
    let bytes = code.get(at..at.checked_add(bytes)?)?;
    Some(
        bytes
            .iter()
            .rev()
            .fold(0, |n, &byte| n << 8 | u64::from(byte)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An entry as nvcc writes it, of `payload` bytes.
    fn entry(kind: u16, architecture: u32, flags: u64, payload: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(kind.to_le_bytes());
        bytes.extend(0x0101u16.to_le_bytes());
        bytes.extend(64u32.to_le_bytes());
        bytes.extend((payload as u64).to_le_bytes());
        bytes.extend([0; 12]);
        bytes.extend(architecture.to_le_bytes());
        bytes.extend([0; 8]);
        bytes.extend(flags.to_le_bytes());
        bytes.resize(64 + payload, 0xAA);
        bytes
    }

    fn container(entries: &[Vec<u8>]) -> Vec<u8> {
        let body = entries.concat();
        let mut bytes = MAGIC.to_le_bytes().to_vec();
        bytes.extend(1u16.to_le_bytes());
        bytes.extend(16u16.to_le_bytes());
        bytes.extend((body.len() as u64).to_le_bytes());
        bytes.extend(body);
        bytes
    }

    fn names(code: &[u8]) -> Vec<String> {
        let found = in_section(code).unwrap();
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn machine_code_and_ptx_are_listed_once_each_ascending() {
        let (plain, specific) = (0x8011, 0x0110_8011);
        let mut code = container(&[
            entry(2, 90, specific, 24),
            entry(2, 80, plain, 8),
            entry(1, 120, plain, 40),
        ]);
        code.extend([0; 8]);
        code.extend(container(&[
            entry(2, 80, plain, 16),
            entry(2, 121, specific, 0),
        ]));
        assert_eq!(names(&code), ["sm_80", "sm_90a", "compute_120", "sm_121a"]);
    }

    #[test]
    fn a_device_runs_what_was_compiled_for_it_or_can_be() {
        let code = |number, specific, ptx| Architecture {
            number,
            specific,
            ptx,
        };
        assert!(code(80, false, false).runs_on(89));
        assert!(!code(80, false, false).runs_on(90));
        assert!(!code(90, true, false).runs_on(121));
        assert!(code(90, true, false).runs_on(90));
        assert!(code(120, false, true).runs_on(121));
        assert!(!code(120, false, true).runs_on(90));
    }

    #[test]
    fn what_is_cut_short_or_lies_about_its_length_is_refused() {
        let whole = container(&[entry(2, 80, 0x8011, 24)]);
        for len in 4..whole.len() {
            assert!(in_section(&whole[..len]).is_err(), "{len} bytes");
        }
        let mut lying = whole.clone();
        lying[8..16].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(in_section(&lying).is_err());
        let mut lying = whole;
        lying[24..32].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(in_section(&lying).is_err());
    }

    #[test]
    fn a_library_for_cpus_has_none() {
        let native = runtime::Native::locate().unwrap();
        assert_eq!(architectures(&native.mlx.path).unwrap(), []);
    }
}
