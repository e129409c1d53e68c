//! Projection: the value that a recipe names, and exactly which leaves it reads.
//!
//! | form | meaning |
//! |---|---|
//! | `a.b` | a field of a map |
//! | `nodes.worker-0`, `nodes.2` | an element of a list, by name or index |
//! | `workers.*.ip` | a list: the rest of the path for every element |
//! | `nodes.*.{name,ip}` | at the end: a map of these fields |
//! | `lock.certificates.admin?` | at the end: null if there is no such field; its root must exist |
//!
//! Invariant: the reads of a projection are exactly the leaves of its value, by canonical path.

use std::collections::BTreeMap;

use super::{Field, Fields, Origins, element_path};
use crate::base::hint::{Hint, did_you_mean};
use crate::base::secret::Secret;
use crate::base::value::Value;

/// The value of a path.
#[derive(Debug, Clone)]
pub struct Projection {
    pub value: Projected,
    /// The leaves read, in order.
    pub reads: Vec<Read>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Projected {
    Plain(Value),
    Secret(Secret),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    /// Canonical, with element names where they exist: `nodes.worker-0.ip`. An empty list counts as a leaf.
    pub path: String,
    pub origins: Origins,
}

/// Why a path has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FieldError {
    #[error("`{path}` is not a field path: {reason}")]
    Syntax { path: String, reason: &'static str },
    #[error("`{path}`: {} has no `{segment}`", if parent.is_empty() { "the cluster".to_owned() } else { format!("`{parent}`") })]
    Unknown {
        path: String,
        /// The last existing field; empty at the root.
        parent: String,
        /// The missing name.
        segment: String,
        /// A suggestion.
        near: Option<String>,
    },
    /// `*` applied to something other than a list.
    #[error("`{path}`: `{parent}` is not a list")]
    NotAList { path: String, parent: String },
    #[error("`{path}` mixes the secret `{secret}` with plain values")]
    Mixed { path: String, secret: String },
}

impl Hint for FieldError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Syntax { .. } => {
                Some("for example `cluster.domain`, `workers.*.ip` or `nodes.*.{name,ip}`".to_owned())
            }
            Self::Unknown { near, .. } => near.clone(),
            Self::NotAList { .. } => Some("`*` stands for every element of a list".to_owned()),
            Self::Mixed { secret, .. } => {
                Some(format!("name `{secret}` on its own, so that only its users become secret"))
            }
        }
    }
}

enum Segment<'p> {
    Name(&'p str),
    All,
    Pick(Vec<&'p str>),
}

fn parse(path: &str) -> Result<Vec<Segment<'_>>, FieldError> {
    let error = |reason| FieldError::Syntax { path: path.to_owned(), reason };
    let (rest, pick) = match path.split_once(".{") {
        Some((rest, pick)) => (
            rest,
            Some(pick.strip_suffix('}').ok_or_else(|| error("`{…}` is not closed, or not at the end"))?),
        ),
        None => (path, None),
    };
    let is_name = |name: &str| {
        !name.is_empty() && !name.contains(['{', '}', '*', ',', '.', '?']) && name.trim() == name
    };
    let mut segments = Vec::new();
    for segment in rest.split('.') {
        match segment {
            "*" if segments.is_empty() => return Err(error("it starts with `*`")),
            "*" => segments.push(Segment::All),
            name if is_name(name) => segments.push(Segment::Name(name)),
            _ => return Err(error("between two dots there must be a name or `*`")),
        }
    }
    if let Some(pick) = pick {
        let names: Vec<&str> = pick.split(',').map(str::trim).collect();
        if !names.iter().all(|name| is_name(name)) {
            return Err(error("between `{` and `}` there must be names"));
        }
        segments.push(Segment::Pick(names));
    }
    Ok(segments)
}

impl Fields {
    /// The value at a path, and the leaves that it consists of.
    pub fn project(&self, path: &str) -> Result<Projection, FieldError> {
        if let Some(path) = path.strip_suffix('?') {
            return match self.project(path) {
                Err(FieldError::Unknown { parent, .. }) if !parent.is_empty() => {
                    let read = Read { path: path.to_owned(), origins: [].into() };
                    Ok(Projection { value: Projected::Plain(Value::Null), reads: vec![read] })
                }
                found => found,
            };
        }
        let segments = parse(path)?;
        let (field, rest) = self.enter(path, &segments)?;
        let mut walk = Walk { path, reads: Vec::new() };
        let value = walk.step(field.0, field.1, rest)?;
        Ok(Projection { value, reads: walk.reads })
    }

    /// The names of the elements of a list that `for_each` accepts; for a single element, its own name.
    ///
    /// Elements of such a list have a canonical path; an empty list has no elements.
    pub fn elements(&self, list: &str) -> Option<Vec<&str>> {
        match self.root(list)? {
            Field::List(items) => items
                .iter()
                .map(|item| match item {
                    Field::Shared { .. } => item.name(),
                    _ => None,
                })
                .collect(),
            Field::Leaf { value: Value::List(items), .. } if items.is_empty() => Some(Vec::new()),
            element @ Field::Shared { .. } => Some(vec![element.name()?]),
            _ => None,
        }
    }

    /// The lists that have such elements.
    pub fn lists(&self) -> Vec<&str> {
        self.root_names().filter(|name| self.elements(name).is_some_and(|found| !found.is_empty())).collect()
    }

