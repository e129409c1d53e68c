//! Projection: what a recipe names, and exactly which leaves that reads.
//!
//! | form | meaning |
//! |---|---|
//! | `a.b` | a field of a map |
//! | `nodes.worker-0`, `nodes.2` | an element of a list, by name or index |
//! | `workers.*.ip` | a list: the rest of the path for every element |
//! | `nodes.*.{name,ip}` | at the end: a map of these fields |
//! | `lock.certificates.admin?` | at the end: null if there is no such field, below a root that there is |
//!
//! Invariant: the reads of a projection are the leaves that its value was made of, by canonical path, and no others.

use std::collections::BTreeMap;

use super::{Field, Fields, Origins, element_path};
use crate::base::hint::{Hint, did_you_mean};
use crate::base::secret::Secret;
use crate::base::value::Value;

/// What a path gave.
#[derive(Debug, Clone)]
pub struct Projection {
    pub value: Projected,
    /// The leaves that were read, in order.
    pub reads: Vec<Read>,
}

/// A value, plain or secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Projected {
    Plain(Value),
    Secret(Secret),
}

/// One leaf that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    /// Its canonical path, with names for elements that have them: `nodes.worker-0.ip`. An empty list is read as itself.
    pub path: String,
    pub origins: Origins,
}

/// Why a path gives nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FieldError {
    /// The path cannot be read.
    #[error("`{path}` is not a field path: {reason}")]
    Syntax {
        path: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// There is no such field.
    #[error("`{path}`: {} has no `{segment}`", if parent.is_empty() { "the cluster".to_owned() } else { format!("`{parent}`") })]
    Unknown {
        path: String,
        /// Where it ended; empty at the root.
        parent: String,
        /// What is not there.
        segment: String,
        /// What was probably meant.
        near: Option<String>,
    },
    /// `*` stands for the elements of a list, and this is none.
    #[error("`{path}`: `{parent}` is not a list")]
    NotAList {
        path: String,
        /// What is not a list.
        parent: String,
    },
    /// A secret among plain values.
    #[error("`{path}` mixes the secret `{secret}` with plain values")]
    Mixed {
        path: String,
        /// The secret's own path.
        secret: String,
    },
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
                Some(format!("name `{secret}` alone, so that only what needs it is secret"))
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
    /// The value at a path, and the leaves it is made of.
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

    /// The names of the elements of a list that recipes can be made for; of a single element, its own.
    ///
    /// Such a list shows elements that have a path of their own, and an empty one none.
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

    /// The root of a path, and what is left of it.
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

/// A field and the path at which it was found.
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

    /// The child of a map or list.
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
                            .map(|_| "an element is addressed by its name, all of them by `*`".to_owned())
                    })
                }
                _ => Some(format!("`{at}` is a single value")),
            },
        })
    }

    /// Everything below a field.
    fn whole(&mut self, at: String, field: &Field) -> Result<Projected, FieldError> {
        match field {
            Field::Shared { path, field } => self.whole(path.to_string(), field),
            Field::Leaf { value, origins } => {
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
                    let value = self.whole(at.clone(), field)?;
                    values.insert(name.clone(), self.plain(at, value)?);
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

    /// A value that goes into a list or map, where no secret may be.
    fn plain(&self, at: String, value: Projected) -> Result<Value, FieldError> {
        match value {
            Projected::Plain(value) => Ok(value),
            Projected::Secret(_) => Err(FieldError::Mixed { path: self.path.to_owned(), secret: at }),
        }
    }
}
