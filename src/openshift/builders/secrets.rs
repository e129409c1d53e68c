//! Detects empty Secrets: operators' renders exit with 0 and write one when an input is not what they expect.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use super::BuildError;
use crate::base::fs::At as _;
use crate::base::hint::Problems;
use crate::base::yaml::{self, Source, YamlData, YamlNode};

/// What is wrong with a file that a program wrote: an empty Secret.
pub(super) fn empty(path: &str, file: &mut File) -> Result<Option<String>, BuildError> {
    if !yaml::is_manifest(path) {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).at("read", Path::new(path))?;
    let Ok(text) = String::from_utf8(bytes) else { return Ok(None) };
    if !text.contains("Secret") {
        return Ok(None);
    }
    let documents = yaml::go_documents(Source { name: path, text: &text }, &mut Problems::default());
    let empty = documents
        .iter()
        .filter(|document| document.get("kind").and_then(YamlNode::text) == Some("Secret"))
        .find_map(nothing);
    Ok(empty.map(|what| format!("wrote `{path}`, a Secret {what}")))
}

/// What a Secret lacks.
fn nothing(secret: &YamlNode) -> Option<String> {
    let entries: Vec<(&str, &YamlNode)> = ["data", "stringData"]
        .iter()
        .filter_map(|field| secret.get(field))
        .flat_map(|map| match &map.data {
            YamlData::Map(entries) => {
                entries.iter().map(|entry| (entry.key.as_str(), &entry.value)).collect()
            }
            _ => Vec::new(),
        })
        .collect();
    if entries.is_empty() {
        return Some("without data".into());
    }
    let empty = entries.iter().find(|(_, value)| value.text().is_none_or(|text| text.trim().is_empty()));
    empty.map(|(key, _)| format!("whose `{key}` is empty"))
}

#[cfg(test)]
mod tests {
    use std::io::{Seek as _, Write as _};

    use super::*;

    fn secret(text: &str) -> Option<String> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file.rewind().unwrap();
        empty("secret.yaml", &mut file).unwrap()
    }

    #[test]
    fn a_secret_that_holds_nothing_is_found() {
        let says = |problem: &str| Some(format!("wrote `secret.yaml`, a Secret {problem}"));
        assert_eq!(secret("kind: Secret\ndata:\n  tls.crt: YQ==\n"), None);
        assert_eq!(secret("kind: Secret\nstringData:\n  tls.crt: a\n"), None);
        assert_eq!(secret("kind: ConfigMap\ndata: {Secret: ''}\n"), None);
        assert_eq!(
            secret("kind: Secret\ndata:\n  tls.crt: YQ==\n  tls.key: \"\"\n"),
            says("whose `tls.key` is empty")
        );
        assert_eq!(secret("kind: Secret\ndata:\n  tls.key:\n"), says("whose `tls.key` is empty"));
        assert_eq!(secret("kind: Secret\ndata: {}\n"), says("without data"));
        assert_eq!(secret("a: b\n---\nkind: Secret\n"), says("without data"));
    }
}
