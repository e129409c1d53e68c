//! Properties: one text per meaning, nothing lost, and the order of merging does not matter.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        "[ -~\n\t%,;äöü€]{0,40}".prop_map(String::into_bytes),
        proptest::collection::vec(any::<u8>(), 0..40),
    ]
}

/// Configs over few names, so that collisions are frequent.
fn config() -> impl Strategy<Value = Config> {
    let file = ("/f/[a-e]", 0u32..0o7777, bytes(), any::<bool>());
    let unit = ("[a-c]\\.service", proptest::option::of("[a-b]{1,2}"), proptest::option::of(any::<bool>()));
    let dropins = proptest::collection::btree_map("[0-3]\\.conf", "[a-z]{0,3}", 0..3);
    let keys = proptest::collection::vec("key-[a-e]", 0..4);
    (
        proptest::collection::vec(file, 0..4),
        proptest::collection::btree_map("/d/[a-d]", 0u32..4, 0..3),
        proptest::collection::btree_map("/l/[a-d]", "/t/[a-b]", 0..3),
        proptest::collection::vec((unit, dropins), 0..3),
        proptest::collection::btree_map("[u-w]", keys, 0..3),
    )
        .prop_map(|(files, directories, links, units, users)| {
            let mut config = Config::new(Version::LAST);
            for (path, mode, bytes, packed) in files {
                let compression = if packed { Compression::Gzip } else { Compression::None };
                let _ = config.write(&path, mode, &bytes, compression); // twice is refused
            }
            for (path, mode) in directories {
                config.directory(&path, 0o700 + mode).unwrap();
            }
            for (path, target) in links {
                config.link(&path, &target).unwrap();
            }
            for ((name, contents, enabled), dropins) in units {
                let mut unit = spec::Unit::new(name.clone());
                (unit.contents, unit.enabled) = (contents, enabled);
                let of = |(name, text)| spec::Dropin { contents: Some(text), name };
                let dropins: Vec<spec::Dropin> = dropins.into_iter().map(of).collect();
                unit.dropins = (!dropins.is_empty()).then_some(dropins);
                config.units.insert(name, unit);
            }
            for (name, mut keys) in users {
                parse::sort(&mut keys);
                let mut user = spec::User::new(name.clone());
                user.ssh_authorized_keys = (!keys.is_empty()).then_some(keys);
                config.users.insert(name, user);
            }
            config
        })
}

/// Everything that a config has, by name.
fn names(config: &Config) -> BTreeSet<String> {
    let dropins = config.units.values().flat_map(|unit| {
        let dropins = unit.dropins.iter().flatten();
        dropins.map(|dropin| format!("{}/{}", unit.name, dropin.name))
    });
    let keys = config.users.values().flat_map(|user| {
        let keys = user.ssh_authorized_keys.iter().flatten();
        keys.map(|key| format!("{}:{key}", user.name))
    });
    let paths = config.files.keys().chain(config.directories.keys()).chain(config.links.keys());
    let named = paths.chain(config.units.keys()).chain(config.users.keys()).cloned();
    named.chain(dropins).chain(keys).collect()
}

/// Allows replacing everything that can collide.
fn replaced(configs: &[&Config]) -> BTreeSet<String> {
    configs.iter().flat_map(|config| names(config)).collect()
}

