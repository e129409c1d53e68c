//! How single values are read where YAML readers disagree. The installer's reader is the one to agree with: Go's, which
//! follows YAML 1.1. Invariant: what is read here, the installer reads alike, or it is refused.

use super::spec::Unit;

/// A bool as YAML 1.1 has it, which is what the installer reads.
pub(super) fn boolean(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" | "yes" | "Yes" | "YES" | "y" | "Y" | "on" | "On" | "ON" => Some(true),
        "false" | "False" | "FALSE" | "no" | "No" | "NO" | "n" | "N" | "off" | "Off" | "OFF" => Some(false),
        _ => None,
    }
}

/// Whether some YAML reader takes this plain scalar for something else than the text it looks like: the installer
/// would read `yes` as the text `true` and `4.10` as `4.1`. A plain decimal number is the same text for everyone.
pub(super) fn is_ambiguous(text: &str) -> bool {
    let decimal = text.parse::<i64>().is_ok_and(|number| number.to_string() == text);
    boolean(text).is_some() || (text.parse::<f64>().is_ok() && !decimal)
}

/// A whole number of `unit`: bare, or with a unit of its own that gives a whole number.
pub(super) fn size(text: &str, unit: Unit) -> Option<i64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (count, suffix) = text.split_at(digits);
    let count: u64 = count.parse().ok().filter(|count| *count > 0)?;
    let scale: u64 = match suffix.trim_start() {
        "" => unit.bytes(),
        "M" | "MB" => 1_000_000,
        "G" | "GB" => 1_000_000_000,
        "T" | "TB" => 1_000_000_000_000,
        "Mi" | "MiB" => 1 << 20,
        "Gi" | "GiB" => 1 << 30,
        "Ti" | "TiB" => 1 << 40,
        _ => return None,
    };
    // A part of a unit counts as a whole one: nobody gets less than was asked for.
    let units = count.checked_mul(scale)?.div_ceil(unit.bytes());
    i64::try_from(units).ok().filter(|units| *units <= 1 << 30)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_in_their_unit() {
        assert_eq!(size("16384", Unit::MiB), Some(16384));
        assert_eq!(size("16GiB", Unit::MiB), Some(16384));
        assert_eq!(size("16 GiB", Unit::MiB), Some(16384));
        assert_eq!(size("1GB", Unit::MiB), Some(954));
        assert_eq!(size("100GiB", Unit::GB), Some(108));
        assert_eq!(size("1TB", Unit::GB), Some(1000));
        for text in [
            "",
            "GiB",
            "0",
            "-1",
            "1.5GiB",
            "16 gibibytes",
            "99999999999999999999",
            "18446744073709551615TiB",
        ] {
            assert_eq!(size(text, Unit::MiB), None, "{text}");
        }
    }

    #[test]
    fn texts_that_yaml_readers_disagree_on() {
        for text in ["yes", "No", "4.10", "1e3", "007", "+5"] {
            assert!(is_ambiguous(text), "{text}");
        }
        for text in ["v1", "443", "10.0.0.1", "nothing", "4.18.1"] {
            assert!(!is_ambiguous(text), "{text}");
        }
    }
}
