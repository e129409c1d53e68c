//! Documents of `--json`, judged by their schemas with Debian's python3-jsonschema.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use serde_json::{Value, json};
use tinderbox::internals::yaml::{YamlData, YamlNode};

use super::{Workspace, left_out};

/// A schema that is open everywhere is closed first: a field that it does not list is an error here.
const SCRIPT: &str = r#"
import json, sys
from jsonschema import Draft202012Validator as V

def close(schema):
    if isinstance(schema, list):
        for part in schema: close(part)
    if isinstance(schema, dict):
        for part in list(schema.values()): close(part)
        if isinstance(schema.get('properties'), dict) and 'additionalProperties' not in schema:
            schema['unevaluatedProperties'] = False

errors = []
for name, schema, document in json.load(sys.stdin):
    if '"additionalProperties": false' not in json.dumps(schema): close(schema)
    V.check_schema(schema)
    errors += [f'{name}: {e.json_path}: {e.message[:200]}' for e in V(schema).iter_errors(document)]
print('\n'.join(errors[:9]))
sys.exit(3 if errors else 0)
"#;

static PYTHON: LazyLock<Option<&str>> = LazyLock::new(|| {
    ["/usr/bin/python3", "python3"].into_iter().find(|python| {
        let tried = Command::new(python)
            .args(["-c", "from jsonschema import Draft202012Validator"])
            .stderr(Stdio::null())
            .status();
        tried.is_ok_and(|status| status.success())
    })
});

/// Whether documents are as their schemas say: each with a name and its schema. None, and a word about it, if there is
/// nobody to judge.
pub(crate) fn judge_all(documents: &[(String, Value, Value)]) -> Option<Result<(), String>> {
    let Some(python) = *PYTHON else {
        left_out("schemas of documents", "jsonschema, of Debian's python3-jsonschema");
        return None;
    };
    let mut judge = Command::new(python)
        .args(["-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    judge.stdin.take().unwrap().write_all(json!(documents).to_string().as_bytes()).unwrap();
    let output = judge.wait_with_output().unwrap();
    match output.status.code() {
        Some(0) => Some(Ok(())),
        Some(3) => Some(Err(String::from_utf8(output.stdout).unwrap())),
        _ => panic!("{}", String::from_utf8_lossy(&output.stderr)),
    }
}

/// The same for one document and the text of a schema.
pub(crate) fn judge(schema: &str, document: &Value) -> Option<Result<(), String>> {
    judge_all(&[(String::new(), serde_json::from_str(schema).unwrap(), document.clone())])
}

/// Fails unless a document is as `schema NAME` says.
pub(crate) fn assert_document(ws: &Workspace, name: &str, document: &Value) {
    let schema = ws.json(&["schema", name]);
    if let Some(judged) = judge_all(&[(name.to_owned(), schema, document.clone())]) {
        assert_eq!(judged, Ok(()));
    }
}

/// A YAML document as an API server reads it.
pub(crate) fn json_of(node: &YamlNode) -> Value {
    match &node.data {
        YamlData::Scalar { text, plain: false } => json!(text),
        YamlData::Scalar { text, plain: true } => match text.as_str() {
            "" | "null" | "~" => Value::Null,
            "true" => json!(true),
            "false" => json!(false),
            text => text.parse::<i64>().map_or_else(|_| json!(text), |number| json!(number)),
        },
        YamlData::List(items) => items.iter().map(json_of).collect(),
        YamlData::Map(entries) => {
            Value::Object(entries.iter().map(|entry| (entry.key.clone(), json_of(&entry.value))).collect())
        }
    }
}