    /// The root of a path, and the remaining segments.
    fn enter<'f, 's, 'p>(
        &'f self,
        path: &str,
        segments: &'s [Segment<'p>],
    ) -> Result<(Here<'f>, &'s [Segment<'p>]), FieldError> {
        let Some((Segment::Name(name), rest)) = segments.split_first() else {
            return Err(FieldError::Syntax { path: path.to_owned(), reason: "it must start with a name" });
        };
        let unknown = || FieldError::Unknown {
            path: path.to_owned(),
            parent: String::new(),
            segment: (*name).to_owned(),
            near: did_you_mean(name, self.root_names()),
        };
        let field = self.root(name).ok_or_else(unknown)?;
        Ok((((*name).to_owned(), field), rest))
    }
}

/// A field and its path.
type Here<'f> = (String, &'f Field);

struct Walk<'p> {
    path: &'p str,
    reads: Vec<Read>,
}

impl Walk<'_> {
    fn step(&mut self, at: String, field: &Field, rest: &[Segment<'_>]) -> Result<Projected, FieldError> {
        if let Field::Shared { path, field } = field {
            return self.step(path.to_string(), field, rest);
        }
        let Some((segment, rest)) = rest.split_first() else {
            return self.whole(at, field);
        };
        match segment {
            Segment::Name(name) => {
                let (at, field) = self.child(&at, field, name)?;
                self.step(at, field, rest)
            }
            Segment::All => match field {
                Field::List(items) => self.elements(at, items, |walk, at, item| walk.step(at, item, rest)),
                Field::Leaf { value: Value::List(_), .. } => self.whole(at, field),
                _ => Err(FieldError::NotAList { path: self.path.to_owned(), parent: at }),
            },
            Segment::Pick(names) => {
                let mut picked = BTreeMap::new();
                for name in names {
                    let (at, field) = self.child(&at, field, name)?;
                    let value = self.whole(at.clone(), field)?;
                    picked.insert((*name).to_owned(), self.plain(at, value)?);
                }
                Ok(Projected::Plain(Value::Map(picked)))
            }
        }
    }

    fn child<'f>(&self, at: &str, field: &'f Field, name: &str) -> Result<Here<'f>, FieldError> {
        let found = match field {
            Field::Shared { path, field } => return self.child(path, field, name),
            Field::Map(map) => map.get(name).map(|field| (format!("{at}.{name}"), field)),
            Field::List(items) => {
                let by_name = || items.iter().position(|item| item.name() == Some(name));
                let index = by_name().or_else(|| name.parse().ok());
                index
                    .and_then(|index| Some((index, items.get(index)?)))
                    .map(|(index, item)| (element_path(at, index, item), item))
            }
            Field::Leaf { .. } | Field::Secret { .. } => None,
        };
        found.ok_or_else(|| FieldError::Unknown {
            path: self.path.to_owned(),
            parent: at.to_owned(),
            segment: name.to_owned(),
            near: match field {
                Field::Map(map) => did_you_mean(name, map.keys().map(String::as_str)),
                Field::List(items) => {
                    did_you_mean(name, items.iter().filter_map(Field::name)).or_else(|| {
                        items
                            .first()?
                            .name()
                            .map(|_| "address an element by its name, or all of them by `*`".to_owned())
                    })
                }
                _ => Some(format!("`{at}` is a single value")),
            },
        })
    }

    /// The whole value of a field.
    fn whole(&mut self, at: String, field: &Field) -> Result<Projected, FieldError> {
        match field {
            Field::Shared { path, field } => self.whole(path.to_string(), field),
            Field::Leaf { value, origins, .. } => {
                self.reads.push(Read { path: at, origins: origins.clone() });
                Ok(Projected::Plain(value.clone()))
            }
            Field::Secret { value, origins } => {
                self.reads.push(Read { path: at, origins: origins.clone() });
                Ok(Projected::Secret(value.clone()))
            }
            Field::List(items) => self.elements(at, items, |walk, at, item| walk.whole(at, item)),
            Field::Map(map) => {
                let mut values = BTreeMap::new();
                for (name, field) in map {
                    let at = format!("{at}.{name}");
                    // An unset field is read too: setting it changes what is projected.
                    let value = self.whole(at.clone(), field)?;
                    if !field.is_unset() {
                        values.insert(name.clone(), self.plain(at, value)?);
                    }
                }
                Ok(Projected::Plain(Value::Map(values)))
            }
        }
    }

    fn elements(
        &mut self,
        at: String,
        items: &[Field],
        mut each: impl FnMut(&mut Self, String, &Field) -> Result<Projected, FieldError>,
    ) -> Result<Projected, FieldError> {
        let mut values = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let at = element_path(&at, index, item);
            let value = each(self, at.clone(), item)?;
            values.push(self.plain(at, value)?);
        }
        Ok(Projected::Plain(Value::List(values)))
    }

    /// A value inside a list or map, which may not contain secrets.
    fn plain(&self, at: String, value: Projected) -> Result<Value, FieldError> {
        match value {
            Projected::Plain(value) => Ok(value),
            Projected::Secret(_) => Err(FieldError::Mixed { path: self.path.to_owned(), secret: at }),
        }
    }
}
