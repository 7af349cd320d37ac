//! The exit codes of `qualify`, all of them, in one place.

use super::Verdict;

/// What the process says to its caller.
///
/// Before any comparison: [`USAGE`](Self::USAGE), [`INPUT`](Self::INPUT) or
/// [`ENVIRONMENT`](Self::ENVIRONMENT). After it, [`from_verdict`](Self::from_verdict).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ExitCode(u8);

impl ExitCode {
    /// Every boundary is bit-exact, explained, or within policy.
    pub const QUALIFIED: Self = Self(0);
    /// At least one boundary diverged: a valid measurement with a bad result.
    pub const DIVERGED: Self = Self(1);
    /// The command line makes no sense.
    pub const USAGE: Self = Self(2);
    /// Nothing diverged, but something is inconclusive or vacuous.
    pub const INCONCLUSIVE: Self = Self(3);
    /// The machine is not fit: library, device, architecture, libm, an unwritable output or
    /// cache, a module that does not compile.
    pub const ENVIRONMENT: Self = Self(4);
    /// A checkpoint, audio, report or policy is unreadable or malformed.
    pub const INPUT: Self = Self(5);
    /// Ctrl-C: 128 + SIGINT.
    pub const INTERRUPTED: Self = Self(130);

    /// The code of a run that compared something, by its worst verdict.
    #[must_use]
    pub const fn from_verdict(worst: Verdict) -> Self {
        match worst {
            Verdict::BitExact | Verdict::OrderExplained | Verdict::WithinPolicy => Self::QUALIFIED,
            Verdict::Vacuous | Verdict::Inconclusive => Self::INCONCLUSIVE,
            Verdict::Diverged => Self::DIVERGED,
        }
    }

    /// The number handed to the operating system.
    #[must_use]
    pub const fn code(self) -> u8 {
        self.0
    }
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> Self {
        Self::from(code.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::run_verdict;
    use super::*;

    fn after(verdicts: &[Verdict]) -> u8 {
        ExitCode::from_verdict(run_verdict(verdicts.iter().copied())).code()
    }

    #[test]
    fn qualified_is_0() {
        let good = [
            Verdict::BitExact,
            Verdict::OrderExplained,
            Verdict::WithinPolicy,
        ];
        assert_eq!((after(&good), ExitCode::QUALIFIED.code()), (0, 0));
    }

    #[test]
    fn anything_diverged_is_1_whatever_else_there_is() {
        assert_eq!(
            after(&[Verdict::Vacuous, Verdict::Diverged, Verdict::Inconclusive]),
            1
        );
        assert_eq!(ExitCode::DIVERGED.code(), 1);
    }

    #[test]
    fn usage_is_2() {
        assert_eq!(ExitCode::USAGE.code(), 2);
    }

    #[test]
    fn inconclusive_or_vacuous_without_divergence_is_3() {
        assert_eq!(after(&[Verdict::BitExact, Verdict::Vacuous]), 3);
        assert_eq!(after(&[Verdict::WithinPolicy, Verdict::Inconclusive]), 3);
        assert_eq!((after(&[]), ExitCode::INCONCLUSIVE.code()), (3, 3));
    }

    #[test]
    fn environment_is_4() {
        assert_eq!(ExitCode::ENVIRONMENT.code(), 4);
    }

    #[test]
    fn input_is_5() {
        assert_eq!(ExitCode::INPUT.code(), 5);
    }

    #[test]
    fn ctrl_c_is_130() {
        assert_eq!(ExitCode::INTERRUPTED.code(), 130);
    }
}
