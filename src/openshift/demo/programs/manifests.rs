//! Reads and writes objects.

use std::io::Write as _;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::{Build, Done, Stop, go_yaml};
use crate::base::fs;
use crate::base::hint::Problems;
use crate::base::yaml::{self, Source};
use crate::openshift::schema;

/// The text of a file; a missing file yields the error of a Go program.
pub(super) fn text(path: &str) -> Result<String, String> {
    let bytes = fs::read(Path::new(path)).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => format!("open {path}: no such file or directory"),
        _ => format!("open {path}: {}", error.source),
    })?;
    String::from_utf8(bytes).map_err(|_| format!("{path} is not text"))
}

/// The documents of a text, typed as Kubernetes does.
pub(super) fn documents(name: &str, text: &str) -> Result<Vec<Value>, String> {
    let mut problems = Problems::default();
    let found = yaml::documents(Source { name, text }, &mut problems);
    match problems.or(()) {
        Ok(()) => Ok(found.iter().map(schema::json).collect()),
        Err(Problems(found)) => {
            // Without the hint: the real programs have none.
            Err(found.first().map(|first| format!("{}: {}", first.place, first.message)).unwrap_or_default())
        }
    }
}

/// The first document of a file; null if there is none.
pub(super) fn document(name: &str, text: &str) -> Result<Value, String> {
    Ok(documents(name, text)?.into_iter().next().unwrap_or_default())
}

/// The text of a scalar; empty for anything else.
pub(super) fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => String::new(),
    }
}

/// The items of a list; empty for anything else.
pub(super) fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

pub(super) fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// The group and kind of an object.
pub(super) fn kind(object: &Value) -> (&str, &str) {
    let version = object["apiVersion"].as_str().unwrap_or_default();
    (version.split_once('/').map_or("", |(group, _)| group), object["kind"].as_str().unwrap_or_default())
}

/// Whether a label selector matches labels. An empty selector matches nothing.
pub(super) fn selects(selector: &Value, labels: &Value) -> bool {
    let label = |key: &str| labels.get(key);
    let rules = items(&selector["matchExpressions"]);
    let by_label = match &selector["matchLabels"] {
        Value::Object(wanted) => wanted.iter().all(|(key, value)| label(key) == Some(value)),
        _ => !rules.is_empty(),
    };
    by_label
        && rules.iter().all(|rule| {
            let found = label(rule["key"].as_str().unwrap_or_default());
            let listed = found.is_some_and(|value| items(&rule["values"]).contains(value));
            match rule["operator"].as_str() {
                Some("In") => listed,
                Some("NotIn") => !listed,
                Some("Exists") => found.is_some(),
                Some("DoesNotExist") => found.is_none(),
                _ => false,
            }
        })
}

/// The object of this kind that a file must contain.
pub(super) fn object(path: &str, group: &str, wanted: &str) -> Result<Value, String> {
    let object = document(path, &text(path)?)?;
    match kind(&object) {
        (_, "") => Err(format!("{path}: Object 'Kind' is missing")),
        found if found == (group, wanted) => Ok(object),
        (other_group, other) => {
            Err(format!("{path}: expected {group} {wanted}, found {other_group} {other}"))
        }
    }
}

/// The metadata of every object that the demo creates.
pub(super) fn metadata(name: &str, annotations: &[(&str, &str)], labels: &[(&str, &str)]) -> Value {
    let map = |entries: &[(&str, &str)]| -> Map<String, Value> {
        entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).into())).collect()
    };
    let mut annotations = map(annotations);
    annotations.insert("tinderbox/demo".into(), "rendered by the demo release".into());
    let mut metadata = json!({"annotations": annotations, "creationTimestamp": null, "name": name});
    if !labels.is_empty() {
        metadata["labels"] = map(labels).into();
    }
    metadata
}

impl Build<'_> {
    /// Writes a file below a directory, which is created if needed.
    pub(super) fn put(&self, directory: &str, file: &str, text: &str) -> Done<()> {
        let path = self.directory.join(directory).join(file);
        let write = || {
            fs::create_dirs(path.parent().unwrap_or(self.directory))?;
            let written = fs::create_or_truncate(&path)?.write_all(text.as_bytes());
            written.map_err(|error| fs::Error::new("write", &path, error))
        };
        write().map_err(|error| Stop::Fatal(format!("error writing {}: {}", path.display(), error.source)))
    }

    /// Creates a directory.
    pub(super) fn put_dir(&self, directory: &str) -> Done<()> {
        let path = self.directory.join(directory);
        fs::create_dirs(&path)
            .map_err(|error| Stop::Fatal(format!("mkdir {}: {}", path.display(), error.source)))
    }

    /// Writes an object as YAML.
    pub(super) fn put_object(&self, directory: &str, file: &str, object: &Value) -> Done<()> {
        self.put(directory, file, &go_yaml::write(object))
    }
}

/// Reads every manifest of a directory, in file name order. `problem` precedes what is wrong.
pub(super) fn directory(path: &str, problem: &str) -> Done<Vec<Value>> {
    let names = fs::list(Path::new(path))
        .map_err(|error| Stop::Fatal(format!("{problem}: open {path}: {}", error.source)))?;
    let mut objects = Vec::new();
    for name in names {
        // Follow links.
        let Ok(file) = fs::canonical(&Path::new(path).join(name)) else {
            // The real program panics on a file that it could not open.
            return Err(Stop::Panic(
                "runtime error: invalid memory address or nil pointer dereference".into(),
            ));
        };
        if fs::metadata(&file).is_ok_and(|about| about.is_dir()) {
            continue;
        }
        let file = file.to_string_lossy();
        let wrong =
            |what: String| Stop::Fatal(format!("{problem}: error parsing manifests from {file}: {what}"));
        for document in documents(&file, &text(&file).map_err(wrong)?).map_err(wrong)? {
            match kind(&document).1 {
                "" => return Err(wrong("Object 'Kind' is missing".into())),
                "List" => objects.extend_from_slice(items(&document["items"])),
                _ => objects.push(document),
            }
        }
    }
    Ok(objects)
}
