//! The documents of `--json`: every verb declares the types that it prints, and schemas come from the types.
//!
//! A verb that declares nothing does not compile. Descriptions are the types' own doc comments. Fields may be added to a
//! document; those that a schema lists stay.

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value;

/// One document that a verb prints.
#[derive(Debug, Clone, Copy)]
pub(super) struct Document {
    /// Tells it from other documents of the same verb; empty for the usual one.
    part: &'static str,
    /// The arguments that ask for it.
    arguments: &'static str,
    source: Source,
}

#[derive(Debug, Clone, Copy)]
enum Source {
    Type(fn(&mut SchemaGenerator) -> Schema),
    /// A schema that is kept by hand.
    Text(&'static str),
}

impl Document {
    /// The usual document of a verb.
    pub(super) const fn of<T: JsonSchema>() -> Self {
        Self { part: "", arguments: "", source: Source::Type(SchemaGenerator::root_schema_for::<T>) }
    }

    pub(super) const fn text(schema: &'static str) -> Self {
        Self { part: "", arguments: "", source: Source::Text(schema) }
    }

    /// Another document of the same verb, and the arguments that ask for it.
    pub(super) const fn when(self, part: &'static str, arguments: &'static str) -> Self {
        Self { part, arguments, ..self }
    }

    /// Its schema, as JSON.
    pub(super) fn schema(&self) -> String {
        match self.source {
            Source::Text(text) => text.to_owned(),
            Source::Type(generate) => {
                let settings = SchemaSettings::draft2020_12().for_serialize();
                let mut schema = generate(&mut settings.into_generator());
                RecursiveTransform(describe).transform(&mut schema);
                format!("{:#}\n", schema.to_value())
            }
        }
    }
}

/// Descriptions are for people who do not read our code: links to it are plain words.
fn describe(schema: &mut Schema) {
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.replace("[`", "`").replace("`]", "`").replace('\n', " ");
    }
}

/// A verb's documents.
pub(super) trait Documented {
    const DOCUMENTS: &'static [Document];
}

/// A document with its name: the verb's words, and its part if it has several.
pub(super) struct NamedDocument {
    pub(super) name: String,
    /// The command that prints it.
    pub(super) command: String,
    pub(super) document: Document,
}

/// A verb, or verbs with a word before them.
pub(super) trait Documents {
    fn documents(verb: &str, to: &mut Vec<NamedDocument>);
}

impl<T: Documented> Documents for T {
    fn documents(verb: &str, to: &mut Vec<NamedDocument>) {
        let words = |parts: &[&str]| {
            parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join(" ")
        };
        to.extend(T::DOCUMENTS.iter().map(|document| NamedDocument {
            name: words(&[verb, document.part]),
            command: words(&[verb, document.arguments, "--json"]),
            document: *document,
        }));
    }
}

/// The words of a verb: `RotateRecipients` below `seed` is `seed rotate-recipients`.
pub(super) fn below(above: &str, variant: &str) -> String {
    let mut words = above.to_owned();
    for (at, c) in variant.char_indices() {
        if c.is_ascii_uppercase() && !words.is_empty() {
            words.push(if at == 0 { ' ' } else { '-' });
        }
        words.push(c.to_ascii_lowercase());
    }
    words
}
