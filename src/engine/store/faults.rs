//! Every point at which a write can fail, in turn: a full disk, a broken disk, a crash. Whatever happens, the store is
//! sound afterwards, what was there is there, and the same work succeeds.
//!
//! `host::crash` kills real processes at random moments; this visits every operation of a small life of a store.

use std::collections::BTreeMap;
use std::io::Write as _;

use rustix::io::Errno;

use super::*;
use crate::base::digest::{Digest, DrvId};
use crate::base::fs::fault::{Fault, with};
use crate::base::secret::IdKey;
use crate::engine::drv::Explanation;

fn drv(name: &str) -> DrvId {
    Digest::of(name.as_bytes()).to_string().parse().unwrap()
}

/// Builds one object of two files, one of them in every object, and makes it a generation.
fn build(store: &Store, name: &str, cluster: &Path) -> Result<()> {
    let session = Session::open(store, Some(IdKey::from_seed(&[7; 32])))?;
    let Some(_lock) = session.try_lock(drv(name))? else { return Ok(()) };
    let tree = session.stage(false)?;
    tree.write("own/file", name.as_bytes(), false)?;
    tree.write("shared", b"the same in every object", true)?;
    tree.write_secret("secret", name.as_bytes(), false)?;
    tree.link("link", "shared")?;
    let staged = session.finish(tree, name)?;
    session.sync()?;
    let output = session.publish(&staged)?;
    let trace = Trace {
        label: name.to_owned(),
        inputs: BTreeMap::new(),
        identity: Explanation::default(),
        time: String::new(),
        milliseconds: 0,
        isolation: None,
        substituted: None,
        executor: None,
    };
    session.record(drv(name), &output, &trace)?;
    session.keep_log(drv(name), "said nothing")?;
    let roots = store.roots_of(cluster);
    let named = Named { drv: drv(name), object: output.object, before: None };
    let names = BTreeMap::from([(name.to_owned(), named)]);
    roots.set_record(&session, &Record { names: names.clone() }, Digest::of(name.as_bytes()))?;
    roots.advance(&session, output.object, "", &names)?;
    Ok(())
}

/// The life of a store: it is created, two generations are built, the first is forgotten.
fn life(root: &Path, cluster: &Path) -> Result<()> {
    let store = Store::open_or_create(root)?;
    build(&store, "one", cluster)?;
    build(&store, "two", cluster)?;
    store.gc(&GcOptions { keep_last: Some(1), ..GcOptions::default() })?;
    Ok(())
}

/// Visits every point with a fault; returns how many there are.
fn visit(fault: Fault) -> u64 {
    for at in 0.. {
        let dir = tempfile::tempdir().unwrap();
        let (root, cluster) = (dir.path().join("store"), dir.path().join("cluster"));
        fs::create_dirs(&cluster).unwrap();
        let (done, reached) = with(fault, at, || life(&root, &cluster));
        let sound = |when: &str| {
            let Ok(store) = Store::open(&root) else { return };
            let found = store.verify().unwrap().findings;
            assert!(found.is_empty(), "{fault:?} at {at}, {when}: {found:#?}");
        };
        sound("at once");
        // What was begun is completed or removed, and the same work succeeds.
        life(&root, &cluster).unwrap_or_else(|error| panic!("{fault:?} at {at}: {error}"));
        sound("afterwards");
        let store = Store::open(&root).unwrap();
        assert!(fs::list(&store.part("tmp")).unwrap().is_empty(), "{fault:?} at {at}");
        let roots = store.roots_of(&cluster);
        let (_, current) = roots.current_object().unwrap().unwrap();
        assert!(store.object(current).unwrap().path.ends_with(format!("{current}-two")), "{fault:?} at {at}");
        if !reached {
            done.unwrap();
            return at;
        }
    }
    unreachable!()
}

/// Visits every point, and says how many there are.
fn visit_all(fault: Fault, what: &str) {
    let points = visit(fault);
    assert!(points > 80, "{what}: {points}");
    // Past the test runner, which hides what passing tests print.
    let _ = writeln!(std::io::stderr(), "tried: {what} at each of {points} write operations of a store");
}

#[test]
fn a_full_disk_at_every_point() {
    visit_all(Fault::Once(Errno::NOSPC), "a full disk");
}

#[test]
fn a_broken_disk_at_every_point() {
    visit_all(Fault::Once(Errno::IO), "a broken disk");
}

#[test]
fn a_crash_at_every_point() {
    visit_all(Fault::Crash, "a crash");
}
