//! What every verb has in common: `-o`, the environment, the version.

use crate::harness::Workspace;

/// The result of any verb goes to a file.
#[test]
fn every_verb_writes_to_a_file() {
    let ws = Workspace::example();
    for args in [
        &["graph", "infra"][..],
        &["targets", "infra"],
        &["check", "--list"],
        &["schema"],
        &["affects", "vips"],
    ] {
        let printed = ws.output(args).stdout;
        assert_eq!(ws.run(&[args, &["-o", "out"]].concat()), "out\n[exit 0]\n");
        assert!(!printed.is_empty() && std::fs::read(ws.dir.join("out")).unwrap() == printed, "{args:?}");
    }
    std::fs::write(ws.dir.join("out"), "before").unwrap();
    assert!(ws.run(&["targets", "nothing-like-this", "-o", "out"]).ends_with("[exit 2]\n"));
    assert_eq!(std::fs::read(ws.dir.join("out")).unwrap(), b"before", "a failure leaves it alone");
}

#[test]
fn an_empty_variable_names_no_store() {
    let ws = Workspace::example();
    let output = ws.command(&["build", "infra/pool"]).env("TINDERBOX_STORE", "").output().unwrap();
    let text = ws.text(&output);
    assert!(text.starts_with("[TEMP]/.local/share/tinderbox/store/"), "{text}");
    let help = ws.run(&["build", "--help"]);
    for variable in ["TINDERBOX_STORE", "TINDERBOX_AGE_IDENTITY", "TINDERBOX_SEED_FILE"] {
        assert!(help.contains(variable), "{help}");
    }
}
