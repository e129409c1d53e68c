//! A real docker-registry with TLS and credentials as a cache. It has no referrers API. Real farms are in `farms`.

mod attest;
mod challenge;
mod farms;
mod sealed;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::PathBuf;

use serde_json::Value;
use tinderbox::internals::registry::{ImageName, Images as _, Reference, Remote, Target as _};

use super::{REPOSITORY, build, configure_at, generate, objects, write_own};
use crate::harness::documents::judge_all;
use crate::harness::{Workspace, left_out, mode, names, tamper, tree, tried};
use crate::registry::bad::pull_secret;
use crate::registry::host::Registry;

fn configure(workspace: &Workspace, registry: &Registry, trust: &[&str]) {
    configure_at(workspace, (&registry.address, &registry.ca), trust, "");
}

/// A workspace that built targets and pushed them; and its public key as one whom others trust.
fn pusher(registry: &Registry, targets: &[&str]) -> (Workspace, String, Value) {
    let workspace = Workspace::example();
    let key = format!("key: '{}'", generate(&workspace));
    configure(&workspace, registry, &[]);
    workspace.build(targets);
    let pushed = workspace.json(&[&["push"], targets].concat());
    (workspace, key, pushed)
}

/// One that has nothing, and trusts this key.
fn taker(registry: &Registry, key: &str) -> Workspace {
    let workspace = Workspace::example();
    configure(&workspace, registry, &[key]);
    workspace
}

/// Everything in the registry's storage that is content, by path.
fn contents(registry: &Registry) -> Vec<(PathBuf, Vec<u8>)> {
    let root = registry.data();
    tree(&root).into_iter().map(|(path, (_, bytes))| (root.join(path), bytes)).collect()
}

/// Also the unpacked form of what is packed.
fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    let Ok(mut decoder) = ruzstd::decoding::StreamingDecoder::new(bytes) else { return Vec::new() };
    if decoder.read_to_end(&mut plain).is_ok() { plain } else { Vec::new() }
}

/// Parts to look for in one pass: by their first eight bytes.
struct Parts<'a>(BTreeMap<&'a [u8], Vec<&'a [u8]>>);

/// Shorter parts are not looked for.
const BEGIN: usize = 8;

impl<'a> Parts<'a> {
    fn new(parts: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut all: BTreeMap<&[u8], Vec<&[u8]>> = BTreeMap::new();
        for part in parts.filter(|part| part.len() >= BEGIN) {
            all.entry(&part[..BEGIN]).or_default().push(part);
        }
        Self(all)
    }

    /// The first one that is in there.
    fn find(&self, bytes: &[u8]) -> Option<&[u8]> {
        let begins =
            bytes.windows(BEGIN).enumerate().filter_map(|(at, begin)| Some((at, self.0.get(begin)?)));
        begins
            .flat_map(|(at, parts)| parts.iter().map(move |part| (at, *part)))
            .find_map(|(at, part)| bytes[at..].starts_with(part).then_some(part))
    }
}

#[test]
fn what_one_pushed_another_takes_and_builds_only_what_is_secret() {
    let Some(registry) = Registry::start() else { return left_out("a cache", "docker-registry") };
    let (from, key, pushed) = pusher(&registry, &[]);
    let report = &pushed[0];
    assert!(report["entries"].as_u64().unwrap() > 60 && report["entries"] == report["new"], "{report}");
    assert!(report["kept_back"]["secret"].as_u64().unwrap() > 10, "{report}");

    // Again: nothing moves.
    let again = &from.json(&["push"])[0];
    assert_eq!(
        (&again["new"], &again["blobs"], &again["bytes"], &again["manifests"]),
        (&0.into(), &0.into(), &0.into(), &0.into())
    );
    assert_eq!(again["entries"], report["entries"]);

    let to = taker(&registry, &key);
    let (taken, said) = build(&to, &[]);
    assert!(!said.contains("warning: cache"), "{said}");
    assert_eq!(taken["substituted"].as_array().unwrap().len() as u64, report["entries"].as_u64().unwrap());
    let expected = build(&from, &[]).0;
    assert_eq!(objects(&taken), objects(&expected));
    for name in names(&taken["built"]) {
        let path = to.path_of(&name);
        assert_eq!(mode(&path), 0o500, "{name} is not secret, and was built");
    }
    to.assert_sound();
    // The same trees, modes included.
    for object in crate::harness::list(&from.store) {
        let (one, other) = (from.store.join(&object), to.store.join(&object));
        if object != ".tinderbox" && other.exists() {
            assert!(tree(&one) == tree(&other), "{object}");
        }
    }
    // What came from there is not signed by somebody who did not build it.
    generate(&to);
    let report = &to.json(&["push"])[0];
    assert_eq!((&report["entries"], &report["kept_back"]["substituted"]), (&0.into(), &again["entries"]));
    secrets_stay_at_home(&from, &registry);
}

