//! YAML as Go reads it: `sigs.k8s.io/yaml`, through which the CVO, `oc` and every operator turn manifests into JSON.
//!
//! | in the text | what Go makes of it |
//! |---|---|
//! | a quoted text or brackets that go on at their key's column, or left of it | as if indented |
//! | `yes`, `on`, `n`, `0755`, `1_000`, `0b11` | true, true, false, 493, 1000, 3: [`resolve`], values and keys alike |
//! | `=`, `2020-01-01`, `1:30` | texts |
//! | keys `1`, `0x10`, `1.5`, `on` | `"1"`, `"16"`, `"1.5"`, `"true"` |
//! | a key twice | the last one counts |
//! | `<<: *base` | the entries of `base` at this place: they replace what stands above and yield to what stands below |
//! | `!!int "5"`, `!!binary aGk=`, `!Ref x` | 5, `hi`, `x` |
//! | `.inf`, `.nan`, an empty key, a list or map as a key | refused, as JSON has none of them |
//! | `{"a": 1} {"b": 2}` | two documents |
//!
//! Where Go silently drops text (behind `...`, behind a document that is indented less than its first line), we refuse
//! the file: nobody means that. Deeper nesting than [`MAX_DEPTH`](super::read) is refused too.
//!
//! How it is done. `saphyr-parser` follows the letter of YAML 1.2, and its maintainers decided against such
//! indentation (their issue 57); `libyaml-safer`, a port of what Go's scanner is a port of, panics on a block scalar
//! without a final newline, as files of openshift/api have it; `libyaml-rs` is C, translated to unsafe Rust. So there is one
//! parser for both dialects. What it refuses and Go accepts is [adapted](super::adapt): more indentation changes
//! nothing inside quotes and brackets. A file that it accepts is read exactly once, as before.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use saphyr_parser::Tag;

use super::read::{YamlData, YamlEntry, YamlNode};
use super::scalar::{Scalar, resolve};

/// The name that a key which is not a text becomes; none if Go refuses it.
pub(super) fn key(scalar: Scalar) -> Option<String> {
    match scalar {
        Scalar::Bool(value) => Some(value.to_string()),
        Scalar::Int(value) => i64::try_from(value).ok().map(|value| value.to_string()),
        Scalar::Float(value) => Some(float_key(value as f32)),
        Scalar::Null | Scalar::Text => None,
    }
}

/// As `strconv.FormatFloat(value, 'g', -1, 32)` writes it.
fn float_key(value: f32) -> String {
    let digits = format!("{value:e}");
    match digits.split_once('e').and_then(|(digits, exponent)| Some((digits, exponent.parse::<i32>().ok()?)))
    {
        Some((_, -4..=5)) => value.to_string(),
        Some((digits, exponent)) => {
            format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.unsigned_abs())
        }
        None => ".inf".into(),
    }
}

