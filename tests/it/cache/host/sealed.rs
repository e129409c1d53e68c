//! Secret outputs in a registry: only for recipients, and without a name.

use std::collections::BTreeSet;
use std::path::PathBuf;

use age::secrecy::ExposeSecret as _;
use serde_json::Value;

use super::super::{build, configure_at, generate, objects};
use super::{contents, secrets_stay_at_home, unpacked};
use crate::harness::{Workspace, left_out, list, mode, names, set_mode, tamper, tree, tried};
use crate::registry::host::Registry;

/// Somebody with an age identity: its file, and the recipient.
struct Reader {
    file: PathBuf,
    recipient: String,
}

impl Reader {
    fn new(workspace: &Workspace) -> Self {
        let identity = age::x25519::Identity::generate();
        let file = workspace.temp().join(identity.to_public().to_string());
        std::fs::write(&file, identity.to_string().expose_secret()).unwrap();
        set_mode(&file, 0o600);
        Self { file, recipient: identity.to_public().to_string() }
    }

    fn file(&self) -> &str {
        self.file.to_str().unwrap()
    }
}

fn configure(workspace: &Workspace, registry: &Registry, trust: &[&str], recipients: &[&Reader]) {
    let recipients: Vec<&str> = recipients.iter().map(|reader| reader.recipient.as_str()).collect();
    let more = format!("  recipients: [{}]\n", recipients.join(", "));
    configure_at(workspace, (&registry.address, &registry.ca), trust, &more);
}

/// A workspace that built targets and pushed them, secrets included; its key; and what the push said.
fn pusher(registry: &Registry, reader: &Reader, targets: &[&str]) -> (Workspace, String, Value) {
    let from = Workspace::example();
    let key = format!("key: '{}'", generate(&from));
    configure(&from, registry, &[], &[reader]);
    from.build(targets);
    let pushed = from.json(&[&["push"], targets].concat());
    (from, key, pushed)
}

fn taker(registry: &Registry, trust: &str) -> Workspace {
    let to = Workspace::example();
    configure(&to, registry, &[trust], &[]);
    to
}

#[test]
fn secrets_are_restored_by_their_recipients_and_by_nobody_else() {
    let Some(registry) = Registry::start() else { return left_out("a cache", "docker-registry") };
    let home = Workspace::empty();
    let (reader, stranger) = (Reader::new(&home), Reader::new(&home));
    let (from, key, pushed) = pusher(&registry, &reader, &[]);
    let report = &pushed[0];
    let sealed = report["sealed"].as_u64().unwrap();
    assert!(sealed > 40 && report["kept_back"]["secret"].is_null(), "{report}");
    let again = &from.json(&["push"])[0];
    assert_eq!(
        (&again["new"], &again["blobs"], &again["bytes"], &again["manifests"]),
        (&0.into(), &0.into(), &0.into(), &0.into())
    );
    secrets_stay_at_home(&from, &registry);
    // Sizes say little.
    let sizes = names_stay_at_home(&from, &registry);
    assert!((1..12).contains(&sizes.len()), "{sizes:?}");

    // With identity and trust: everything, and nothing is built.
    let to = taker(&registry, &format!("{key}, secrets: true"));
    let (taken, said) = build(&to, &["--identity", reader.file()]);
    assert!(!said.contains("warning: cache"), "{said}");
    assert_eq!(
        (&taken["built"], names(&taken["substituted"]).len() as u64),
        (&serde_json::json!([]), report["entries"].as_u64().unwrap())
    );
    let expected = build(&from, &[]).0;
    assert_eq!(objects(&taken), objects(&expected));
    to.assert_sound();
    let mut compared = 0;
    for object in list(&from.store).into_iter().filter(|name| name != ".tinderbox" && name != "README.md") {
        let (one, other) = (from.store.join(&object), to.store.join(&object));
        assert!(mode(&one) == mode(&other) && tree(&one) == tree(&other), "{object}");
        compared += 1;
    }
    assert!(compared > 100, "{compared}");
    // What came from there needs trust on the next build too.
    configure(&to, &registry, &[&key], &[]);
    let (report, _) = build(&to, &["--no-cache"]);
    assert_eq!(names(&report["built"]).len() as u64, sealed, "{report}");

    // Without an identity, or without trust in secrets, they are made here: no warning, the same result.
    let trusting = format!("{key}, secrets: true");
    for (trust, args) in [(trusting.as_str(), &[][..]), (&key, &["--identity", reader.file()])] {
        let to = taker(&registry, trust);
        let (report, said) = build(&to, args);
        assert_eq!(names(&report["built"]).len() as u64, sealed, "{said}");
        assert!(objects(&report) == objects(&expected) && !said.contains("warning: cache"), "{said}");
    }
    // Somebody else's identity: said once.
    let to = taker(&registry, &trusting);
    let (report, said) = build(&to, &["--identity", stranger.file()]);
    assert_eq!(objects(&report), objects(&expected));
    assert!(said.contains("encrypted for others") && said.matches("warning: cache").count() == 1, "{said}");
}