/// Nothing in the registry's storage, packed or not, has a secret or the name of a secret file.
fn secrets_stay_at_home(from: &Workspace, registry: &Registry) {
    let (mut secrets, mut names, mut public) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for (path, (mode, bytes)) in tree(&from.store) {
        let Some((_, file)) = path.split_once('/').filter(|(object, _)| *object != ".tinderbox") else {
            continue;
        };
        if mode & 0o077 == 0 {
            secrets.insert(bytes);
            names.insert(file.to_owned());
        } else {
            public.insert(file.to_owned());
        }
    }
    secrets.insert(crate::harness::SEED.to_vec());
    secrets.retain(|bytes| bytes.len() >= BEGIN);
    let secret_names: Vec<&String> = names.difference(&public).collect();
    assert!(secrets.len() > 20 && secret_names.len() > 20, "{} {}", secrets.len(), secret_names.len());
    let values = Parts::new(secrets.iter().map(Vec::as_slice));
    let titles = Parts::new(secret_names.iter().map(|name| name.as_bytes()));
    let some = secrets.first().unwrap();
    assert!(values.find(&[b"x", &some[..], b"y"].concat()).is_some() && values.find(&some[1..]).is_none());
    let stored = contents(registry);
    assert!(stored.len() > 200);
    for (path, bytes) in &stored {
        let plain = unpacked(bytes);
        assert!(
            values.find(bytes).is_none() && values.find(&plain).is_none(),
            "{} has a secret",
            path.display()
        );
        // Names of files: in a manifest as a title, in a pack as an entry.
        let mut archive = tar::Archive::new(&plain[..]);
        let entries = archive.entries().into_iter().flatten();
        let entries: BTreeSet<String> = entries
            .map_while(Result::ok)
            .map(|entry| String::from_utf8(entry.path_bytes().into_owned()).unwrap())
            .collect();
        for name in &secret_names {
            assert!(!entries.contains(*name), "{} has {name}", path.display());
        }
        if serde_json::from_slice::<Value>(bytes).is_ok() {
            let named = titles.find(bytes).map(String::from_utf8_lossy);
            assert!(named.is_none(), "{} names {}", path.display(), named.unwrap_or_default());
        }
    }
}

/// Target of tests that need only a few outputs.
const SMALL: &str = "manifest";

#[test]
fn who_is_not_trusted_is_not_believed() {
    let Some(registry) = Registry::start() else { return left_out("a cache", "docker-registry") };
    let (_, key, _) = pusher(&registry, &[SMALL]);
    let stranger = Workspace::example();
    let other = format!("key: '{}'", generate(&stranger));
    // Nobody signed with that key, so there is nothing to warn about.
    let to = taker(&registry, &other);
    let (report, said) = build(&to, &[SMALL]);
    assert!(report["substituted"].is_null() && !said.contains("warning: cache"), "{said}");
    // A key counts for its scope.
    let to = taker(&registry, &format!("{key}, scope: [manifest/cluster-dns-02-config]"));
    let (report, _) = build(&to, &[SMALL]);
    assert_eq!(names(&report["substituted"]), ["manifest/cluster-dns-02-config"]);
    // What belongs to another derivation is a miss, and is said.
    let (one, two) = ("manifest/cluster-dns-02-config", "manifest/cluster-ingress-02-config");
    let tags = registry.data().join(format!("docker/registry/v2/repositories/{REPOSITORY}/_manifests/tags"));
    let drv = |name: &str| {
        let found = report["targets"].as_array().unwrap().iter().find(|target| target["name"] == name);
        found.unwrap_or_else(|| panic!("{name}"))["drv"].as_str().unwrap().to_owned()
    };
    let link = |name: &str| {
        let start = format!("drv-{}-", drv(name));
        let found = std::fs::read_dir(&tags).unwrap().map(|tag| tag.unwrap().path());
        let mut found = found.filter(|tag| tag.file_name().unwrap().to_str().unwrap().starts_with(&start));
        found.next().unwrap().join("current/link")
    };
    std::fs::copy(link(two), link(one)).unwrap();
    let to = taker(&registry, &key);
    // Another closure: no index says what there is.
    let (report, said) = build(&to, &[one]);
    assert!(said.contains("its statement is about another derivation"), "{said}");
    assert!(names(&report["built"]).contains(&one.to_owned()), "{report}");
}

