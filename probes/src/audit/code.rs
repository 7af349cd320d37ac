//! Searches assembly and PTX for instructions that tell.

use std::{collections::BTreeMap, fmt};

/// What code is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Assembly of x86-64, as LLVM writes it.
    X86,
    /// NVIDIA's PTX.
    Ptx,
}

impl Dialect {
    /// How the files of that code end.
    pub const fn extension(self) -> &'static str {
        match self {
            Dialect::X86 => "s",
            Dialect::Ptx => "ptx",
        }
    }
}

/// Something that an instruction tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Sign {
    /// A product and an addition in one rounding.
    Fused,
    /// A call of a function of a mathematical library.
    Library,
    /// A rounding to BF16 by the processor, which flushes denormals.
    Bf16Rounding,
    /// A dot product of BF16 by the processor, in its own order.
    Bf16Dot,
    /// Denormals are flushed to zero.
    Flush,
    /// An approximation that is not rounded correctly.
    Approximate,
    /// A product of matrices by tensor cores, in no stated order.
    TensorCore,
    /// Values exchanged between threads: terms are added in another order.
    Exchange,
}

impl Sign {
    /// All there are.
    pub const ALL: [Sign; 8] = [
        Sign::Fused,
        Sign::Library,
        Sign::Bf16Rounding,
        Sign::Bf16Dot,
        Sign::Flush,
        Sign::Approximate,
        Sign::TensorCore,
        Sign::Exchange,
    ];

    /// The name in tables and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Sign::Fused => "fused",
            Sign::Library => "library-call",
            Sign::Bf16Rounding => "bf16-rounding",
            Sign::Bf16Dot => "bf16-dot",
            Sign::Flush => "flush-to-zero",
            Sign::Approximate => "approximate",
            Sign::TensorCore => "tensor-core",
            Sign::Exchange => "exchange",
        }
    }
}

impl fmt::Display for Sign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How often a sign was found, and in which instruction first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// How often.
    pub count: usize,
    /// The first instruction.
    pub first: String,
}

/// All signs in a text. Of x86 only in the functions that are made of a program: the compiler puts
/// a library of functions beside them, most of which nothing calls.
pub fn search(dialect: Dialect, text: &str) -> BTreeMap<Sign, Found> {
    let mut found: BTreeMap<Sign, Found> = BTreeMap::new();
    let mut within = dialect == Dialect::Ptx;
    for line in text.lines() {
        if dialect == Dialect::X86
            && let Some(label) = label(line)
        {
            within = label.contains(DISPATCH);
        }
        let code = code(dialect, line);
        if !within || code.is_empty() {
            continue;
        }
        let signs = match dialect {
            Dialect::X86 => x86(code),
            Dialect::Ptx => ptx(code),
        };
        for sign in signs {
            let entry = found.entry(sign).or_insert_with(|| Found {
                count: 0,
                first: code.split_whitespace().collect::<Vec<_>>().join(" "),
            });
            entry.count += 1;
        }
    }
    found
}

/// How many instructions of a text are searched.
pub(super) fn instructions(dialect: Dialect, text: &str) -> usize {
    let mut within = dialect == Dialect::Ptx;
    let searched = text.lines().filter(|line| {
        if dialect == Dialect::X86
            && let Some(label) = label(line)
        {
            within = label.contains(DISPATCH);
        }
        within && !code(dialect, line).is_empty()
    });
    searched.count()
}

/// What the names of functions made of a program contain.
const DISPATCH: &str = "_dispatch_";

/// The function that begins in a line.
fn label(line: &str) -> Option<&str> {
    let name = line.split(':').next()?;
    let begins = line.contains(':') && !line.starts_with([' ', '\t', '.', '#']);
    begins.then_some(name)
}

/// The instruction in a line, if there is one.
fn code(dialect: Dialect, line: &str) -> &str {
    let comment = match dialect {
        Dialect::X86 => "#",
        Dialect::Ptx => "//",
    };
    let code = line.split(comment).next().unwrap_or_default();
    let code = code.trim().trim_end_matches(';').trim();
    let other = code.starts_with(['.', '{', '}', '(', ')', '$']) || code.contains(':');
    if other { "" } else { code }
}

