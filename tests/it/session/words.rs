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

/// Without a verb, the help says which there are, whatever variables are set. To a program, it is an error as any other.
#[test]
fn no_verb_is_answered_with_the_help() {
    let ws = Workspace::example();
    let run = |args: &[&str]| {
        let mut command = ws.command(args);
        let output = command.env("TINDERBOX_STORE", ws.dir.join("store")).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        (stdout, stderr)
    };
    let (stdout, stderr) = run(&[]);
    assert!(
        stderr.contains("Usage: ") && stderr.contains("\n  init  ") && !stderr.contains("dist"),
        "{stderr}"
    );
    assert!(stdout.is_empty() && !stderr.contains("error:"), "{stdout}{stderr}");
    let (_, stderr) = run(&["cache"]);
    assert!(stderr.contains(" cache [OPTIONS] <COMMAND>") && stderr.contains("\n  prune  "), "{stderr}");
    let (stdout, _) = run(&["--json"]);
    let error: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert!(error["error"].as_str().unwrap().contains("requires a subcommand"), "{error}");
}

/// `-o` writes where its user points: behind a link, into a pipe, to standard output; never over the cluster's own files.
#[test]
fn output_goes_where_it_is_sent() {
    let ws = Workspace::example();
    let wanted = ws.run(&["targets", "check/infra"]).replace("[exit 0]\n", "");
    std::fs::write(ws.dir.join("file"), "old").unwrap();
    std::os::unix::fs::symlink("file", ws.dir.join("link")).unwrap();
    ws.run(&["targets", "check/infra", "-o", ws.dir.join("link").to_str().unwrap()]);
    assert!(ws.dir.join("link").is_symlink());
    assert_eq!(std::fs::read_to_string(ws.dir.join("file")).unwrap(), wanted);

    let pipe = ws.dir.join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::read_to_string(pipe).unwrap()
    });
    ws.run(&["targets", "check/infra", "-o", pipe.to_str().unwrap()]);
    assert_eq!(reader.join().unwrap(), wanted);
    assert_eq!(ws.run(&["targets", "check/infra", "-o", "-"]).replace("[exit 0]\n", ""), wanted);

    let before = std::fs::read(ws.dir.join("cluster.yaml")).unwrap();
    let text = ws.run(&["targets", "-o", ws.dir.join("cluster.yaml").to_str().unwrap()]);
    assert!(text.contains("is an input of this cluster") && text.contains("[exit 2]"), "{text}");
    assert_eq!(std::fs::read(ws.dir.join("cluster.yaml")).unwrap(), before);
}

/// A full disk behind standard output is an error, not half a document.
#[test]
fn what_could_not_be_printed_is_an_error() {
    let ws = Workspace::example();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let done = ws.command(&["targets"]).stdout(full).output().unwrap();
    assert_eq!(done.status.code(), Some(1));
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(said.contains("cannot write `standard output`"), "{said}");
}

/// A password in a URL that is refused is not repeated.
#[test]
fn a_refused_url_keeps_its_password() {
    let ws = Workspace::example();
    for url in ["http://user:SEKRET@127.0.0.1:9/y", "https://mirror.example.com/?token=SEKRET"] {
        ws.edit(
            "cluster.yaml",
            "release: demo:4.18",
            &format!("release: demo:4.18\nrhcos: {{mirror: '{url}'}}"),
        );
        let text = ws.run(&["check"]);
        assert!(text.contains("rhcos.mirror: this is not the URL") && !text.contains("SEKRET"), "{text}");
        ws.edit("cluster.yaml", &format!("\nrhcos: {{mirror: '{url}'}}"), "");
    }
}