proptest! {
    #[test]
    fn text_round_trips(config in config()) {
        let text = config.emit();
        let again = Config::parse(&text).unwrap();
        prop_assert_eq!(&again, &config);
        prop_assert_eq!(again.emit(), text);
    }

    #[test]
    fn contents_round_trip(bytes in bytes(), packed in any::<bool>()) {
        let mut config = Config::new(Version::LAST);
        let compression = if packed { Compression::Gzip } else { Compression::None };
        let file = config.write("/x", 0o600, &bytes, compression).unwrap().clone();
        prop_assert_eq!(Contents::of(&file).unwrap(), Contents::Bytes(bytes.clone()));
        prop_assert_eq!(decode(&encode(&bytes)), Some(bytes));
    }

    #[test]
    fn merging_is_associative(a in config(), b in config(), c in config(), known in any::<bool>()) {
        let replace = if known { replaced(&[&a, &b, &c]) } else { BTreeSet::new() };
        let merge = |one: Config, two: Config| one.merge(two, &replace);
        let left = merge(a.clone(), b.clone()).and_then(|ab| merge(ab, c.clone()));
        let right = merge(b, c).and_then(|bc| merge(a, bc));
        prop_assert_eq!(left.is_ok(), right.is_ok());
        if let (Ok(left), Ok(right)) = (left, right) {
            prop_assert_eq!(left, right);
        }
    }

    #[test]
    fn merging_loses_nothing(a in config(), b in config()) {
        let replace = replaced(&[&a, &b]);
        let all: BTreeSet<String> = names(&a).union(&names(&b)).cloned().collect();
        prop_assert_eq!(names(&a.merge(b, &replace).unwrap()), all);
    }

    #[test]
    fn what_both_write_is_an_error_unless_replaced(a in config(), b in config()) {
        let clash = a.files.keys().any(|path| b.files.contains_key(path));
        if clash {
            prop_assert!(a.clone().merge(b.clone(), &BTreeSet::new()).is_err());
        }
        let merged = a.merge(b.clone(), &replaced(&[&b])).unwrap();
        prop_assert!(b.files.iter().all(|(path, file)| merged.files.get(path) == Some(file)));
    }

    #[test]
    fn reading_never_panics(text in "[{}\\[\\]\":,a-z0-9. ]{0,80}") {
        let _ = Config::parse(&text);
        let _ = decode(&text);
        let _ = unit(&text);
    }
}

fn parse(text: &str) -> Result<Config, String> {
    Config::parse(text).map_err(|error| error.to_string())
}

