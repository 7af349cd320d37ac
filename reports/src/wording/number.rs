//! Numbers for people.

/// Digits in groups of three: `1,204,224`.
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Four significant digits at most: `0`, `0.5`, `1.562e-2`.
pub(crate) fn magnitude(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let short = format!("{value}");
    let rounded = format!("{value:.3e}");
    if short.len() <= 6 { short } else { rounded }
}

/// A shape: `1×549×1×1`, or `scalar`.
pub(crate) fn shape(extents: &[usize]) -> String {
    if extents.is_empty() {
        return "scalar".to_owned();
    }
    extents
        .iter()
        .map(usize::to_string)
        .collect::<Vec<_>>()
        .join("×")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_grouped() {
        let counts = [0, 999, 1000, 67_108_864].map(count);
        assert_eq!(counts, ["0", "999", "1,000", "67,108,864"]);
        let magnitudes = [0.0, 0.5, 12.0, 0.015625, 105.5, 3.25e-7].map(magnitude);
        assert_eq!(
            magnitudes,
            ["0", "0.5", "12", "1.562e-2", "105.5", "3.250e-7"]
        );
        assert_eq!(
            (shape(&[1, 549]), shape(&[])),
            ("1×549".to_owned(), "scalar".to_owned())
        );
    }
}
