//! Every field of the two files, from the tables that validate them.

use serde::Serialize;

use super::files::File;
use super::spec::{Fallback, Kind, Row};

/// One field, as documents show it.
#[derive(Debug, Serialize)]
pub(crate) struct FieldReference {
    /// `nodes[].ip`; `<name>` stands for a key of the user's own.
    path: String,
    /// What to write.
    kind: String,
    required: bool,
    secret: bool,
    default: Option<String>,
    description: String,
    /// Why it is refused; none if it is supported.
    refused: Option<String>,
    /// Words that the installer takes, and tinderbox refuses.
    refused_words: Vec<String>,
}

/// The fields of cluster.yaml, and those of install-config.yaml.
pub(crate) fn reference() -> [Vec<FieldReference>; 2] {
    [File::Cluster, File::Install].map(|file| {
        let mut fields = Vec::new();
        collect("", file.table(), &mut fields);
        fields
    })
}

fn collect(above: &str, rows: &[Row], fields: &mut Vec<FieldReference>) {
    for row in rows {
        let path = format!("{above}{}", row.name);
        let (refused, refused_words) = match row.kind {
            Kind::Refused(why) => (Some(why.to_owned()), Vec::new()),
            Kind::Choice { refused, .. } => (None, refused.iter().map(|word| (*word).to_owned()).collect()),
            _ => (None, Vec::new()),
        };
        fields.push(FieldReference {
            path: path.clone(),
            kind: row.kind.expectation(),
            required: row.required,
            secret: row.secret,
            default: default(&row.fallback),
            description: row.doc.to_owned(),
            refused,
            refused_words,
        });
        match row.kind {
            Kind::List(rows) => collect(&format!("{path}[]."), rows, fields),
            Kind::Map(rows) => collect(&format!("{path}."), rows, fields),
            Kind::Named(rows) => collect(&format!("{path}.<name>."), rows, fields),
            _ => {}
        }
    }
}

fn default(fallback: &Fallback) -> Option<String> {
    match fallback {
        Fallback::Nothing { .. } => None,
        Fallback::Text(text) => Some(format!("`{text}`")),
        Fallback::Field(other) => Some(format!("that of `{other}`")),
        Fallback::From(from, _) => {
            let names = from.iter().map(|(file, path)| match file {
                File::Install => format!("`{path}` of install-config"),
                File::Cluster => format!("`{path}`"),
            });
            Some(format!("from {}", names.collect::<Vec<_>>().join(", ")))
        }
    }
}
