//! Both files together: what they set, where, and the defaults.

use std::net::IpAddr;
use std::sync::Arc;

use super::fragment::{Fragment, join};
use super::given::{Given, Scalar, Typed};
use super::spec::{Fallback, Kind, Row};
use super::{cluster_file, install_config};
use crate::base::hint::Place;
use crate::engine::fields::{Field, Origins};

/// One of the two files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum File {
    Install,
    Cluster,
}

#[derive(Debug)]
pub(super) struct Files {
    pub(super) install: Fragment,
    pub(super) cluster: Fragment,
}

impl File {
    pub(super) fn table(self) -> &'static [Row] {
        match self {
            Self::Install => install_config::FIELDS,
            Self::Cluster => cluster_file::FIELDS,
        }
    }

    /// The row of a path without lists.
    fn row(self, path: &str) -> Option<&'static Row> {
        let mut rows = self.table();
        let mut found = None;
        for name in path.split('.') {
            found = rows.iter().find(|row| row.name == name);
            rows = match found?.kind {
                Kind::Map(rows) => rows,
                _ => &[],
            };
        }
        found
    }
}

impl Files {
    pub(super) fn of(&self, file: File) -> &Fragment {
        match file {
            File::Install => &self.install,
            File::Cluster => &self.cluster,
        }
    }

    /// The value of a field outside lists, or its default.
    pub(super) fn value<T: Typed + Clone>(&self, file: File, path: &str) -> Option<T> {
        let given = &self.of(file).given;
        given.get(path).cloned().or_else(|| T::of(&self.fallback(file.row(path)?, given)?).cloned())
    }

    /// The default of a scalar. `within` is the list element that contains it, or the whole file.
    pub(super) fn fallback(&self, row: &Row, within: &Given) -> Option<Scalar> {
        match row.fallback {
            Fallback::Text(text) => row.kind.parse(text, true),
            Fallback::Field(other) => within.get(other).cloned(),
            Fallback::From(_, follow) => follow(self, within),
            Fallback::Nothing { .. } => None,
        }
    }

    /// Where a field is set; without a line if the default applies.
    pub(super) fn place(&self, file: File, field: &str) -> Place {
        let fragment = self.of(file);
        Place {
            file: fragment.file.clone(),
            line: fragment.lines.get(field).copied(),
            field: field.to_owned(),
        }
    }

    pub(super) fn origin(&self, file: File, field: &str) -> Origins {
        Arc::new([self.place(file, field)])
    }

    pub(super) fn origins(&self, fields: &[(File, &str)]) -> Origins {
        fields.iter().map(|(file, field)| self.place(*file, field)).collect()
    }
}

/// Origins of fields that recipes see.
impl Files {
    /// The old name if only that is set, else the new one.
    pub(super) fn either(&self, [new, old]: [&'static str; 2]) -> &'static str {
        if self.install.wrote(old) && !self.install.wrote(new) { old } else { new }
    }

    /// A list that a field of install-config determines.
    pub(super) fn list<T: ToString>(&self, values: &[T], field: &str) -> Field {
        if values.is_empty() {
            return Field::empty_list(self.origin(File::Install, field));
        }
        let leaf = |(index, value): (usize, &T)| {
            Field::leaf(value.to_string(), self.element_origin(File::Install, field, index))
        };
        Field::List(values.iter().enumerate().map(leaf).collect())
    }

    /// The first address of a field.
    pub(super) fn first(&self, values: &[IpAddr], (file, field): (File, &str)) -> Field {
        Field::leaf(values.first().map(ToString::to_string), self.element_origin(file, field, 0))
    }

    /// Where an element is set: by itself, or with all others in `field`.
    pub(super) fn element_origin(&self, file: File, field: &str, index: usize) -> Origins {
        let element = format!("{field}.{index}");
        let cidr = format!("{element}.cidr");
        let written = [&cidr, &element].into_iter().find(|path| self.of(file).wrote(path));
        self.origin(file, written.map_or(field, String::as_str))
    }

    /// A file's own data, every leaf with its own line.
    pub(super) fn as_written(&self, file: File, given: &Given, path: &str) -> Field {
        match given {
            Given::Map(map) if !map.is_empty() => {
                let field = |(name, given): (&String, &Given)| {
                    (name.clone(), self.as_written(file, given, &join(path, name)))
                };
                Field::Map(map.iter().map(field).collect())
            }
            Given::List(items) if !items.is_empty() => {
                let element =
                    |(index, item)| self.as_written(file, item, &self.of(file).element(path, index, item));
                Field::List(items.iter().enumerate().map(element).collect())
            }
            leaf => Field::leaf(leaf.written(), self.origin(file, path)),
        }
    }
}
