//! Descriptions, who executes, and what a farm may be asked, without a farm.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use super::description::{Description, Report};
use super::{Executor, FarmSettings, FarmTrust, Farms, Offer};
use crate::base::digest::{Digest, DrvId};
use crate::base::value::Value;
use crate::engine::builders::{InputTree, Job, Notes};
use crate::engine::cache::CacheUrl;
use crate::engine::drv::{BuilderId, Derivation, Input};
use crate::engine::registry::Access;
use crate::engine::tree::{EntryKind, Hashing, Listing, TreeEntry};

fn url(text: &str) -> CacheUrl {
    text.parse().unwrap()
}

fn listing() -> Listing {
    let file = |exec| TreeEntry {
        kind: EntryKind::File { exec, size: 3 },
        secret: false,
        digest: Digest::of(b"abc"),
    };
    let link = TreeEntry {
        kind: EntryKind::Link { target: "../etc".into() },
        secret: false,
        digest: Digest::of(b"../etc"),
    };
    let entries = [("bin/a", file(true)), ("bin/etc", link), ("other", file(false))];
    let entries = entries.map(|(path, entry)| (path.to_owned(), entry));
    Listing::close(entries.into(), Hashing(None)).unwrap()
}

/// A derivation with two inputs, one of them a part of an object, and all kinds of parameters.
fn described(change: impl FnOnce(&mut BTreeMap<String, Value>)) -> Description {
    let params: BTreeMap<String, Value> = BTreeMap::from([
        ("none".to_owned(), Value::Null),
        ("list".to_owned(), Value::List(vec![Value::Int(-1), Value::Bool(true), Value::from("null")])),
        ("map".to_owned(), Value::Map(BTreeMap::new())),
    ]);
    let (listing, secrets) = (Arc::new(listing()), BTreeMap::new());
    let tree = |path: &str| InputTree {
        root: PathBuf::new(),
        listing: Some(Arc::clone(&listing)),
        path: path.to_owned(),
        derivation: "demo/input".to_owned(),
    };
    let inputs = BTreeMap::from([("all".to_owned(), tree("")), ("bin".to_owned(), tree("bin"))]);
    let content = |tree: &InputTree| Input::of(tree.entry().unwrap()).unwrap();
    let derivation = Derivation {
        label: "demo/x",
        builder: BuilderId::new("tree", 1),
        inputs: inputs.iter().map(|(alias, tree)| (alias.clone(), content(tree))).collect(),
        params: &params,
        secrets: BTreeMap::new(),
    };
    let (drv, mut sent) = (derivation.id(), params.clone());
    change(&mut sent);
    let job = Job {
        aliases: &BTreeSet::from(["all".to_owned(), "bin".to_owned()]),
        inputs,
        params: &sent,
        secrets: &secrets,
        images: None,
        files: None,
        seed: None,
        programs: None,
        notes: Notes::default(),
    };
    Description::of(drv, &derivation, &job, None).unwrap()
}

fn is_what_it_says(description: &Description) -> bool {
    let listings = description.inputs.iter();
    let listings = listings.map(|(alias, input)| (alias.clone(), Listing::parse(&input.listing).unwrap()));
    description.is_what_it_says(&listings.collect()).unwrap()
}

#[test]
fn a_worker_knows_which_derivation_it_builds() {
    let description = described(|_| {});
    let text = serde_json::to_vec(&description).unwrap();
    let again = Description::parse(&text).unwrap();
    assert_eq!(again, description);
    assert!(is_what_it_says(&again), "values and inputs survive");
    assert!(!again.inputs["bin"].listing.contains("other"), "only what was asked for");
    assert!(!is_what_it_says(&described(|params| drop(params.insert("none".into(), Value::from(""))))));
    assert!(!is_what_it_says(&described(|params| drop(params.remove("map")))));
    let newer = String::from_utf8(text).unwrap().replace("\"version\":1", "\"version\":2");
    assert!(Description::parse(newer.as_bytes()).is_err());
}

#[test]
fn a_report_is_about_one_derivation() {
    let (one, other) = (DrvId(Digest::of(b"1")), DrvId(Digest::of(b"2")));
    let report = serde_json::to_vec(&Report::new(one)).unwrap();
    assert_eq!(Report::parse(&report, one), Ok(Report::new(one)));
    assert_eq!(Report::parse(&report, other), Err("it is about another derivation"));
    assert_eq!(Report::parse(&report[1..], one), Err("its report cannot be read"));
}

fn farm(url: &CacheUrl, scope: &[&str], secrets: bool) -> (FarmSettings, FarmTrust) {
    let scope = scope.iter().map(|name| (*name).to_owned()).collect();
    let trust = FarmTrust { executor: Executor::new(url, None), scope, secrets };
    let (url, access, platform) = (url.clone(), Access::default(), BTreeMap::new());
    (FarmSettings { url, access, trust: trust.clone(), platform, jobs: 2 }, trust)
}

#[test]
fn a_farm_gets_what_it_is_for() {
    let url = url("grpcs://farm.example.com/x");
    let offered = |scope: &[&str], secrets, name: &str, costly, secret| {
        let (settings, trust) = farm(&url, scope, secrets);
        let farms = Farms::new(vec![settings], vec![trust], Some(PathBuf::from("/proc/self/exe")));
        farms.offer(Offer { name, costly, secret }).is_some()
    };
    let cases = [
        (&[][..], false, "mco/x", true, false, true),
        (&[], false, "mco/x", false, false, false),
        (&["mco"], false, "mco/x", false, false, true),
        (&["mco"], false, "mcox", true, false, false),
        (&["mco"], false, "mco/x", true, true, false),
        (&[], true, "mco/x", true, true, true),
    ];
    for (scope, secrets, name, costly, secret, expected) in cases {
        assert_eq!(offered(scope, secrets, name, costly, secret), expected, "{scope:?} {secrets} {name}");
    }
    let (settings, trust) = farm(&url, &[], false);
    let farms = Farms::new(vec![settings], vec![trust], Some(PathBuf::new()));
    let offer = Offer { name: "a", costly: true, secret: false };
    let taken = [farms.offer(offer), farms.offer(offer)];
    assert!(taken.iter().all(Option::is_some) && farms.offer(offer).is_none(), "two slots");
    drop(taken);
    assert!(farms.offer(offer).is_some(), "they are given back");
}

/// Another authority that vouches for the same name is another farm; what a cluster says of one counts for that cluster only.
#[test]
fn trust_is_in_one_farm() {
    let url = url("grpcs://farm.example.com/x");
    let (_, trust) = farm(&url, &["mco"], false);
    let farms = Farms::new(Vec::new(), vec![trust], None);
    let vouches = |who: &Executor, name, secret| farms.vouches(&[who.to_string()].into(), name, secret);
    let own = Executor::new(&url, None);
    assert!(vouches(&own, "mco/x", false));
    assert!(!vouches(&own, "mco/x", true) && !vouches(&own, "release/x", false));
    let others = [
        Executor::new(&url, Some("another authority")),
        Executor::new(&self::url("grpcs://farm.example.com/y"), None),
    ];
    assert!(others.iter().all(|other| !vouches(other, "mco/x", false)), "{others:?}");
}

#[test]
fn secrets_go_only_where_nobody_else_reads() {
    let description = described(|_| {});
    assert!(!serde_json::to_string(&description).unwrap().contains("secrets"));
    assert!(!url("grpc://farm.example.com/x").is_private() && url("grpc://127.0.0.1:1/x").is_private());
}
