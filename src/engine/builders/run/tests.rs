//! What a hostile program leaves in its output: links, pipes, modes and depths. The programs themselves need no running:
//! only what they left matters.

use std::os::unix::fs::MetadataExt as _;
use std::sync::atomic::AtomicBool;

use super::super::{InputTree, SandboxRunner};
use super::*;
use crate::base::fs;
use crate::base::hint::chain;
use crate::base::value::Value;
use crate::engine::sandbox::Sandbox;
use crate::engine::tree::Hashing;

/// A host with a secret file and a directory, and a `run` job whose program has ended.
struct Case {
    dir: tempfile::TempDir,
}

impl Case {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for part in ["image", "input", "host"] {
            fs::create_dirs(&dir.path().join(part)).unwrap();
        }
        fs::write_new(&dir.path().join("host/secret"), b"of the host", 0o600).unwrap();
        fs::write_new(&dir.path().join("input/a.yaml"), b"a", 0o600).unwrap();
        Self { dir }
    }

    fn host(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join("host").join(name)
    }

    /// Gathers `/in` into `into`, then keeps `kept`; the program did `leave` in its output.
    fn run(
        &self,
        into: &str,
        from: &str,
        kept: &str,
        leave: impl FnOnce(&std::path::Path),
    ) -> Result<Vec<String>, String> {
        let params: std::collections::BTreeMap<String, Value> = toml_value(&format!(
            "steps = [{{run = ['/x']}}, {{gather = '{into}', from = ['{from}']}}]\nmounts = {{input = '/in'}}\noutputs = {{kept = '{kept}'}}\n"
        ));
        let input = |part: &str| InputTree { root: self.dir.path().join(part), ..InputTree::default() };
        let sandbox = Sandbox::default();
        let cancel = AtomicBool::new(false);
        let job = Job {
            aliases: &["image".to_owned(), "input".to_owned()].into(),
            inputs: [("image".to_owned(), input("image")), ("input".to_owned(), input("input"))].into(),
            params: &params,
            secrets: &Default::default(),
            images: None,
            files: None,
            seed: None,
            programs: Some(SandboxRunner { sandbox: &sandbox, cancel: &cancel }),
            notes: Default::default(),
        };
        let text = |error: BuildError| chain(&error);
        let spec = Spec::read(&job).unwrap();
        let tree = TreeWriter::create(self.dir.path().join(fs::random_name()), Hashing(None), false).unwrap();
        let scratch = tree.scratch(&fs::random_name()).unwrap();
        let mut runner = Runner::new(&job, &spec, scratch.path()).unwrap();
        leave(&scratch.path().join("out"));
        for step in &spec.steps {
            if let Step::Gather { into, from, numbered } = step {
                runner.gather(into, from, *numbered).map_err(text)?;
            }
        }
        for (path, (parent, name)) in &runner.outputs(|_, _| Ok(None)).map_err(text)? {
            tree.copy_entry(parent, name, path).map_err(|error| chain(&error))?;
        }
        drop(runner);
        drop(scratch);
        let written = tree.finish().unwrap();
        Ok(written.listing.leaves("").map(|(path, _)| path.to_owned()).collect())
    }
}

fn toml_value(text: &str) -> std::collections::BTreeMap<String, Value> {
    fn value(from: toml::Value) -> Value {
        match from {
            toml::Value::String(text) => Value::Text(text),
            toml::Value::Array(list) => Value::List(list.into_iter().map(value).collect()),
            toml::Value::Table(table) => Value::Map(table.into_iter().map(|(k, v)| (k, value(v))).collect()),
            toml::Value::Boolean(flag) => Value::Bool(flag),
            other => panic!("{other}"),
        }
    }
    let table: toml::Table = text.parse().unwrap();
    table.into_iter().map(|(key, one)| (key, value(one))).collect()
}

const NOT_FOLLOWED: &str = "a program left a link there, and links of programs are not followed";

#[test]
fn what_is_gathered_and_kept_arrives() {
    let case = Case::new();
    let files = case.run("/out/all/deep", "/in", "/out/all", |_| {}).unwrap();
    assert_eq!(files, ["kept/deep/a.yaml"]);
}