fn x86(code: &str) -> Vec<Sign> {
    let (mnemonic, operands) = code.split_once(char::is_whitespace).unwrap_or((code, ""));
    let mnemonic = mnemonic.strip_prefix('{').unwrap_or(mnemonic);
    let fused = ["vfmadd", "vfmsub", "vfnmadd", "vfnmsub"];
    if fused.iter().any(|prefix| mnemonic.starts_with(prefix)) {
        return vec![Sign::Fused];
    }
    if mnemonic.starts_with("vcvtneps2bf16") || mnemonic.starts_with("vcvtne2ps2bf16") {
        return vec![Sign::Bf16Rounding];
    }
    if mnemonic.starts_with("vdpbf16ps") {
        return vec![Sign::Bf16Dot];
    }
    if matches!(mnemonic, "ldmxcsr" | "vldmxcsr") {
        return vec![Sign::Flush];
    }
    if matches!(mnemonic, "call" | "callq" | "jmp") {
        let name = operands.trim().split('@').next().unwrap_or_default();
        return library(name).into_iter().collect();
    }
    Vec::new()
}

/// What a call of that name is a sign of.
fn library(name: &str) -> Option<Sign> {
    const FUNCTIONS: [&str; 26] = [
        "exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p", "pow", "sin", "cos",
        "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "atan2", "asinh", "acosh", "atanh",
        "erf", "erfc", "cbrt", "fmod",
    ];
    const FUSED: [&str; 2] = ["fma", "fmaf"];
    const ROUNDING: [&str; 2] = ["__truncsfbf2", "__truncdfbf2"];
    if FUSED.contains(&name) {
        return Some(Sign::Fused);
    }
    if ROUNDING.contains(&name) {
        return Some(Sign::Bf16Rounding);
    }
    let base = name.strip_suffix('f').unwrap_or(name);
    let known = FUNCTIONS.contains(&name) || FUNCTIONS.contains(&base);
    known.then_some(Sign::Library)
}

fn ptx(code: &str) -> Vec<Sign> {
    // A guard may stand first: `@%p1 …`.
    let code = match code.strip_prefix('@') {
        Some(rest) => rest.split_once(char::is_whitespace).map_or("", |s| s.1),
        None => code,
    };
    let mnemonic = code.split_whitespace().next().unwrap_or_default();
    let mut parts = mnemonic.split('.');
    let operation = parts.next().unwrap_or_default();
    let modifiers: Vec<&str> = parts.collect();
    let mut signs = Vec::new();
    match operation {
        "fma" => signs.push(Sign::Fused),
        "mma" | "wmma" | "wgmma" | "tcgen05" => signs.push(Sign::TensorCore),
        "shfl" | "redux" => signs.push(Sign::Exchange),
        _ => {}
    }
    if modifiers.contains(&"approx") {
        signs.push(Sign::Approximate);
    }
    if modifiers.contains(&"ftz") {
        signs.push(Sign::Flush);
    }
    signs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dialect: Dialect, text: &str) -> Vec<(&'static str, usize)> {
        let found = search(dialect, text);
        found
            .iter()
            .map(|(sign, f)| (sign.name(), f.count))
            .collect()
    }

    #[test]
    fn instructions_of_x86_are_told_from_labels_and_comments() {
        let text = "\
fmaf:
\tvfmadd213ss\t%xmm0, %xmm1, %xmm2
f0_dispatch_0_vfmadd231ps:
\t.globl\tvfmadd
\tvmulps\t%ymm0, %ymm1, %ymm2  # vfmadd
\tvfmadd231ps\t%ymm0, %ymm1, %ymm2
\tvfnmadd213ss\t%xmm0, %xmm1, %xmm2
\tcallq\ttanhf@PLT
\tcallq\t*%rax
\tjmp\tfmaf
\tcallq\tmemset@PLT
\tvcvtneps2bf16\t%ymm0, %xmm0
\tvldmxcsr\t(%rsp)
";
        let found = names(Dialect::X86, text);
        assert_eq!(
            found,
            [
                ("fused", 3),
                ("library-call", 1),
                ("bf16-rounding", 1),
                ("flush-to-zero", 1)
            ]
        );
        let first = &search(Dialect::X86, text)[&Sign::Fused].first;
        assert_eq!(instructions(Dialect::X86, text), 9);
        assert_eq!(first, "vfmadd231ps %ymm0, %ymm1, %ymm2");
    }

    #[test]
    fn modifiers_of_ptx_tell() {
        let text = "\
.visible .entry fma()
\tfma.rn.f32 \t%f1, %f2, %f3, %f4;
\tmul.rn.f32 \t%f1, %f2, %f3;
\t@%p1 rsqrt.approx.ftz.f32 \t%f5, %f6;
\tshfl.sync.bfly.b32 \t%r1, %r2, 1, 31, -1; // fma
\tmma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
";
        assert_eq!(
            names(Dialect::Ptx, text),
            [
                ("fused", 1),
                ("flush-to-zero", 1),
                ("approximate", 1),
                ("tensor-core", 1),
                ("exchange", 1)
            ]
        );
    }
}
