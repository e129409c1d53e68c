//! The vocabulary of a file's field table: name, kind, documentation, whether it must be there, whether it is secret.
//!
//! One table per file drives everything that is said about its fields: shape checks, "did you mean", positions, and the
//! JSON schema. A field that is not in a table cannot be read, and one that is must reach the model.

use super::syntax::Syntax;

/// One field of a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) doc: &'static str,
    pub(super) required: bool,
    pub(super) secret: bool,
}

/// What a field holds.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    /// True or false; `yes`, `no`, `on` and `off` as the installer reads them.
    Bool,
    /// A whole number within bounds.
    Int { min: i64, max: i64 },
    /// A text of a certain syntax.
    Text(&'static Syntax),
    /// One of these words. `refused` are words that the installer knows and tinderbox cannot honour.
    Choice { values: &'static [&'static str], refused: &'static [&'static str] },
    /// An amount: a whole number of `unit`, or a text such as `16GiB`. Read as a whole number of `unit`.
    Size(Unit),
    /// A list of texts.
    Texts(&'static Syntax),
    /// One text or a list of them, read as a list.
    OneOrMore(&'static Syntax),
    /// A list of maps; elements with a `name` are addressed by it, and names are unique.
    List(&'static [Field]),
    /// A map with these fields.
    Map(&'static [Field]),
    /// A map with keys of the user's choice.
    Named(&'static [Field]),
    /// Valid for the installer and not honoured here; the text says what to do instead.
    Refused(&'static str),
}

/// What a bare number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// Memory, in MiB.
    MiB,
    /// Disks, in GB of 1000³ bytes.
    GB,
}

impl Unit {
    pub(super) const fn bytes(self) -> u64 {
        match self {
            Self::MiB => 1 << 20,
            Self::GB => 1_000_000_000,
        }
    }

    /// An amount as a text.
    pub(super) const fn example(self) -> &'static str {
        match self {
            Self::MiB => "16GiB",
            Self::GB => "120GB",
        }
    }

    /// As users write it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::MiB => "MiB",
            Self::GB => "GB",
        }
    }
}

/// An optional, public field.
pub(super) const fn field(name: &'static str, kind: Kind, doc: &'static str) -> Field {
    Field { name, kind, doc, required: false, secret: false }
}

/// A field of the installer that tinderbox cannot honour.
pub(super) const fn refused(name: &'static str, instead: &'static str) -> Field {
    field(name, Kind::Refused(instead), "")
}

/// A word of a fixed set.
pub(super) const fn choice(values: &'static [&'static str]) -> Kind {
    Kind::Choice { values, refused: &[] }
}

impl Field {
    /// The file is wrong without it.
    pub(super) const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// Its value is never shown and never part of the plain data.
    pub(super) const fn secret(mut self) -> Self {
        self.secret = true;
        self
    }
}

impl Kind {
    /// What a user must write, for messages: "is not …".
    pub(super) fn expectation(&self) -> String {
        match self {
            Self::Bool => "true or false".to_owned(),
            Self::Int { min, max: i64::MAX } => format!("a whole number of at least {min}"),
            Self::Int { min, max } => format!("a whole number from {min} to {max}"),
            Self::Text(syntax) => syntax.name.to_owned(),
            Self::Choice { values, .. } => match values {
                [only] => format!("`{only}`"),
                _ => format!(
                    "one of {}",
                    values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", ")
                ),
            },
            Self::Size(unit) => {
                format!("a whole number of {} or a text such as `{}`", unit.name(), unit.example())
            }
            Self::Texts(syntax) => format!("a list, each {}", syntax.name),
            Self::OneOrMore(syntax) => format!("{} or a list of them", syntax.name),
            Self::List(_) => "a list of maps".to_owned(),
            Self::Map(_) | Self::Named(_) => "a map".to_owned(),
            Self::Refused(_) => "supported".to_owned(),
        }
    }
}
