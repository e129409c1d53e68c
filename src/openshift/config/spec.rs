//! The types of a file's field table. A field is declared once, in one row:
//!
//! | part | determines |
//! |---|---|
//! | name, by nesting its path | "unknown field", "did you mean", `affects` |
//! | [`Kind`] | the parser, expectations in messages, the JSON schema |
//! | sentence | the schema's description, which editors show |
//! | `required`, `not_empty`, `secret` | problems; whether the value is shown |
//! | [`Fallback`] | the value if it is not set, and what determines it |
//! | [`Seen`] | the path under which recipes see it |
//!
//! Nothing else has to know a field, unless Rust code uses its value.

use super::files::{File, Files};
use super::given::{Given, Quantity, Scalar, Unit, boolean};
use super::syntax::Syntax;
use crate::base::value::Value;

#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) doc: &'static str,
    pub(super) required: bool,
    /// A list must have elements.
    pub(super) not_empty: bool,
    pub(super) secret: bool,
    pub(super) fallback: Fallback,
    pub(super) seen: Seen,
    /// The old name of the field in the installer, read if this one is not set.
    pub(super) formerly: Option<&'static str>,
}

/// The type of a field.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    /// `yes`, `no`, `on` and `off` count too, as in the installer.
    Bool,
    /// With inclusive bounds.
    Int { min: i64, max: i64 },
    /// Text of a certain syntax.
    Text(&'static Syntax),
    /// A text with one value per line, read as a list.
    Lines(&'static Syntax),
    /// One of these words. `refused` are words that the installer accepts but tinderbox does not support.
    Choice {
        values: &'static [&'static str],
        refused: &'static [&'static str],
        read: fn(&str) -> Option<Scalar>,
    },
    /// An amount with its unit, such as `16GiB`.
    Quantity(Unit),
    /// A list of texts.
    Texts(&'static Syntax),
    /// One text or a list of texts, read as a list.
    OneOrMore(&'static Syntax),
    /// A list of maps; elements with a `name` are addressed by it, and names are unique.
    List(&'static [Row]),
    /// A map with these fields.
    Map(&'static [Row]),
    /// A map with user-defined keys.
    Named(&'static [Row]),
    /// A document of another specification, kept as it is; the text says which.
    Document(&'static str),
    /// Valid for the installer but not supported here; the text says what to do instead.
    Refused(&'static str),
}

/// The value of a field that is not set.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fallback {
    /// Null or an empty list. If `unset`, only for a recipe that names the field: a map that is projected whole goes without it.
    Nothing { unset: bool },
    /// As if this had been written.
    Text(&'static str),
    /// The value of another field of the same file, outside lists; its lines then set this field too.
    Field(&'static str),
    /// Computed from these fields.
    From(&'static [(File, &'static str)], Follow),
}

/// Gets both files, and the list element that contains the field.
type Follow = fn(&Files, &Given) -> Option<Scalar>;

/// The path under which recipes see a field. In a list it starts at the element.
#[derive(Debug, Clone, Copy)]
pub(super) enum Seen {
    /// The path in the file: unchanged for cluster.yaml, below `installConfig` for install-config.
    AsWritten,
    As(&'static str),
    /// Created by [`super::projection`], together with derived values.
    Derived,
}

/// An optional, public field.
pub(super) const fn field(name: &'static str, kind: Kind, doc: &'static str) -> Row {
    Row {
        name,
        kind,
        doc,
        required: false,
        not_empty: false,
        secret: false,
        fallback: Fallback::Nothing { unset: true },
        seen: Seen::AsWritten,
        formerly: None,
    }
}

/// An optional field that is null or empty in every map around it: its absence is part of ids already. No new field is one.
pub(super) const fn nullable(name: &'static str, kind: Kind, doc: &'static str) -> Row {
    Row { fallback: Fallback::Nothing { unset: false }, ..field(name, kind, doc) }
}

/// A field of the installer that tinderbox does not support.
pub(super) const fn refused(name: &'static str, instead: &'static str) -> Row {
    field(name, Kind::Refused(instead), "")
}

/// A word of a fixed set.
pub(super) const fn choice(values: &'static [&'static str]) -> Kind {
    supported(values, &[])
}

/// A word of a fixed set, of which tinderbox supports only some.
pub(super) const fn supported(values: &'static [&'static str], refused: &'static [&'static str]) -> Kind {
    Kind::Choice { values, refused, read: |text| Some(Scalar::Text(text.to_owned())) }
}

impl Row {
    pub(super) const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    pub(super) const fn not_empty(mut self) -> Self {
        self.not_empty = true;
        self
    }

    /// Its value is never shown and never part of the plain data.
    pub(super) const fn secret(mut self) -> Self {
        self.secret = true;
        self
    }

    /// As if this text had been written.
    pub(super) const fn default(mut self, text: &'static str) -> Self {
        self.fallback = Fallback::Text(text);
        self
    }

    /// Defaults to another field of the same file.
    pub(super) const fn default_field(mut self, other: &'static str) -> Self {
        self.fallback = Fallback::Field(other);
        self
    }

    /// Defaults to a value computed from these fields.
    pub(super) const fn default_from(
        mut self,
        from: &'static [(File, &'static str)],
        follow: Follow,
    ) -> Self {
        self.fallback = Fallback::From(from, follow);
        self
    }

    /// Recipes see it under this path.
    pub(super) const fn seen_as(mut self, path: &'static str) -> Self {
        self.seen = Seen::As(path);
        self
    }

    pub(super) const fn derived(mut self) -> Self {
        self.seen = Seen::Derived;
        self
    }

    pub(super) const fn formerly(mut self, name: &'static str) -> Self {
        self.formerly = Some(name);
        self
    }
}

impl Kind {
    /// Parses a scalar; none if it does not match. Only unquoted scalars can be numbers or booleans.
    pub(super) fn parse(&self, text: &str, plain: bool) -> Option<Scalar> {
        match self {
            Self::Bool => boolean(text).filter(|_| plain).map(Scalar::Bool),
            Self::Int { min, max } => {
                let number = text.parse().ok().filter(|number| plain && (min..=max).contains(&number));
                number.map(Scalar::Int)
            }
            Self::Quantity(unit) => Quantity::parse(text, *unit).map(Scalar::Quantity),
            Self::Choice { values, read, .. } => values.contains(&text).then(|| read(text)).flatten(),
            Self::Text(syntax) | Self::Lines(syntax) | Self::Texts(syntax) | Self::OneOrMore(syntax) => {
                (syntax.parse)(text)
            }
            Self::List(_) | Self::Map(_) | Self::Named(_) | Self::Document(_) | Self::Refused(_) => None,
        }
    }

    /// The value of a field that has none.
    pub(super) fn nothing(&self) -> Value {
        match self {
            Self::Lines(_) | Self::Texts(_) | Self::OneOrMore(_) | Self::List(_) => Value::List(Vec::new()),
            _ => Value::Null,
        }
    }

    /// How such a field is written, for hints: its required fields, or else the first ones.
    pub(super) fn sample(&self, name: &str) -> Option<String> {
        let fields = |fields: &[Row]| {
            let supported = fields.iter().filter(|field| !matches!(field.kind, Kind::Refused(_)));
            let (required, optional): (Vec<&Row>, Vec<&Row>) = supported.partition(|field| field.required);
            let shown = if required.is_empty() { optional.into_iter().take(2).collect() } else { required };
            let shown: Vec<String> = shown.iter().map(|field| format!("{}: …", field.name)).collect();
            format!("{{{}}}", shown.join(", "))
        };
        Some(match self {
            Self::Map(rows) => format!("{name}: {}", fields(rows)),
            Self::List(rows) => format!("{name}: [{}]", fields(rows)),
            Self::Named(rows) => format!("{name}: {{NAME: {}}}", fields(rows)),
            Self::Texts(syntax) => format!("{name}: [{}]", syntax.example),
            _ => return None,
        })
    }

    /// What users must write, for messages: "is not …".
    pub(super) fn expectation(&self) -> String {
        match self {
            Self::Bool => "true or false".to_owned(),
            Self::Int { min, max: i64::MAX } => format!("a whole number of at least {min}"),
            Self::Int { min, max } => format!("a whole number from {min} to {max}"),
            Self::Text(syntax) | Self::Lines(syntax) => syntax.name.to_owned(),
            Self::Choice { values: [only], .. } => format!("`{only}`"),
            Self::Choice { values, .. } => {
                let values: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
                format!("one of {}", values.join(", "))
            }
            Self::Quantity(unit) => format!("an amount with a unit, such as `{}`", unit.example),
            Self::Texts(syntax) => format!("a list, each {}", syntax.name),
            Self::OneOrMore(syntax) => format!("{} or a list of them", syntax.name),
            Self::List(_) => "a list of maps".to_owned(),
            Self::Map(_) | Self::Named(_) => "a map".to_owned(),
            Self::Document(what) => (*what).to_owned(),
            Self::Refused(_) => "supported".to_owned(),
        }
    }
}
