//! How the API server types a plain scalar: `kubectl` and `oc` convert YAML to JSON before anything is validated.
//!
//! That conversion follows YAML 1.1 (`on` is true, `0777` is octal), which decides whether a type matches.

use std::borrow::Cow;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Scalar {
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    /// The text itself.
    Text,
}

/// The type of an unquoted scalar.
pub(crate) fn resolve(text: &str) -> Scalar {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Scalar::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Scalar::Bool(true);
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Scalar::Bool(false);
        }
        _ if !text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.')) => {
            return Scalar::Text;
        }
        _ => {}
    }
    let text = if text.contains('_') { Cow::Owned(text.replace('_', "")) } else { Cow::Borrowed(text) };
    if let Some(value) = integer(&text) {
        return Scalar::Int(value);
    }
    // `1e3` and `.5`, but neither `inf` nor `1.2.3`: only these letters occur in a decimal number.
    let decimal = text.bytes().all(|c| c.is_ascii_digit() || b"+-.eE".contains(&c));
    let number = text.parse().ok().filter(|number: &f64| decimal && number.is_finite());
    number.map_or(Scalar::Text, Scalar::Float)
}

/// Go's `ParseInt` with base 0: `0x`, `0b`, `0o`, and `0` for octal. What no `int64` or `uint64` holds is not an integer.
fn integer(text: &str) -> Option<i128> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', _, ..] => (8, digits.get(1..)?),
        _ => (10, digits),
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let value = i128::from_str_radix(digits, radix).ok()?.checked_mul(sign)?;
    (i64::MIN.into()..=u64::MAX.into()).contains(&value).then_some(value)
}
