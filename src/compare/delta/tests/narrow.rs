//! Removing common parts before parsing does not change the result.

use proptest::prelude::*;

use super::super::narrow::narrow;

const OBJECT: &str = "\
---
apiVersion: v1
kind: A
metadata:
  name: a
spec:
  same:
    a: 1
    b:
    - x
  text: |
    one: two

    # three
  list:
  - name: one
    same:
      c: d
    changes:
      e: f
  - name: two
    same:
      g: h
";

#[test]
fn common_blocks_go_and_what_tells_things_apart_stays() {
    let (old, new) = narrow(OBJECT, &OBJECT.replace("e: f", "e: g")).unwrap();
    insta::assert_snapshot!(old, @r"
    apiVersion: v1
    kind: A
    metadata:
      name: a
    spec:
      list:
      - name: one
        changes:
          e: f
      - name: two
    ");
    assert_eq!(new, old.replace("e: f", "e: g"));
}

#[test]
fn what_is_no_plain_object_is_left_alone() {
    for text in [
        "a: 1\n",
        "{}\n",
        "apiVersion: v1\nkind: A\nmetadata: &a {}\n",
        "- apiVersion: v1\n",
        "apiVersion: v1\nkind: A\nkind: B\nmetadata: {}\n",
    ] {
        assert!(narrow(text, text).is_none(), "{text}");
    }
}

/// A comment after the line that identifies an item does not make it a block.
#[test]
fn what_tells_an_item_stays_with_its_comment() {
    let text = |image: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: x}}\nspec:\n  containers:\n  - name: one\n    # Pinned.\n    image: {image}\n"
        )
    };
    let (old, _) = narrow(&text("a"), &text("b")).unwrap();
    assert!(old.contains("- name: one\n"), "{old}");
}

/// YAML blocks as programs write them.
fn block() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just(" 1\n".to_owned()),
        Just(" |\n  x: y\n\n  # z\n".to_owned()),
        Just(" {}\n".to_owned()),
        Just("\n".to_owned()),
        Just(" 'a\n  b'\n".to_owned()),
    ];
    let deeper = |text: &str| {
        text.lines()
            .map(|line| if line.is_empty() { "\n".into() } else { format!("  {line}\n") })
            .collect::<String>()
    };
    leaf.prop_recursive(4, 24, 4, move |inner| {
        let keys = prop::collection::btree_map("[a-d]|name", inner, 1..4);
        (keys, 0..3u8).prop_map(move |(map, form)| {
            let map: String = map.into_iter().map(|(key, value)| format!("{key}:{value}")).collect();
            match form {
                0 => format!("\n{}", deeper(&map)),
                1 => format!("\n- {}", deeper(&map).get(2..).unwrap_or_default()),
                _ => format!(
                    "\n- name: one\n  z:{}- name: two\n  y: 2\n",
                    deeper(&format!("\n{}", deeper(&map)))
                ),
            }
        })
    })
}

proptest! {
    #[test]
    fn nothing_is_lost_and_nothing_is_added(old in block(), new in block(), same in block()) {
        use super::super::{data::Data, read};
        let text = |block: &str| format!("apiVersion: v1\nkind: A\nmetadata:\n  name: a\nspec:\n  x:{}  same:{}", indented(block), indented(&same));
        let (old, new) = (text(&old), text(&new));
        let whole = |text: &str| -> Option<Data> {
            let mut problems = crate::base::hint::Problems::default();
            let found = crate::base::yaml::documents(crate::base::yaml::Source { name: "", text }, &mut problems);
            found.into_iter().next().filter(|_| problems.0.is_empty()).map(Data::of)
        };
        if let (Some(one), Some(two)) = (whole(&old), whole(&new)) {
            let [left, right] = read::documents(&old, &new).unwrap();
            prop_assert_eq!(found(left, right), found(vec![one], vec![two]), "{}\n{}", old, new);
        }
    }
}

/// Files and units of a config: a path, and one of a few contents.
fn config() -> impl Strategy<Value = String> {
    let files = prop::collection::vec(("/[a-c]", 0..3u8, any::<bool>()), 0..5);
    let units = prop::collection::vec(("[a-b].service", 0..2u8), 0..3);
    (files, units, any::<bool>()).prop_map(|(files, units, rest)| {
        let files: Vec<_> = files
            .into_iter()
            .map(|(path, content, mode)| {
                serde_json::json!({"path": path, "mode": if mode { 420 } else { 384 }, "contents": {"source": format!("data:,{content}%0A")}})
            })
            .collect();
        let units: Vec<_> = units
            .into_iter()
            .map(|(name, content)| serde_json::json!({"name": name, "contents": format!("[Service]\nRestart={content}\n")}))
            .collect();
        let passwd = serde_json::json!({"users": [{"name": "core", "uid": u8::from(rest)}]});
        serde_json::json!({"ignition": {"version": "3.4.0"}, "passwd": passwd, "storage": {"files": files}, "systemd": {"units": units}}).to_string()
    })
}

proptest! {
    #[test]
    fn nothing_of_a_config_is_lost(old in config(), new in config()) {
        use super::super::{read, sparse};
        let [one, two] = sparse::configs(&old, &new).unwrap();
        let whole = |text: &str| vec![read::json(text).unwrap()];
        let unique = |text: &str| {
            let value: serde_json::Value = serde_json::from_str(text).unwrap();
            let names = |list: &serde_json::Value, key: &str| {
                let all: Vec<String> = list.as_array().unwrap().iter().map(|item| item[key].to_string()).collect();
                all.iter().collect::<std::collections::BTreeSet<_>>().len() == all.len()
            };
            names(&value["storage"]["files"], "path") && names(&value["systemd"]["units"], "name")
        };
        // A config with duplicate paths is invalid; which entry counts is undefined.
        if unique(&old) && unique(&new) {
            prop_assert_eq!(found(vec![one], vec![two]), found(whole(&old), whole(&new)), "{}\n{}", old, new);
        }
    }
}

fn found(old: Vec<super::super::data::Data>, new: Vec<super::super::data::Data>) -> Vec<super::Change> {
    let context = super::DeltaContext::default();
    let mut walk = super::super::walk::Walk::new(&context);
    walk.field("file", |walk| super::super::object::documents(walk, old, new));
    walk.finish()
}

fn indented(text: &str) -> String {
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().unwrap_or_default().to_owned();
    first
        + &lines
            .map(|line| if line == "\n" { line.to_owned() } else { format!("    {line}") })
            .collect::<String>()
}

#[test]
fn an_identity_is_read_from_plain_lines_only() {
    let text = "apiVersion: config.openshift.io/v1\nkind: Network\nmetadata:\n  name: cluster\n  namespace: openshift\nspec: {}\n";
    let found = super::super::narrow::identity(text).unwrap();
    assert_eq!(found, ("config.openshift.io".into(), "Network".into(), "openshift".into(), "cluster".into()));
    for odd in ["name: 'cluster'", "name: &a cluster", "name: false", "names: cluster"] {
        assert_eq!(super::super::narrow::identity(&text.replace("name: cluster", odd)), None, "{odd}");
    }
    assert_eq!(super::super::narrow::identity(&format!("{text}---\n{text}")), None);
}