/// A store serves many clusters: what one took because it trusts a key is nothing to one that does not.
#[test]
fn trust_ends_with_the_cluster_that_has_it() {
    let Some(registry) = Registry::start() else { return left_out("a cache", "docker-registry") };
    let (_, key, _) = pusher(&registry, &[SMALL]);
    let to = taker(&registry, &key);
    let (taken, _) = build(&to, &[SMALL]);
    let set = |value: &Value| names(value).into_iter().collect::<BTreeSet<_>>();
    let taken = set(&taken["substituted"]);
    assert!(!taken.is_empty());
    // Trusted, the outputs are there, with a cache or without.
    assert_eq!(build(&to, &["--no-cache", SMALL]).0["built"], serde_json::json!([]));
    assert_eq!(build(&to, &["--offline", SMALL]).0["built"], serde_json::json!([]));
    // Not trusted, or trusted with something else, they are built. The key stands in nobody's configuration twice.
    let scoped = format!("{key}, scope: [ignition]");
    for trust in [&[][..], &[scoped.as_str()]] {
        let other = Workspace::example();
        configure(&other, &registry, trust);
        let planned = other.output(&[
            "--store",
            &to.store.display().to_string(),
            "build",
            "--dry-run",
            "--json",
            SMALL,
        ]);
        let planned: Value = serde_json::from_slice(&planned.stdout).unwrap();
        assert!(set(&planned["would_build"]).is_superset(&taken), "{planned}");
    }
    configure(&to, &registry, &[]);
    let (built, said) = build(&to, &[SMALL]);
    assert_eq!((set(&built["built"]), &built["substituted"]), (taken, &Value::Null));
    assert!(!said.contains("warning"), "the bytes are the same: {said}");
    // Built here, they need no signature.
    assert_eq!(build(&to, &[SMALL]).0["built"], serde_json::json!([]));
    to.assert_sound();
}

#[test]
fn a_missing_blob_is_a_miss_and_a_push_repairs_it() {
    let Some(registry) = Registry::start() else { return left_out("a cache", "docker-registry") };
    let (from, key, pushed) = pusher(&registry, &[SMALL]);
    let expected = build(&from, &[SMALL]).0;
    for (path, bytes) in contents(&registry) {
        if !unpacked(&bytes).is_empty() {
            std::fs::remove_file(path).unwrap();
        }
    }
    let to = taker(&registry, &key);
    let (report, said) = build(&to, &[SMALL]);
    assert_eq!(objects(&report), objects(&expected));
    assert!(report["substituted"].is_null(), "{report}");
    assert_eq!(said.matches("warning: cache").count(), 1, "{said}");
    assert!(said.contains("is missing"), "{said}");
    let repaired = &from.json(&["push", SMALL])[0];
    assert_eq!(repaired["new"], pushed[0]["entries"], "{repaired}");
    let to = taker(&registry, &key);
    let (report, said) = build(&to, &[SMALL]);
    assert!(!said.contains("warning: cache") && !report["substituted"].is_null(), "{said}");
}

/// One byte of each file that the registry has: the result is the same, and what was read and was wrong is said.
#[test]
fn a_flipped_byte_does_no_harm() {
    flip_a_byte_of_each_file("infra/network");
}

