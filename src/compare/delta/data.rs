//! YAML and JSON as one data type for comparison: numbers keep their text, maps are sorted, and secrets have a variant
//! of their own that nothing can show.
//!
//! A separate type: [`Value`](crate::base::value::Value) has no floats and is part of ids, the lines and spans of a
//! [`YamlNode`] would double the memory for large files, and neither could hide a value.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::base::yaml::{self, Scalar, YamlNode};

#[derive(Debug, Clone)]
pub(super) enum Data {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    /// A text that may not be shown.
    Hidden(String),
    List(Vec<Data>),
    Map(Map),
}

pub(super) type Map = BTreeMap<String, Data>;

impl Data {
    /// Converts a node. Plain scalars get the type that the API server gives them.
    pub(super) fn of(node: YamlNode) -> Self {
        match node.data {
            yaml::YamlData::Scalar { text, plain: false } => Self::Text(text),
            yaml::YamlData::Scalar { text, plain: true } => match yaml::resolve(&text) {
                Scalar::Null => Self::Null,
                Scalar::Bool(value) => Self::Bool(value),
                Scalar::Int(_) | Scalar::Float(_) => Self::Number(text),
                Scalar::Text => Self::Text(text),
            },
            yaml::YamlData::List(items) => Self::List(items.into_iter().map(Self::of).collect()),
            yaml::YamlData::Map(entries) => {
                Self::Map(entries.into_iter().map(|entry| (entry.key, Self::of(entry.value))).collect())
            }
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<&Data> {
        self.map().and_then(|map| map.get(key))
    }

    /// The value at a path through maps.
    pub(super) fn at(&self, way: &[&str]) -> Option<&Data> {
        way.iter().try_fold(self, |data, key| data.get(key))
    }

    pub(super) fn map(&self) -> Option<&Map> {
        match self {
            Self::Map(map) => Some(map),
            _ => None,
        }
    }

    pub(super) fn list(&self) -> Option<&[Data]> {
        match self {
            Self::List(list) => Some(list),
            _ => None,
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Hidden(text) => Some(text),
            _ => None,
        }
    }

    /// The text of a scalar that may be shown.
    pub(super) fn word(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Number(text) => Some(text),
            Self::Bool(true) => Some("true"),
            Self::Bool(false) => Some("false"),
            _ => None,
        }
    }

    pub(super) fn is_scalar(&self) -> bool {
        !matches!(self, Self::List(_) | Self::Map(_))
    }

    /// Whether both are the same data; `1` equals `1.0`.
    pub(super) fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(one), Self::Bool(two)) => one == two,
            (Self::Number(one), Self::Number(two)) => one == two || number(one) == number(two),
            (Self::Text(one) | Self::Hidden(one), Self::Text(two) | Self::Hidden(two)) => one == two,
            (Self::List(one), Self::List(two)) => {
                one.len() == two.len() && one.iter().zip(two).all(|(one, two)| one.same(two))
            }
            (Self::Map(one), Self::Map(two)) => {
                let fields = || one.iter().zip(two);
                one.len() == two.len()
                    && fields().all(|((one, _), (two, _))| one == two)
                    && fields().all(|((_, one), (_, two))| one.same(two))
            }
            _ => false,
        }
    }
}

/// The canonical text of a number.
pub(super) fn number(text: &str) -> String {
    match yaml::resolve(text) {
        Scalar::Int(number) => number.to_string(),
        Scalar::Float(number) => number.to_string(),
        _ => text.to_owned(),
    }
}

impl<'de> Deserialize<'de> for Data {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Read)
    }
}

struct Read;

impl<'de> Visitor<'de> for Read {
    type Value = Data;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Data, E> {
        Ok(Data::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Data, E> {
        Ok(Data::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Data, E> {
        Ok(Data::Number(value.to_string()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Data, E> {
        Ok(Data::Number(value.to_string()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Data, E> {
        Ok(Data::Number(value.to_string()))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Data, E> {
        Ok(Data::Text(value.to_owned()))
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Data, E> {
        Ok(Data::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Data, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Data::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Data, A::Error> {
        let mut map = Map::new();
        while let Some((key, value)) = entries.next_entry::<String, Data>()? {
            // Parsers disagree about duplicates, so this is not valid data.
            if map.insert(key, value).is_some() {
                return Err(A::Error::custom("duplicate key"));
            }
        }
        Ok(Data::Map(map))
    }
}