/// No label of a secret output is anywhere. The sizes of what is encrypted.
pub(super) fn names_stay_at_home(from: &Workspace, registry: &Registry) -> BTreeSet<usize> {
    let (mut secret, mut public) = (BTreeSet::new(), String::new());
    for object in list(&from.store).into_iter().filter(|name| name.len() > 53 && name != "README.md") {
        match mode(&from.store.join(&object)) {
            0o500 => drop(secret.insert(object[53..].to_owned())),
            _ => public += &object,
        }
    }
    secret.retain(|name| name.len() >= 8 && !public.contains(name.as_str()));
    assert!(secret.len() > 20, "{secret:?}");
    let mut sizes = BTreeSet::new();
    for (path, bytes) in contents(registry) {
        if bytes.starts_with(b"age-encryption.org/v1") {
            // age adds a header of random length, below 512 bytes.
            sizes.insert(bytes.len() / 1024);
            continue;
        }
        let plain = unpacked(&bytes);
        // Statements are in base64, once in manifests and twice in an index.
        let inner = decoded(&bytes);
        for name in &secret {
            let is_in = |bytes: &[u8]| bytes.windows(name.len()).any(|window| window == name.as_bytes());
            let found = is_in(&bytes) || is_in(&plain) || inner.iter().any(|bytes| is_in(bytes));
            assert!(!found, "{} names {name}", path.display());
        }
    }
    sizes
}

/// Everything in a JSON document that is base64, and what is in that.
fn decoded(bytes: &[u8]) -> Vec<Vec<u8>> {
    use base64::Engine as _;
    fn texts(value: &Value, all: &mut Vec<Vec<u8>>) {
        match value {
            Value::String(text) => {
                if let Ok(bytes) = base64::engine::general_purpose::STANDARD.decode(text) {
                    all.extend(decoded(&bytes));
                    all.push(bytes);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| texts(item, all)),
            Value::Object(map) => map.values().for_each(|item| texts(item, all)),
            _ => {}
        }
    }
    let mut all = Vec::new();
    if let Ok(document) = serde_json::from_slice(bytes) {
        texts(&document, &mut all);
    }
    all
}

/// Other recipients: everything is encrypted again, for them.
#[test]
fn new_recipients_read_what_is_pushed_again() {
    let Some(registry) = Registry::start() else { return left_out("a cache", "docker-registry") };
    let home = Workspace::empty();
    let (first, second) = (Reader::new(&home), Reader::new(&home));
    let (from, key, pushed) = pusher(&registry, &first, &["key"]);
    configure(&from, &registry, &[], &[&first, &second]);
    let again = &from.json(&["push", "key"])[0];
    assert_eq!((&again["new"], &again["sealed"]), (&pushed[0]["sealed"], &pushed[0]["sealed"]), "{again}");
    for reader in [&first, &second] {
        let to = taker(&registry, &format!("{key}, secrets: true"));
        let (report, said) = build(&to, &["--identity", reader.file(), "key"]);
        assert!(report["built"] == serde_json::json!([]) && !said.contains("warning"), "{said}");
    }
}

/// One byte of each sealed blob: noticed, and made here instead. A push does not mend what it cannot see.
#[test]
fn a_flipped_byte_of_what_is_sealed_does_no_harm() {
    let Some(registry) = Registry::start() else { return left_out("a cache", "docker-registry") };
    let home = Workspace::empty();
    let reader = Reader::new(&home);
    let target = "key/admin";
    let (from, key, _) = pusher(&registry, &reader, &[target]);
    let expected = build(&from, &[target]).0;
    let mut count = 0;
    for (path, before) in contents(&registry) {
        if !before.starts_with(b"age-encryption.org/v1") {
            continue;
        }
        for at in [0, 100, before.len() / 2, before.len() - 1] {
            tamper(&path, |bytes| bytes[at] ^= 1);
            let to = taker(&registry, &format!("{key}, secrets: true"));
            let (report, said) = build(&to, &["--identity", reader.file(), target]);
            assert_eq!(objects(&report), objects(&expected), "{}", path.display());
            assert!(said.contains("warning: cache") && report["substituted"].is_null(), "{said}");
            std::fs::write(&path, &before).unwrap();
            count += 1;
        }
    }
    assert!(count >= 4);
    tried(&format!("cache: {count} flipped bytes of encrypted blobs, all of them noticed"));
}