mod long {
    /// The same for a folder: hundreds of files.
    #[test]
    #[ignore = "tier long"]
    fn a_flipped_byte_of_many_files_does_no_harm() {
        super::flip_a_byte_of_each_file(super::SMALL);
    }
}

fn flip_a_byte_of_each_file(target: &str) {
    let Some(registry) = Registry::start() else { return left_out("a cache", "docker-registry") };
    let (from, key, _) = pusher(&registry, &[target]);
    let expected = build(&from, &[target]).0;
    let (mut count, mut noticed) = (0, 0);
    for (path, before) in contents(&registry).into_iter().filter(|(_, bytes)| !bytes.is_empty()) {
        tamper(&path, |bytes| {
            let at = bytes.len() / 2;
            bytes[at] ^= 1;
        });
        let to = taker(&registry, &key);
        let (report, said) = build(&to, &[target]);
        assert_eq!(objects(&report), objects(&expected), "{}", path.display());
        count += 1;
        noticed += usize::from(said.contains("warning: cache"));
        if path.ends_with("data") && !unpacked(&before).is_empty() {
            assert!(said.contains("warning: cache"), "{}: {said}", path.display());
        }
        std::fs::write(&path, before).unwrap();
    }
    assert!(count > 10 && noticed > 2, "{noticed} of {count}");
    tried(&format!(
        "cache: {count} files of a registry with a flipped byte, {noticed} of them read and noticed"
    ));
}

/// Two builders share a cache: each has its own tags, and a taker who trusts both loses neither.
#[test]
fn signers_do_not_overwrite_each_other() {
    let Some(registry) = Registry::start() else { return left_out("a cache", "docker-registry") };
    let (one, first, _) = pusher(&registry, &[SMALL]);
    let (two, second, _) = pusher(&registry, &[SMALL]);
    for (from, key) in [(&one, &first), (&two, &second)] {
        assert_eq!(from.json(&["push", SMALL])[0]["new"], 0, "somebody overwrote it");
        let to = taker(&registry, key);
        assert!(!build(&to, &[SMALL]).0["substituted"].is_null());
    }
    // Both at the same time, where there is nothing.
    let Some(registry) = Registry::start() else { return };
    let (_, key, _) = pusher(&registry, &["infra"]);
    configure(&one, &registry, &[]);
    configure(&two, &registry, &[]);
    let pushes = [&one, &two].map(|from| from.command(&["push", SMALL]).spawn().unwrap());
    for mut push in pushes {
        assert!(push.wait().unwrap().success());
    }
    let to = taker(&registry, &first);
    configure(&to, &registry, &[&first, &key]);
    assert!(!build(&to, &[SMALL]).0["substituted"].is_null());
}

#[test]
fn after_a_pull_a_build_needs_no_network() {
    let Some(registry) = Registry::start() else { return left_out("a cache", "docker-registry") };
    let (from, key, pushed) = pusher(&registry, &[]);
    let expected = build(&from, &[]).0;
    let to = taker(&registry, &key);
    let pulled = to.json(&["pull"]);
    assert_eq!(pulled["pulled"].as_array().unwrap().len() as u64, pushed[0]["entries"].as_u64().unwrap());
    assert_eq!((&pulled["missing"], &pulled["left"]), (&serde_json::json!([]), &serde_json::json!([])));
    drop(registry);
    let (report, said) = build(&to, &["--offline"]);
    assert_eq!(objects(&report), objects(&expected));
    assert!(report["built"] == serde_json::json!([]) && !said.contains("warning: cache"), "{said}");
}

