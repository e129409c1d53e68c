//! The values of a file, parsed by their rows. Nothing is parsed again after this.
//!
//! YAML parsers disagree on some scalars. We follow the installer's, which is Go's and follows YAML 1.1. Invariant: the
//! installer reads a value in the same way, or it is rejected.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;

use super::release::Release;
use super::words::{Architecture, Machines, Role, SourcePolicy};
use crate::base::value::Value;

/// A value, a list or a map of a file.
#[derive(Debug, Clone)]
pub(super) enum Given {
    Leaf {
        scalar: Scalar,
        /// Before parsing: `installConfig` shows this.
        written: Value,
    },
    List(Vec<Given>),
    Map(BTreeMap<String, Given>),
}

/// A type that a row can parse a scalar to.
pub(super) trait Typed: Sized {
    fn of(scalar: &Scalar) -> Option<&Self>;
}

macro_rules! scalars {
    ($($variant:ident($type:ty),)*) => {
        /// A single value, typed by its row.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub(super) enum Scalar { $($variant($type),)* }

        $(impl Typed for $type {
            fn of(scalar: &Scalar) -> Option<&Self> {
                match scalar {
                    Scalar::$variant(value) => Some(value),
                    _ => None,
                }
            }
        })*
    };
}

scalars! {
    Bool(bool),
    Int(i64),
    Text(String),
    Lines(Vec<String>),
    Quantity(Quantity),
    Address(IpAddr),
    Network(IpNet),
    Release(Release),
    Role(Role),
    Architecture(Architecture),
    Machines(Machines),
    SourcePolicy(SourcePolicy),
}

/// Any type.
impl Typed for Scalar {
    fn of(scalar: &Scalar) -> Option<&Self> {
        Some(scalar)
    }
}

impl Scalar {
    /// As recipes see it.
    pub(super) fn value(&self) -> Value {
        match self {
            Self::Bool(value) => Value::Bool(*value),
            Self::Int(number) | Self::Quantity(Quantity { count: number, .. }) => Value::Int(*number),
            Self::Text(text) => Value::from(text.as_str()),
            Self::Lines(lines) => Value::List(lines.iter().map(|line| Value::from(line.as_str())).collect()),
            Self::Address(address) => Value::Text(address.to_string()),
            Self::Network(network) => Value::Text(network.to_string()),
            Self::Release(release) => Value::Text(release.to_string()),
            Self::Role(role) => Value::from(role.as_str()),
            Self::Architecture(architecture) => Value::from(architecture.as_str()),
            Self::Machines(machines) => Value::from(machines.as_str()),
            Self::SourcePolicy(policy) => Value::from(policy.as_str()),
        }
    }
}

impl Given {
    /// The value at a dotted path of map keys; an empty path is this value.
    pub(super) fn at(&self, path: &str) -> Option<&Self> {
        let mut keys = path.split('.').filter(|key| !key.is_empty());
        keys.try_fold(self, |given, key| match given {
            Self::Map(map) => map.get(key),
            _ => None,
        })
    }

    pub(super) fn get<T: Typed>(&self, path: &str) -> Option<&T> {
        match self.at(path)? {
            Self::Leaf { scalar, .. } => T::of(scalar),
            _ => None,
        }
    }

    /// The elements of a list; empty for anything else.
    pub(super) fn items(&self) -> &[Self] {
        match self {
            Self::List(items) => items,
            _ => &[],
        }
    }

    /// The values of a list of scalars.
    pub(super) fn all<T: Typed + Clone>(&self, path: &str) -> Vec<T> {
        let items = self.at(path).map_or(&[][..], Self::items);
        items.iter().filter_map(|item| item.get("")).cloned().collect()
    }

    /// As written: no defaults, no canonical forms.
    pub(super) fn written(&self) -> Value {
        match self {
            Self::Leaf { written, .. } => written.clone(),
            Self::List(items) => Value::List(items.iter().map(Self::written).collect()),
            Self::Map(map) => {
                Value::Map(map.iter().map(|(name, given)| (name.clone(), given.written())).collect())
            }
        }
    }
}

/// An amount of memory or disk: a whole number of its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Quantity {
    pub(super) count: i64,
    pub(super) unit: Unit,
}

/// The unit that an amount is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unit {
    bytes: u64,
    /// An amount as text.
    pub(super) example: &'static str,
}

/// For memory.
pub(super) const MIB: Unit = Unit { bytes: 1 << 20, example: "16GiB" };
/// For disks.
pub(super) const GB: Unit = Unit { bytes: 1_000_000_000, example: "120GB" };

impl Quantity {
    /// A number and its unit. A bare number is ambiguous: 16 may be meant as GiB or as MiB.
    pub(super) fn parse(text: &str, unit: Unit) -> Option<Self> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (count, suffix) = text.split_at(digits);
        let count: u64 = count.parse().ok().filter(|count| *count > 0)?;
        let scale: u64 = match suffix.trim_start() {
            "M" | "MB" => 1_000_000,
            "G" | "GB" => 1_000_000_000,
            "T" | "TB" => 1_000_000_000_000,
            "Mi" | "MiB" => 1 << 20,
            "Gi" | "GiB" => 1 << 30,
            "Ti" | "TiB" => 1 << 40,
            _ => return None,
        };
        // Rounded up: nobody gets less than requested.
        let units = count.checked_mul(scale)?.div_ceil(unit.bytes);
        let count = i64::try_from(units).ok().filter(|units| *units <= 1 << 30)?;
        Some(Self { count, unit })
    }
}

/// A YAML 1.1 boolean, as the installer parses it.
pub(super) fn boolean(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" | "yes" | "Yes" | "YES" | "y" | "Y" | "on" | "On" | "ON" => Some(true),
        "false" | "False" | "FALSE" | "no" | "No" | "NO" | "n" | "N" | "off" | "Off" | "OFF" => Some(false),
        _ => None,
    }
}

/// Whether some YAML parser takes this plain scalar for something other than its text: the installer would read `yes`
/// as the text `true` and `4.10` as `4.1`. A plain decimal number is the same text for all parsers.
pub(super) fn is_ambiguous(text: &str) -> bool {
    let decimal = text.parse::<i64>().is_ok_and(|number| number.to_string() == text);
    boolean(text).is_some() || (text.parse::<f64>().is_ok() && !decimal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_in_their_unit() {
        let count = |text, unit| Quantity::parse(text, unit).map(|quantity| quantity.count);
        assert_eq!(count("16384MiB", MIB), Some(16384));
        assert_eq!(count("16GiB", MIB), Some(16384));
        assert_eq!(count("16 GiB", MIB), Some(16384));
        assert_eq!(count("1GB", MIB), Some(954));
        assert_eq!(count("100GiB", GB), Some(108));
        assert_eq!(count("1TB", GB), Some(1000));
        for text in [
            "",
            "16384",
            "GiB",
            "0",
            "-1",
            "1.5GiB",
            "16 gibibytes",
            "99999999999999999999",
            "18446744073709551615TiB",
        ] {
            assert_eq!(count(text, MIB), None, "{text}");
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
