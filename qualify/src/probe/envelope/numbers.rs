//! Numbers as they are typed.

use std::str::FromStr;

use probes::envelope::Term;

/// Terms, separated by commas.
#[derive(Clone, Debug, PartialEq)]
pub struct List(pub Vec<Term>);

/// The results of one implementation.
#[derive(Clone, Debug, PartialEq)]
pub struct Observed {
    /// What the implementation is called.
    pub name: String,
    /// A result for each sum.
    pub values: Vec<f32>,
}

impl FromStr for List {
    type Err = String;

    fn from_str(text: &str) -> Result<List, String> {
        let term = |text: &str| match text.split_once('*') {
            None => number(text).map(Term::Value),
            Some((a, b)) => Ok(Term::Product(number(a)?, number(b)?)),
        };
        text.split(',')
            .map(term)
            .collect::<Result<_, _>>()
            .map(List)
    }
}

impl FromStr for Observed {
    type Err = String;

    fn from_str(text: &str) -> Result<Observed, String> {
        let (name, values) = text.split_once('=').unwrap_or(("observed", text));
        if name.is_empty() {
            return Err("before `=` there must be a name".to_owned());
        }
        let values = values.split(',').map(number).collect::<Result<_, _>>()?;
        Ok(Observed {
            name: name.to_owned(),
            values,
        })
    }
}

/// An F32: decimal, to nearest; or its bits, or those of a BF16.
fn number(text: &str) -> Result<f32, String> {
    let text = text.trim();
    if let Some(digits) = text.strip_prefix("0x") {
        let bits = u32::from_str_radix(digits, 16);
        return match (bits, digits.len()) {
            (Ok(bits), 8) => Ok(f32::from_bits(bits)),
            (Ok(bits), 4) => Ok(f32::from_bits(bits << 16)),
            _ => Err(format!("{text} is neither 8 hexadecimal digits nor 4")),
        };
    }
    let number: f32 = text.parse().map_err(|_| format!("{text:?} is no number"))?;
    let said = text.trim_start_matches(['+', '-']).to_ascii_lowercase();
    if number.is_infinite() && !said.starts_with("inf") {
        return Err(format!("{text} lies beyond F32"));
    }
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_decimal_or_bits() {
        let list: List = "1, -2.5,0x3f800001,0x3f80,1.5*0x4000,inf".parse().unwrap();
        let terms = [
            Term::Value(1.0),
            Term::Value(-2.5),
            Term::Value(1.0 + f32::EPSILON),
            Term::Value(1.0),
            Term::Product(1.5, 2.0),
            Term::Value(f32::INFINITY),
        ];
        assert_eq!(list.0, terms);
        for text in ["", "1,", "x", "0x3f8", "0x3f8000011", "1*2*3", "1e40"] {
            assert!(text.parse::<List>().is_err(), "{text}");
        }
    }

    #[test]
    fn results_have_the_name_of_their_implementation() {
        let observed: Observed = "mlx=0,-1".parse().unwrap();
        assert_eq!(
            (observed.name.as_str(), observed.values),
            ("mlx", vec![0.0, -1.0])
        );
        let observed: Observed = "-0.0".parse().unwrap();
        assert_eq!(observed.name, "observed");
        assert!("=1".parse::<Observed>().is_err());
    }
}