/// Whether a plain scalar is a number that JSON cannot say.
pub(super) fn is_not_json(text: &str) -> bool {
    let name = text.strip_prefix(['+', '-']).unwrap_or(text);
    matches!(name, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN")
}

/// The text of a scalar with a tag, and whether it is to be resolved like one without quotes.
pub(super) fn tagged(tag: &Tag, text: String) -> Result<(String, bool), String> {
    if !tag.is_yaml_core_schema() {
        return Ok((text, false));
    }
    let fits = match (tag.suffix.as_str(), resolve(&text)) {
        ("int", scalar) => matches!(scalar, Scalar::Int(_)),
        ("float", scalar) => matches!(scalar, Scalar::Int(_) | Scalar::Float(_)),
        ("bool", scalar) => matches!(scalar, Scalar::Bool(_)),
        ("null", scalar) => matches!(scalar, Scalar::Null),
        ("merge", _) => text == "<<",
        ("binary", _) => {
            let bytes = STANDARD.decode(text.replace(['\n', '\r'], ""));
            let bytes = bytes.map_err(|_| "what is tagged `!!binary` is not base64".to_owned())?;
            return Ok((String::from_utf8_lossy(&bytes).into_owned(), false));
        }
        _ => return Ok((text, false)),
    };
    match fits {
        true => Ok((text, true)),
        false => Err(format!("`{text}` is not what its tag `!!{}` says", tag.suffix)),
    }
}

/// The entries that a merge key brings, those that count last; the first of several maps wins.
pub(super) fn merged(node: YamlNode) -> Result<Vec<YamlEntry>, &'static str> {
    const REFUSED: &str = "a merge key (`<<`) takes a map or a list of maps";
    match node.data {
        YamlData::Map(entries) => Ok(entries),
        YamlData::List(items) => {
            items.into_iter().rev().try_fold(Vec::new(), |mut all, item| match item.data {
                YamlData::Map(entries) => {
                    all.extend(entries);
                    Ok(all)
                }
                _ => Err(REFUSED),
            })
        }
        YamlData::Scalar { .. } => Err(REFUSED),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Source, documents, flow, go_documents};
    use super::*;
    use crate::base::hint::Problems;
    use crate::base::json::canonical;

    /// What the API server would get, as JSON.
    fn json(node: &YamlNode) -> serde_json::Value {
        match &node.data {
            YamlData::Scalar { text, plain } => match if *plain { resolve(text) } else { Scalar::Text } {
                Scalar::Null => serde_json::Value::Null,
                Scalar::Bool(value) => value.into(),
                Scalar::Int(value) => u64::try_from(value).map_or_else(|_| (value as i64).into(), Into::into),
                Scalar::Float(value) => value.into(),
                Scalar::Text => text.as_str().into(),
            },
            YamlData::List(items) => items.iter().map(json).collect(),
            YamlData::Map(entries) => {
                entries.iter().map(|entry| (entry.key.clone(), json(&entry.value))).collect()
            }
        }
    }

    /// All documents on one line, or the first problem.
    fn go(text: &str) -> String {
        let mut problems = Problems::default();
        let found = go_documents(Source { name: "f.yaml", text }, &mut problems);
        match problems.0.first() {
            Some(problem) => format!("{}: {}", problem.place, problem.message),
            None => found.iter().map(|node| canonical(&json(node))).collect::<Vec<_>>().join(" "),
        }
    }

    /// Each line was compared with what `sigs.k8s.io/yaml` 1.4 and 1.6 say, through apimachinery's decoder.
    #[test]
    fn what_go_accepts_is_read_as_go_reads_it() {
        for (text, wanted) in [
            // Indentation inside quotes and brackets.
            ("a:\n  b: 'x\n  y'\n  c: 1\n", r#"{"a":{"b":"x y","c":1}}"#),
            ("a:\n- b: \"x\n\ny\\\nz\"\n  c: 1\n", r#"{"a":[{"b":"x\nyz","c":1}]}"#),
            ("a:\n  b: 'x\n\ty'\n", r#"{"a":{"b":"x y"}}"#),
            ("a:\n  b: [x,\nz\n]\n  c: {\n\td: 1}\n", r#"{"a":{"b":["x","z"],"c":{"d":1}}}"#),
            ("a:\n    b:\n        - c: [x,\ny z\n    w]\n", r#"{"a":{"b":[{"c":["x","y z w"]}]}}"#),
            ("a:\tb\n", r#"{"a":"b"}"#),
            ("a: 'b'#c\n", r#"{"a":"b"}"#),
            // Scalars.
            ("[=, yes, N, On, off, True, ~, Null, '']", r#"["=",true,false,true,false,true,null,null,""]"#),
            ("[0755, 0o755, 08, -0755, 0x1F, 0b11, 1_000, 0o8]", r#"[493,493,8.0,-493,31,3,1000,"0o8"]"#),
            (
                "[18446744073709551615, 18446744073709551616, 0x1ffffffffffffffff]",
                r#"[18446744073709551615,1.8446744073709552e+19,"0x1ffffffffffffffff"]"#,
            ),
            ("[1e3, .5, +.5, 1., 1e400, 209e89438390]", r#"[1000.0,0.5,0.5,1.0,"1e400","209e89438390"]"#),
            ("[2020-01-01, 1:30, 1.2.3, inf, 0x1p4]", r#"["2020-01-01","1:30","1.2.3","inf","0x1p4"]"#),
            // Keys.
            ("on: 1\n", r#"{"true":1}"#),
            ("{1: a, 0x10: b, 0755: c, -3: d}", r#"{"-3":"d","1":"a","16":"b","493":"c"}"#),
            ("{1.5: a, 1e3: b, 1e7: c, 0.00001: d}", r#"{"1.5":"a","1000":"b","1e+07":"c","1e-05":"d"}"#),
            ("{'on': 1, \"1\": 2}", r#"{"1":2,"on":1}"#),
            ("a: 1\nb: 2\na: 3\n", r#"{"a":3,"b":2}"#),
            // Merge keys count where they stand.
            (
                "x: &x {a: 1, b: 2}\nz:\n  a: 0\n  <<: *x\n  b: 9\n",
                r#"{"x":{"a":1,"b":2},"z":{"a":1,"b":9}}"#,
            ),
            ("z:\n  <<: [{a: 1}, {a: 2, b: 3}]\n", r#"{"z":{"a":1,"b":3}}"#),
            ("z: {'<<': {a: 1}, b: <<}", r#"{"z":{"<<":{"a":1},"b":"<<"}}"#),
            // Tags.
            ("[!!str 1, !!int '5', !!float 1, !!bool 'no', ! 12, !Ref x]", r#"["1",5,1,false,"12","x"]"#),
            ("[!!binary aGk=, !!null '', !Sub [1], !!map {a: 1}]", r#"["hi",null,[1],{"a":1}]"#),
            // Documents.
            ("\u{feff}a: 1\r\nb: |\r\n  x\r\n", r#"{"a":1,"b":"x\n"}"#),
            ("---\n# c\n--- # d\na: 1\n...\n---\t\nb: 2\n---\n", r#"{"a":1} {"b":2}"#),
            ("{\"a\":1}{\"b\":2}\n {\"c\":3}", r#"{"a":1} {"b":2} {"c":3}"#),
            ("{\n\t\"a\": [\n\t1\n\t],\n\t\"a\": 2\n}\n", r#"{"a":2}"#),
            ("a: |\n  x\n  ", r#"{"a":"x\n"}"#),
            ("a: |\n  x\n    ", r#"{"a":"x\n  \n"}"#),
            ("", ""),
        ] {
            assert_eq!(go(text), wanted, "{text}");
        }
    }

    #[test]
    fn what_go_refuses_or_drops_is_refused_with_its_line() {
        for (text, wanted) in [
            ("a: 1\n~: 2\n", "f.yaml:2: a key is empty"),
            ("a: 1\n[b]: 2\n", "f.yaml:2: a list or map is used as a key"),
            ("18446744073709551615: 2\n", "f.yaml:1: the key `18446744073709551615` is not a text"),
            ("a: 1\nb: .inf\n", "f.yaml:2: `.inf` is a number that JSON does not have"),
            ("a: !!int x\n", "f.yaml:1: `x` is not what its tag `!!int` says"),
            ("a: !!binary x\n", "f.yaml:1: what is tagged `!!binary` is not base64"),
            ("a:\n  <<: x\n", "f.yaml:2: a merge key (`<<`) takes a map or a list of maps"),
            ("a: &x [*x]\n", "f.yaml:1: this alias stands inside what it repeats"),
            ("a: 1\n...\nb: 2\n", "f.yaml:3: Go ignores what stands here, between `...` and the next `---`"),
            (" a: 1\nb: 2\n", "f.yaml:2: not valid YAML: did not find expected <document start>"),
            (
                "a:\n\tb: 1\n",
                "f.yaml:2: not valid YAML: tabs disallowed within this context (block indentation)",
            ),
            // The line of the file, below lines and documents that were adapted.
            ("a:\n  b: 'x\n  y'\n  c: [1,\n]\n  d: }\n", "f.yaml:6: not valid YAML: misplaced bracket"),
            ("{}{}\n{\"a\": }}\n", "f.yaml:2: not valid YAML: misplaced bracket"),
            (
                "a:\n  b: 'x\n---\n  y'\n",
                "f.yaml:2: not valid YAML: while scanning a quoted scalar, found unexpected document indicator",
            ),
        ] {
            assert_eq!(go(text), wanted, "{text}");
        }
    }

    #[test]
    fn adapted_text_leads_back_to_the_places_of_the_file() {
        let text = "a:\n  b: 'ä\n  é'\n  c: [ö,\nü\n]\n# c\nd: e\n";
        let mut problems = Problems::default();
        let root = go_documents(Source { name: "f", text }, &mut problems).remove(0);
        let at = |path: &[&str]| path.iter().fold(&root, |node, key| node.get(key).unwrap());
        for (path, line, written) in [
            (&["a", "b"][..], 2, "'ä\n  é'"),
            (&["a", "c"], 4, "[ö,\nü\n]"),
            (&["d"], 8, "e"),
            (&[], 1, text.trim_end()),
        ] {
            let node = at(path);
            assert_eq!((node.line, &text[node.span.clone()]), (line, written), "{path:?}");
        }
        let item = &at(&["a", "c"]).items()[1];
        assert_eq!((item.line, &text[item.span.clone()]), (5, "ü"));
        let stream = "{\"a\": 1}\n{\"b\":\n 2}{\"c\": 3}";
        let found = go_documents(Source { name: "f", text: stream }, &mut problems);
        let found: Vec<_> = found.iter().map(|node| (node.line, &stream[node.span.clone()])).collect();
        assert_eq!(found, [(1, "{\"a\": 1}"), (2, "{\"b\":\n 2}"), (3, "{\"c\": 3}")]);
    }

    #[test]
    fn bombs_are_refused() {
        let merges = (1..40).fold("a0: &a0 {k: v}\n".to_owned(), |text, n| {
            text + &format!("a{n}: &a{n} {{<<: [*a{0}, *a{0}], x: [*a{0}, *a{0}]}}\n", n - 1)
        });
        assert!(go(&merges).contains("repeats too much"));
        assert!(go(&"- ".repeat(10_000)).contains("too deeply"));
        let twice: String = (0..20_000).map(|n| format!("k{}: 1\n", n % 10_000)).collect();
        assert_eq!(go(&twice).matches("\":1").count(), 10_000);
    }

    /// An empty value at the end of a text without a final newline stands on the last line.
    #[test]
    fn the_end_is_on_the_last_line() {
        let found = go_documents(Source { name: "f", text: "b: 1\n? a" }, &mut Problems::default());
        let YamlData::Map(entries) = &found[0].data else { panic!("{found:?}") };
        assert_eq!(entries.iter().map(|entry| entry.value.line).collect::<Vec<_>>(), [1, 2]);
    }

    proptest! {
        /// Whatever the text: no panic, every place is in it, and what both dialects accept is the same data.
        #[test]
        fn any_text_is_read_or_refused(
            pieces in prop::collection::vec(
                prop::sample::select(&[
                    "a", "b", "ä", "1", "on", ": ", ":", "- ", "-", "\n", "\n", "\n  ", "\n    ", " ", "\t", "\r\n",
                    "'", "\"", "[", "]", "{", "}", ", ", "#", " #", "&x ", "*x", "<<: ", "!!int ", "!t ", "| ", "|\n",
                    ">-\n", "---\n", "...\n", "? ", "%", "\\", "\u{feff}", "\u{85}", "\0", "~", "=",
                ][..]),
                0..60,
            )
        ) {
            let text = pieces.concat();
            let (mut strict, mut lenient) = (Problems::default(), Problems::default());
            let one = documents(Source { name: "f", text: &text }, &mut strict);
            let two = go_documents(Source { name: "f", text: &text }, &mut lenient);
            fn places(node: &YamlNode, text: &str) {
                assert!(text.get(node.span.clone()).is_some(), "{node:?}");
                assert!((1..=text.split(['\n', '\r']).count()).contains(&node.line), "{node:?}");
                node.items().iter().for_each(|item| places(item, text));
                if let YamlData::Map(entries) = &node.data {
                    entries.iter().for_each(|entry| places(&entry.value, text));
                }
            }
            two.iter().for_each(|node| places(node, &text));
            if strict.0.is_empty() && lenient.0.is_empty() && !text.ends_with(' ') {
                prop_assert_eq!(one.len(), two.len());
                for (one, two) in one.iter().zip(&two) {
                    prop_assert!(one.means(two), "{} {}", flow(one), flow(two));
                }
            }
        }
    }
}
