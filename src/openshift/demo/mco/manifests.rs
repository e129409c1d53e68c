//! Objects from files, and files from objects.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use super::value::Value;
use super::{Done, Stop, read, write};

/// The text of a file, with the words of a Go program if there is none.
pub(super) fn text(path: &str) -> Result<String, String> {
    let bytes = std::fs::read(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => format!("open {path}: no such file or directory"),
        _ => format!("open {path}: {error}"),
    })?;
    String::from_utf8(bytes).map_err(|_| format!("{path} is not text"))
}

/// The one object of this kind that a file must hold.
pub(super) fn object(path: &str, group: &str, kind: &str) -> Result<Value, String> {
    let documents = read::documents(&text(path)?).map_err(|problem| format!("{path}: {problem}"))?;
    let Some(object) = documents.into_iter().next() else {
        return Err(format!("{path}: Object 'Kind' is missing in ''"));
    };
    match object.kind() {
        (_, "") => Err(format!("{path}: Object 'Kind' is missing")),
        found if found == (group, kind) => Ok(object),
        (other_group, other) => Err(format!("{path}: expected {group} {kind}, found {other_group} {other}")),
    }
}

/// Writes a file below a directory that is made if needed. Modes are those that the real programs leave behind.
pub(super) fn put(directory: &str, file: &str, bytes: &str) -> Done<()> {
    let path = Path::new(directory).join(file);
    let parent = path.parent().unwrap_or(Path::new("."));
    let written = DirBuilder::new()
        .recursive(true)
        .mode(0o764)
        .create(if parent.as_os_str().is_empty() { Path::new(".") } else { parent })
        .and_then(|()| std::fs::write(&path, bytes));
    written.map_err(|error| Stop::Fatal(format!("error writing {}: {error}", path.display())))
}

/// Writes an object as YAML.
pub(super) fn put_object(directory: &str, file: &str, object: &Value) -> Done<()> {
    put(directory, file, &write::yaml(object))
}

/// The metadata that every object which the demo makes carries.
pub(super) fn metadata(name: &str, annotations: Vec<(String, Value)>, labels: Vec<(String, Value)>) -> Value {
    let mut annotations: std::collections::BTreeMap<_, _> = annotations.into_iter().collect();
    annotations.insert("tinderbox/demo".to_owned(), "rendered by the demo release".into());
    let mut metadata = vec![
        ("annotations".to_owned(), Value::Map(annotations)),
        ("creationTimestamp".to_owned(), Value::Null),
        ("name".to_owned(), name.into()),
    ];
    if !labels.is_empty() {
        metadata.push(("labels".to_owned(), Value::Map(labels.into_iter().collect())));
    }
    Value::Map(metadata.into_iter().collect())
}

/// Reads every manifest of a directory, in the order of the files' names.
pub(super) fn directory(path: &str) -> Done<Vec<Value>> {
    let unreadable =
        |error: std::io::Error| Stop::Fatal(format!("error running MCC[BOOTSTRAP]: open {path}: {error}"));
    let mut names = Vec::new();
    for entry in std::fs::read_dir(path).map_err(unreadable)? {
        names.push(entry.map_err(unreadable)?.file_name());
    }
    names.sort();
    let mut objects = Vec::new();
    for name in names {
        let file = Path::new(path).join(name);
        let Ok(about) = std::fs::metadata(&file) else {
            // The real one asks the file that it could not open for its name.
            return Err(Stop::Panic(
                "runtime error: invalid memory address or nil pointer dereference".into(),
            ));
        };
        if about.is_dir() {
            continue;
        }
        let file = file.to_string_lossy();
        let wrong = |problem: String| {
            Stop::Fatal(format!(
                "error running MCC[BOOTSTRAP]: error parsing manifests from {file}: {problem}"
            ))
        };
        for document in read::documents(&text(&file).map_err(wrong)?).map_err(wrong)? {
            if document.kind().1.is_empty() {
                return Err(wrong("Object 'Kind' is missing".into()));
            }
            match document {
                list if list.kind().1 == "List" => objects.extend_from_slice(list.list(&["items"])),
                one => objects.push(one),
            }
        }
    }
    Ok(objects)
}