#[test]
fn a_gathered_file_is_written_through_no_link() {
    let case = Case::new();
    for place in ["all", "one"] {
        let problem = case
            .run(&format!("/out/{place}"), "/in", &format!("/out/{place}"), |out| {
                fs::symlink(&case.dir.path().join("host"), &out.join(place)).unwrap();
            })
            .unwrap_err();
        assert!(problem.contains(NOT_FOLLOWED), "{problem}");
    }
    // A link in the place of the file itself is replaced, and what it names stays.
    let files = case.run("/out/all", "/in", "/out/all", |out| {
        fs::create_dir(&out.join("all"), 0o700).unwrap();
        fs::symlink(&case.host("secret"), &out.join("all/a.yaml")).unwrap();
    });
    assert_eq!(files.unwrap(), ["kept/a.yaml"]);
    assert_eq!(fs::list(&case.dir.path().join("host")).unwrap(), ["secret"]);
    assert_eq!(fs::read(&case.host("secret")).unwrap(), b"of the host");
}

#[test]
fn nothing_is_gathered_through_a_link() {
    let case = Case::new();
    let linked = |target: &std::path::Path, from: &str| {
        case.run("/out/all", from, "/out/all", |out| fs::symlink(target, &out.join("made")).unwrap())
            .unwrap_err()
    };
    let problem = linked(&case.dir.path().join("host"), "/out/made/secret");
    assert!(problem.contains(NOT_FOLLOWED), "{problem}");
    for from in ["/out/made", "/out/made"] {
        let problem = linked(&case.host("secret"), from);
        assert!(problem.contains("it is not a regular file"), "{problem}");
    }
    let problem = linked(&case.dir.path().join("host"), "/out/made");
    assert!(problem.contains("it is not a regular file"), "{problem}");
    // Through the names of a directory.
    let problem = case
        .run("/out/all", "/out/made", "/out/all", |out| {
            fs::create_dir(&out.join("made"), 0o700).unwrap();
            fs::symlink(&case.host("secret"), &out.join("made/x")).unwrap();
        })
        .unwrap_err();
    assert!(problem.contains("it is not a regular file"), "{problem}");
}

#[test]
fn nothing_is_kept_through_a_link() {
    let case = Case::new();
    let keep = |kept: &str, target: &std::path::Path| {
        case.run("/out/all", "/in", kept, |out| fs::symlink(target, &out.join("made")).unwrap())
    };
    let problem = keep("/out/made/secret", &case.dir.path().join("host")).unwrap_err();
    assert!(problem.contains(NOT_FOLLOWED), "{problem}");
    for target in [case.host("secret"), case.dir.path().join("host"), "../../host/secret".into()] {
        let problem = keep("/out/made", &target).unwrap_err();
        assert!(problem.contains("a link may not"), "{problem}");
    }
    // Modes are set on what the program made, and on nothing else.
    assert_eq!(fs::metadata(&case.host("secret")).unwrap().mode() & 0o777, 0o600);
}

#[test]
fn odd_modes_are_made_readable_and_odd_kinds_refused() {
    let case = Case::new();
    let files = case.run("/out/all", "/in", "/out/made", |out| {
        fs::create_dirs(&out.join("made/closed")).unwrap();
        fs::write_new(&out.join("made/closed/file"), b"", 0o000).unwrap();
        fs::set_mode(&out.join("made/closed"), 0o000).unwrap();
    });
    assert_eq!(files.unwrap(), ["kept/closed/file"]);
    let problem = case
        .run("/out/all", "/in", "/out/made", |out| {
            fs::create_dirs(&out.join("made")).unwrap();
            rustix::fs::mknodat(
                rustix::fs::CWD,
                out.join("made/pipe"),
                rustix::fs::FileType::Fifo,
                0o600.into(),
                0,
            )
            .unwrap();
        })
        .unwrap_err();
    assert!(problem.contains("it is a named pipe"), "{problem}");
    let problem = case
        .run("/out/all", "/in", "/out/made", |out| {
            let mut at = fs::Dir::open(out).unwrap().create_dirs("made").unwrap();
            (0..3000).for_each(|_| at = at.create_dirs("d").unwrap());
        })
        .unwrap_err();
    assert!(problem.contains("deeper than 128"), "{problem}");
}