#[test]
fn a_pull_says_what_no_cache_has() {
    let Some(registry) = Registry::start() else { return left_out("a cache", "docker-registry") };
    let (_, key, _) = pusher(&registry, &["manifest/cluster-dns-02-config"]);
    let to = taker(&registry, &key);
    let output = to.output(&["pull", SMALL, "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(names(&report["pulled"]).contains(&"manifest/cluster-dns-02-config".to_owned()), "{report}");
    assert!(!names(&report["missing"]).is_empty());
    assert_eq!(report["failed"], serde_json::json!([]), "a miss is not a failure");
    let said = to.run(&["pull", SMALL]);
    let missing = format!("no cache has {} output", names(&report["missing"]).len());
    assert!(said.contains(&missing) && !said.contains("failed"), "{said}");
}

#[test]
fn prune_keeps_the_newest_closures_and_what_they_need() {
    let Some(registry) = Registry::start() else { return left_out("a cache", "docker-registry") };
    let (from, key, _) = pusher(&registry, &["infra"]);
    from.build(&[SMALL]);
    // The times of closures have seconds: the next one must have come.
    let second = || time::OffsetDateTime::now_utc().unix_timestamp();
    let pushed = second();
    while second() == pushed {
        std::thread::yield_now();
    }
    from.json(&["push", SMALL]);
    let would = &from.json(&["cache", "prune", "--keep-closures", "1", "--dry-run"])[0];
    assert_eq!((&would["kept"], &would["closures"]), (&1.into(), &1.into()), "{would}");
    let pruned = from.json(&["cache", "prune", "--keep-closures", "1"]);
    let did = &pruned[0];
    assert_eq!((&did["entries"], &did["closures"]), (&would["entries"], &would["closures"]), "{did}");
    assert!(did["entries"].as_u64().unwrap() > 0);
    let to = taker(&registry, &key);
    assert!(!build(&to, &[SMALL]).0["substituted"].is_null());
    assert_eq!(from.json(&["cache", "prune", "--keep-closures", "1"])[0]["entries"], 0);
    // What these verbs print is as their schemas say.
    let documents = [
        ("cache prune", pruned),
        ("push", from.json(&["push", SMALL])),
        ("pull", to.json(&["pull", SMALL])),
        ("attest", from.json(&["attest", SMALL])),
    ];
    let judged: Vec<_> = documents
        .into_iter()
        .map(|(verb, document)| {
            let schema = from.json(&[&["schema"], &verb.split(' ').collect::<Vec<_>>()[..]].concat());
            (verb.to_owned(), schema, document)
        })
        .collect();
    if let Some(verdict) = judge_all(&judged) {
        assert_eq!(verdict, Ok(()));
    }
}

#[test]
fn a_registry_that_refuses_is_said_once() {
    let Some(registry) = Registry::start() else { return left_out("a cache", "docker-registry") };
    let (from, key, _) = pusher(&registry, &[SMALL]);
    for workspace in [&from, &taker(&registry, &key)] {
        let wrong = pull_secret(&registry.address, "me", "not hunter2").unwrap();
        write_own(workspace, "auth.json", wrong.reveal_text().unwrap());
    }
    let said = from.run(&["push", SMALL]);
    assert!(said.contains("refuses access (401)") && said.contains("may write to"), "{said}");
    assert!(said.contains("[exit 1]") && !said.contains("hunter2"), "{said}");
    let to = taker(&registry, &key);
    let wrong = pull_secret(&registry.address, "me", "not hunter2").unwrap();
    write_own(&to, "auth.json", wrong.reveal_text().unwrap());
    let (_, said) = build(&to, &[SMALL]);
    assert_eq!(said.matches("warning: cache").count(), 1, "{said}");
    assert!(said.contains("not asked again") && !said.contains("hunter2"), "{said}");
}

/// A cluster directory of somebody else brings authorities of its own: they do not decide who gets the credentials that the
/// user keeps in the configuration at home.
#[test]
fn own_credentials_are_for_registries_that_own_authorities_vouch_for() {
    let Some(registry) = Registry::start() else { return left_out("a cache", "docker-registry") };
    let (_, key, _) = pusher(&registry, &["infra/network"]);
    let build_with = |ca: &str| {
        let to = taker(&registry, &key);
        let url = format!("oci://{}/{REPOSITORY}", registry.address);
        let own = format!("caches: [{{url: '{url}', authFile: auth.json, {ca}trust: [{{{key}}}]}}]\n");
        write_own(&to, "config.yaml", &own);
        to.write("foreign.pem", &registry.ca);
        let cluster = std::fs::read_to_string(to.dir.join("cluster.yaml")).unwrap();
        to.write("cluster.yaml", &format!("{cluster}\ncaches: [{{url: '{url}', ca: foreign.pem}}]\n"));
        build(&to, &["infra/network"])
    };
    let (report, said) = build_with("");
    assert!(report["substituted"].is_null() && said.contains("signed by an unknown authority"), "{said}");
    let (report, said) = build_with("ca: ca.crt, ");
    assert!(!report["substituted"].is_null(), "{said}");
}

/// Whoever may write to a registry may say of a blob that it has any size: nothing is read that was not signed to be there.
#[test]
fn sizes_that_nobody_signed_are_not_believed() {
    let Some(registry) = Registry::start() else { return left_out("a cache", "docker-registry") };
    let (from, key, _) = pusher(&registry, &["infra/network"]);
    let drv = from.json(&["build", "infra/network"])["targets"][0]["drv"].as_str().unwrap().to_owned();
    let remote = Remote::new(registry.access()).unwrap();
    let repository: ImageName = format!("{}/{REPOSITORY}", registry.address).parse().unwrap();
    let tags = remote.tags(&repository).unwrap();
    let tag = tags.iter().find(|tag| tag.starts_with(&format!("drv-{drv}-"))).unwrap();
    let name = ImageName { reference: Reference::Tag(tag.clone()), ..repository };
    let (media_type, bytes) = remote.manifest(&name, &remote.resolve(&name).unwrap()).unwrap();
    let mut manifest: Value = serde_json::from_slice(&bytes).unwrap();
    manifest["layers"][0]["size"] = (900 << 20).into();
    remote.put_manifest(&name, &media_type, &serde_json::to_vec(&manifest).unwrap(), Some(tag)).unwrap();
    // Another closure: no index says what there is.
    let to = taker(&registry, &key);
    let (report, said) = build(&to, &["infra"]);
    assert!(said.contains("infra/network") && said.contains("more bytes than were signed"), "{said}");
    assert!(names(&report["built"]).contains(&"infra/network".to_owned()), "{report}");
}

/// `kill -9` in the middle of a push or a pull: the registry has whole outputs, the store is sound, and the next one ends
/// what was begun. Nothing of the signing key is anywhere.
#[test]
fn a_killed_push_or_pull_is_continued() {
    let Some(registry) = Registry::start() else { return left_out("a cache", "docker-registry") };
    let from = Workspace::example();
    let key = format!("key: '{}'", generate(&from));
    configure(&from, &registry, &[]);
    let expected = from.build_paths(&[SMALL]);
    let to = taker(&registry, &key);
    build(&to, &["--no-cache", "infra/network"]); // so that there is a store
    let mut killed = 0;
    let mut kill = |workspace: &Workspace, verb: &str, after: u64| {
        let mut command = workspace.command(&[verb, SMALL, "-q"]);
        let mut child =
            command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
        // This delay is the point of the test, not a wait.
        std::thread::sleep(std::time::Duration::from_millis(after));
        let _ = child.kill();
        killed += usize::from(child.wait().unwrap().code().is_none());
    };
    for round in 0..8 {
        kill(&from, "push", 60 + 40 * round);
        kill(&to, "pull", 60 + 40 * round);
        to.assert_sound();
    }
    assert!(killed > 0, "nothing was killed");
    from.json(&["push", SMALL]);
    let pulled = to.json(&["pull", SMALL]);
    assert_eq!(pulled["missing"], serde_json::json!([]), "{pulled}");
    let (_, said) = build(&to, &[SMALL]);
    assert!(!said.contains("warning: cache"), "{said}");
    let ids = |paths: &BTreeMap<String, PathBuf>| -> Vec<_> {
        paths.values().map(|path| path.file_name().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&to.build_paths(&[SMALL])), ids(&expected));
    assert_eq!(crate::harness::list(&to.part("tmp")), [].into());
    let private = std::fs::read_to_string(super::own(&from, "signing.key")).unwrap();
    let private = private.lines().nth(1).unwrap().as_bytes().to_vec();
    let key_is_in = |bytes: &[u8]| bytes.windows(private.len()).any(|part| part == private);
    assert!(contents(&registry).iter().all(|(_, bytes)| !key_is_in(bytes)));
    assert!(tree(&from.store).values().all(|(_, bytes)| !key_is_in(bytes)));
    tried(&format!("cache: {killed} of 16 pushes and pulls killed in the middle"));
}