#[test]
fn what_the_spec_does_not_have_is_refused() {
    let refused = |text: &str| parse(text).unwrap_err();
    insta::assert_snapshot!(refused(r#"{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/a","moed":384}]}}"#), @"spec 3.4.0 has no `storage.files.0.moed`");
    insta::assert_snapshot!(refused(r#"{"ignition":{"version":"3.2.0"},"kernelArguments":{"shouldExist":["a"]}}"#), @"spec 3.2.0 has no `kernelArguments`");
    insta::assert_snapshot!(refused(r#"{"ignition":{"version":"3.6.0"}}"#), @"unknown spec version `3.6.0`");
    insta::assert_snapshot!(refused(r#"{"ignition":{"version":"2.2.0"}}"#), @"unknown spec version `2.2.0`");
    insta::assert_snapshot!(refused(r#"{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/a"}],"links":[{"path":"/a","target":"/b"}]}}"#), @"`/a` occurs twice");
    insta::assert_snapshot!(refused(r#"{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/a","contents":{"source":"data:,%4"}}]}}"#), @"the contents of `/a` are not a data URL");
    // The value may be a secret.
    insta::assert_snapshot!(refused(r#"{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/a","mode":"hunter2"}]}}"#), @"line 1, column 81: not valid in spec 3.4.0");
}

#[test]
fn every_version_is_read_and_the_form_is_one() {
    for minor in 0..=5 {
        let text = format!(
            r#"{{"storage": {{"files": [{{"path": "/b", "contents": {{"source": "data:text/plain;base64,aGkK"}}}}, {{"path": "/a", "mode": null, "contents": {{}}}}], "links": []}}, "ignition": {{"version": "3.{minor}.0"}}}}"#
        );
        assert_eq!(
            parse(&text).unwrap().emit(),
            format!(
                "{{\"ignition\":{{\"version\":\"3.{minor}.0\"}},\"storage\":{{\"files\":[{{\"path\":\"/a\"}},{{\"contents\":{{\"source\":\"data:,hi%0A\"}},\"path\":\"/b\"}}]}}}}\n"
            )
        );
    }
}

#[test]
fn an_older_spec_may_lack_a_field() {
    let config =
        parse(r#"{"ignition":{"version":"3.4.0"},"storage":{"luks":[{"name":"x","openOptions":["a"]}]}}"#);
    let config = config.unwrap();
    assert_eq!(config.to_version("3.5.0".parse().unwrap()).unwrap().version, Version::LAST);
    let error = config.to_version("3.3.0".parse().unwrap()).unwrap_err().to_string();
    assert_eq!(error, "spec 3.3.0 has no `storage.luks.0.openOptions`");
}

/// Like the Go library that the machine-config operator uses.
#[test]
fn text_is_encoded_as_the_operator_does() {
    assert_eq!(
        encode(b"a b\n[x]=\"\xc3\xa4\" -_.!~*'()"),
        "data:,a%20b%0A%5Bx%5D%3D%22%C3%A4%22%20-_.!~*'()"
    );
    assert_eq!(encode(b"\0"), "data:;base64,AA==");
    assert_eq!(decode("data:text/plain;charset=utf-8;base64,aGk%3D").as_deref(), Some(&b"hi"[..]));
    assert_eq!(decode("data:,a+b").as_deref(), Some(&b"a+b"[..]));
    assert_eq!(decode("data:;base64,a"), None);
}

#[test]
fn what_the_server_adds_has_its_shapes() {
    let config = r#"{"kind":"MachineConfig","spec":{"osImageURL":"os","config":{"ignition":{"version":"3.4.0"},"storage":{}}},"apiVersion":"machineconfiguration.openshift.io/v1"}"#;
    let served = |config: &str| served(config, "3.4.0".parse().unwrap());
    let made = served(config).unwrap();
    assert!(made.content.starts_with("{\n    \"apiVersion\": \"machineconfiguration.openshift.io/v1\",\n"));
    assert!(made.content.contains("\"storage\": {}"));
    assert_eq!(
        made.encapsulated,
        r#"{"apiVersion":"machineconfiguration.openshift.io/v1","kind":"MachineConfig","spec":{"config":{"ignition":{"version":"3.4.0"}},"osImageURL":"os"}}"#
    );
    assert!(served(r#"{"kind":"MachineConfig","spec":{}}"#).is_err());
}

/// Whatever MCO's own YAML says, the server writes no empty time; a time stays.
#[test]
fn an_empty_creation_timestamp_is_omitted() {
    let encapsulated = |metadata: &str| {
        let config = format!(r#"{{"kind":"MachineConfig","metadata":{metadata},"spec":{{"config":{{}}}}}}"#);
        let made = served(&config, "3.5.0".parse().unwrap()).unwrap();
        let content: serde_json::Value = serde_json::from_str(&made.content).unwrap();
        let encapsulated: serde_json::Value = serde_json::from_str(&made.encapsulated).unwrap();
        assert_eq!(content["metadata"], encapsulated["metadata"]);
        encapsulated["metadata"].to_string()
    };
    for metadata in [r#"{"creationTimestamp":null,"name":"a"}"#, r#"{"name":"a"}"#] {
        assert_eq!(encapsulated(metadata), r#"{"name":"a"}"#);
    }
    let dated = r#"{"creationTimestamp":"2026-11-17T00:00:00Z"}"#;
    assert_eq!(encapsulated(dated), dated);
}

#[test]
fn units_are_read_as_systemd_does() {
    let text = "# x\n[Service]\nExecStart=/bin/a \\\n  # not this\n  --b\nType = oneshot\n[Install\nWantedBy=x\nnonsense\n";
    let found = unit(text);
    assert_eq!(found.values("Service", "ExecStart").collect::<Vec<_>>(), ["/bin/a  --b"]);
    assert_eq!(found.values("Service", "Type").collect::<Vec<_>>(), ["oneshot"]);
    let faults: Vec<_> = found.faults.iter().map(|fault| (fault.line, fault.problem)).collect();
    assert_eq!(faults, [(7, "it is not a section"), (9, "it is not an assignment")]);
    assert!(!unit("A=b").faults.is_empty() && !unit("[S]\nA=b\\").faults.is_empty());
}
