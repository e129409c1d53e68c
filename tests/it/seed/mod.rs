//! The seed at rest: plain or encrypted, it is the same cluster; and whatever is interrupted, one good seed is there.

mod lost;

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use age::secrecy::ExposeSecret;

use crate::harness::{SEED, Workspace, left_out, list, mode, set_mode};

const SECRET: &str = "manifest/openshift-config-secret-pull-secret";

/// A new identity in a file: the file, its recipient, and the key itself.
fn identity(ws: &Workspace, name: &str) -> (PathBuf, String, String) {
    let identity = age::x25519::Identity::generate();
    let key = identity.to_string().expose_secret().to_owned();
    let path = ws.temp().join(name);
    fs::write(&path, format!("# made by a test\n\n{key}\n")).unwrap();
    set_mode(&path, 0o600);
    (path, identity.to_public().to_string(), key)
}

/// What an identity file finds in cluster.seed.age; none if it cannot open it.
fn opened(ws: &Workspace, identity: &Path) -> Option<Vec<u8>> {
    let sealed = fs::read(ws.dir.join("cluster.seed.age")).ok()?;
    let keys =
        age::IdentityFile::from_file(identity.display().to_string()).unwrap().into_identities().unwrap();
    let decryptor = age::Decryptor::new(age::armor::ArmoredReader::new(&sealed[..])).ok()?;
    let mut plain = Vec::new();
    decryptor.decrypt(keys.iter().map(|key| &**key as _)).ok()?.read_to_end(&mut plain).ok()?;
    Some(plain)
}

fn object(ws: &Workspace, identity: Option<&Path>) -> String {
    let identity = identity.map(|path| path.display().to_string());
    let mut args = vec!["show", SECRET];
    args.extend(identity.iter().flat_map(|path| ["--identity", path]));
    ws.json(&args)["object"].to_string()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Replaces what differs from run to run.
fn run(ws: &Workspace, args: &[&str], recipients: &[&str]) -> String {
    let shown = ws.run(args);
    recipients.iter().enumerate().fold(shown, |shown, (at, one)| shown.replace(one, &format!("[AGE {at}]")))
}

#[test]
fn an_encrypted_seed_builds_the_same_objects() {
    let ws = Workspace::example().prebuilt();
    ws.json(&["lock"]);
    ws.build(&[]);
    let before = object(&ws, None);
    let (file, recipient, key) = identity(&ws, "me");
    insta::assert_snapshot!(run(&ws, &["seed", "encrypt", "-r", &recipient, "--identity", text(&file)], &[&recipient]), @"
    [DIR]/cluster.seed.age: encrypted for
      [AGE 0]
    verified: your identity opens it, and it is the same seed
    [exit 0]
    ");
    assert!(!ws.dir.join("cluster.seed").exists());
    assert_eq!(mode(&ws.dir.join("cluster.seed.age")), 0o644);
    let sealed = fs::read_to_string(ws.dir.join("cluster.seed.age")).unwrap();
    assert!(sealed.starts_with("-----BEGIN AGE ENCRYPTED FILE-----\n") && sealed.is_ascii());
    assert_eq!(opened(&ws, &file).unwrap(), SEED);
    // The option and the variable; everything is in the store already, so the ids are the same.
    assert_eq!(object(&ws, Some(&file)), before);
    let output = ws.command(&["build", "--json"]).env("TINDERBOX_AGE_IDENTITY", &file).output().unwrap();
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["built"], serde_json::json!([]), "{}", ws.text(&output));
    assert!(!ws.dir.join("cluster.seed").exists(), "no plain seed is made beside an encrypted one");
    // What does not need the seed does not ask for the identity.
    insta::assert_snapshot!(ws.run(&["lock"]), @"
    everything is pinned
    [exit 0]
    ");
    insta::assert_snapshot!(ws.run(&["seed", "encrypt", "-r", &recipient]), @"
    [stderr]
    error: `[DIR]/cluster.seed.age` already exists, and is left alone
    hint: `tinderbox seed rotate-recipients -r RECIPIENT` encrypts it for others
    [exit 1]
    ");
    insta::assert_snapshot!(ws.run(&["seed", "decrypt", "--identity", text(&file)]), @"
    [DIR]/cluster.seed: plain; back it up, and never commit it
    [exit 0]
    ");
    assert_eq!(
        (fs::read(ws.dir.join("cluster.seed")).unwrap(), mode(&ws.dir.join("cluster.seed"))),
        (SEED.to_vec(), 0o600)
    );
    assert!(!ws.dir.join("cluster.seed.age").exists());
    assert!(
        fs::read_to_string(ws.dir.join(".gitignore")).unwrap().lines().any(|line| line == "/cluster.seed")
    );
    assert_eq!(object(&ws, None), before);
    insta::assert_snapshot!(ws.run(&["seed", "decrypt"]), @"
    [DIR]/cluster.seed is plain already
    [exit 0]
    ");
    assert!(!ws.run(&["-v", "build"]).contains(&key[..20]));
}

#[test]
fn without_the_right_identity_it_stays_closed() {
    let ws = Workspace::example();
    let (file, recipient, _) = identity(&ws, "me");
    let (other, ..) = identity(&ws, "other");
    let shut = ws.run(&["seed", "encrypt", "-r", &recipient, "--identity", text(&other)]);
    insta::assert_snapshot!(shut, @"
    [stderr]
    error: no recipient belongs to your identity file `[TEMP]/other`
    hint: add yours with `-r` (`age-keygen -y FILE` prints it), or name no identity
    [exit 2]
    ");
    assert_eq!(fs::read(ws.dir.join("cluster.seed")).unwrap(), SEED, "nothing was done");
    ws.json(&["seed", "encrypt", "-r", &recipient]);
    insta::assert_snapshot!(ws.run(&["build", "infra/pool"]), @"
    [stderr]
    error: the seed `[DIR]/cluster.seed.age` is encrypted, and no identity is given
    hint: name the file with your age identity: `--identity FILE` or TINDERBOX_AGE_IDENTITY
    [exit 1]
    ");
    insta::assert_snapshot!(ws.run(&["build", "infra/pool", "--identity", text(&other)]), @"
    [stderr]
    error: no identity in `[TEMP]/other` can open `[DIR]/cluster.seed.age`
    hint: use an identity whose recipient it was encrypted for, or ask one who has: `tinderbox seed rotate-recipients` adds yours
    [exit 1]
    ");
    insta::assert_snapshot!(ws.run(&["seed", "decrypt"]), @"
    [stderr]
    error: the seed `[DIR]/cluster.seed.age` is encrypted, and no identity is given
    hint: name the file with your age identity: `--identity FILE` or TINDERBOX_AGE_IDENTITY
    [exit 1]
    ");
    insta::assert_snapshot!(ws.run(&["build", "infra/pool", "--identity", "nowhere"]), @"
    [stderr]
    error: cannot read `nowhere`
    caused by: No such file or directory (os error 2)
    [exit 1]
    ");
    let output =
        ws.command(&["build", "-q", "infra/pool"]).env("TINDERBOX_AGE_IDENTITY", "").output().unwrap();
    assert!(ws.text(&output).contains("is encrypted, and no identity is given"), "{}", ws.text(&output));
    set_mode(&file, 0o644);
    insta::assert_snapshot!(ws.run(&["build", "infra/pool", "--identity", text(&file)]), @"
    [STORE]/[ID]-infra-pool
    [stderr]
    warning: others can read the identity file `[TEMP]/me`: `chmod 600 [TEMP]/me`
    [exit 0]
    ");
    assert!(!ws.dir.join("cluster.seed").exists());
}

#[test]
fn files_that_are_not_what_they_should_be() {
    let ws = Workspace::example();
    let (file, recipient, _) = identity(&ws, "me");
    ws.json(&["seed", "encrypt", "-r", &recipient]);
    let path = ws.dir.join("cluster.seed.age");
    let good = fs::read(&path).unwrap();
    let build = || ws.run(&["build", "infra/pool", "--identity", text(&file)]);
    fs::write(&path, "hello\n").unwrap();
    insta::assert_snapshot!(build(), @"
    [stderr]
    error: the seed `[DIR]/cluster.seed.age` is not an age file
    hint: restore it from your backup: a new seed is a new cluster
    [exit 1]
    ");
    // Wherever it breaks off, that is said.
    for length in (40..good.len() - 1).step_by(29) {
        fs::write(&path, &good[..length]).unwrap();
        let said = build();
        assert!(said.contains("is damaged or truncated"), "{length}: {said}");
    }
    let short =
        age::encrypt_and_armor(&recipient.parse::<age::x25519::Recipient>().unwrap(), b"short").unwrap();
    fs::write(&path, short).unwrap();
    insta::assert_snapshot!(build(), @"
    [stderr]
    error: the seed `[DIR]/cluster.seed.age` does not hold 32 bytes
    hint: restore it from your backup: a new seed is a new cluster
    [exit 1]
    ");
    let passphrase = age::Encryptor::with_user_passphrase("correct horse".to_owned().into());
    let mut sealed = Vec::new();
    let mut writer = passphrase.wrap_output(&mut sealed).unwrap();
    std::io::Write::write_all(&mut writer, &SEED).unwrap();
    writer.finish().unwrap();
    fs::write(&path, sealed).unwrap();
    insta::assert_snapshot!(build(), @"
    [stderr]
    error: the seed `[DIR]/cluster.seed.age` is encrypted with a passphrase, not for recipients
    hint: open it with `age -d`, and encrypt it again with `tinderbox seed encrypt -r RECIPIENT`
    [exit 1]
    ");
    fs::write(&path, &good).unwrap();
    fs::write(&file, "# nothing\n").unwrap();
    insta::assert_snapshot!(build(), @"
    [stderr]
    error: the identity file `[TEMP]/me` has no identity in it
    hint: it has one AGE-SECRET-KEY-1… a line, as `age-keygen` writes it; one that is itself encrypted must be decrypted first
    [exit 1]
    ");
    fs::write(&file, "# a comment\nAGE-SECRET-KEY-1MISTYPED\n").unwrap();
    insta::assert_snapshot!(build(), @"
    [stderr]
    error: the identity file `[TEMP]/me` has something other than an identity on line 2
    hint: it has one AGE-SECRET-KEY-1… a line, as `age-keygen` writes it; one that is itself encrypted must be decrypted first
    [exit 1]
    ");
    fs::remove_file(&path).unwrap();
    insta::assert_snapshot!(ws.run(&["seed", "encrypt", "-r", &recipient]), @"
    [stderr]
    error: the seed `[DIR]/cluster.seed` does not exist
    hint: `tinderbox lock` makes a seed
    [exit 1]
    ");
}

#[test]
fn recipients_from_files_each_can_open_it_and_rotation_shuts_out() {
    let ws = Workspace::example();
    let (one, first, _) = identity(&ws, "one");
    let (two, second, _) = identity(&ws, "two");
    ws.write("team.txt", &format!("# the team\n{first}\n\n  {second}  \n# {first}\n{first}\n"));
    let said = run(&ws, &["seed", "encrypt", "-R", "team.txt", "-r", &second], &[&first, &second]);
    insta::assert_snapshot!(said, @"
    [DIR]/cluster.seed.age: encrypted for
      [AGE 1]
      [AGE 0]
    not verified: no identity of yours opens it
    [exit 0]
    ");
    for file in [&one, &two] {
        assert_eq!(opened(&ws, file).unwrap(), SEED);
    }
    let rotate = ["seed", "rotate-recipients", "-r", &second, "--identity", text(&one)];
    insta::assert_snapshot!(run(&ws, &rotate, &[&first, &second]), @"
    [DIR]/cluster.seed.age: encrypted for
      [AGE 1]
    not verified: no identity of yours opens it
    [exit 0]
    ");
    assert!(
        ws.run(&["build", "--dry-run", "--identity", text(&one)])
            .contains("no identity in `[TEMP]/one` can open")
    );
    assert_eq!(opened(&ws, &two).unwrap(), SEED);
    assert!(opened(&ws, &one).is_none());
    let document =
        ws.json(&["seed", "rotate-recipients", "-r", &first, "-r", &second, "--identity", text(&two)]);
    assert_eq!(
        (&document["recipients"], &document["proved"]),
        (&serde_json::json!([first, second]), &true.into())
    );
    assert!(!ws.dir.join("cluster.seed").exists());
    ws.write("team.txt", &format!("{first}\nssh-ed25519 AAAAC3NzaC1lZDI1NTE5\n"));
    insta::assert_snapshot!(ws.run(&["seed", "rotate-recipients", "-R", "team.txt", "--identity", text(&two)]), @"
    [stderr]
    error: `team.txt`, line 2 is not an age recipient
    hint: an X25519 recipient is `age1` and 58 more characters; SSH keys and plugins are not supported
    [exit 2]
    ");
    assert!(
        ws.run(&["seed", "rotate-recipients", "--identity", text(&two)]).contains("--recipient <RECIPIENT>")
    );
}

/// A key in place of a file name or a recipient is refused and never shown again.
#[test]
fn keys_on_the_command_line_are_refused() {
    let ws = Workspace::example();
    let (_, _, key) = identity(&ws, "me");
    let in_variable = ws.command(&["seed", "decrypt"]).env("TINDERBOX_AGE_IDENTITY", &key).output().unwrap();
    let said = [
        ws.text(&in_variable),
        ws.run(&["build", "--identity", &key]),
        ws.run(&["seed", "encrypt", "-r", &key]),
        ws.run(&["seed", "encrypt", "-r", &key.to_lowercase(), "--json"]),
    ];
    insta::assert_snapshot!(said.join(""), @r#"
    [stderr]
    error: `--identity` and TINDERBOX_AGE_IDENTITY take the name of a file, and this is a key itself
    hint: write the key into a file of mode 0600 and name that; others may have seen this one: make a new key
    [exit 2]
    [stderr]
    error: `--identity` and TINDERBOX_AGE_IDENTITY take the name of a file, and this is a key itself
    hint: write the key into a file of mode 0600 and name that; others may have seen this one: make a new key
    [exit 2]
    [stderr]
    error: recipient 1 of the command line is an identity, which is secret
    hint: give the recipient that belongs to it: `age-keygen -y FILE` prints it
    [exit 2]
    {
      "error": "recipient 1 of the command line is an identity, which is secret",
      "hint": "give the recipient that belongs to it: `age-keygen -y FILE` prints it"
    }
    [stderr]
    error: recipient 1 of the command line is an identity, which is secret
    hint: give the recipient that belongs to it: `age-keygen -y FILE` prints it
    [exit 2]
    "#);
    assert!(said.iter().all(|said| !said.to_lowercase().contains(&key[15..].to_lowercase())));
    let help =
        ws.command(&["seed", "encrypt", "--help"]).env("TINDERBOX_AGE_IDENTITY", &key).output().unwrap();
    assert!(!ws.text(&help).contains(&key[15..]));
}

/// Both forms, as an interruption leaves them: every verb says so, and both conversions can go on.
#[test]
fn an_interrupted_conversion_is_finished_by_the_next() {
    let ws = Workspace::example();
    let (file, recipient, _) = identity(&ws, "me");
    ws.json(&["seed", "encrypt", "-r", &recipient]);
    ws.write_seed(&SEED);
    insta::assert_snapshot!(ws.run(&["build"]), @"
    [stderr]
    error: the seed `[DIR]/cluster.seed` has an encrypted one beside it, cluster.seed.age
    hint: `tinderbox seed encrypt -r RECIPIENT` keeps the encrypted one, `tinderbox seed decrypt` the plain one
    [exit 1]
    ");
    for args in [
        &["lock"][..],
        &["build", "--dry-run"],
        &["seed", "rotate-recipients", "-r", &recipient, "--identity", text(&file)],
    ] {
        assert!(ws.run(args).contains("has an encrypted one beside it"), "{args:?}");
    }
    ws.json(&["seed", "encrypt", "-r", &recipient, "--identity", text(&file)]);
    assert!(!ws.dir.join("cluster.seed").exists() && !ws.dir.join("cluster.seed.age.before").exists());
    ws.write_seed(&SEED);
    // Half-written files, of which one is the plain seed, go with the conversion.
    ws.write(".cluster.seed.0123456789abcdef", "plain");
    ws.write(".cluster.seed.age.0123456789abcdef", "half");
    ws.write(".cluster.seed.mine", "not ours");
    ws.json(&["seed", "decrypt", "--identity", text(&file)]);
    let kept: Vec<String> = list(&ws.dir).into_iter().filter(|name| name.contains("seed")).collect();
    assert_eq!(kept, [".cluster.seed.mine", "cluster.seed"]);
    // Without an identity nobody can compare: the encrypted one is kept, and the plain one encrypted.
    ws.json(&["seed", "encrypt", "-r", &recipient]);
    let before = fs::read(ws.dir.join("cluster.seed.age")).unwrap();
    ws.write_seed(&SEED);
    insta::assert_snapshot!(run(&ws, &["seed", "encrypt", "-r", &recipient], &[&recipient]), @"
    [DIR]/cluster.seed.age: encrypted for
      [AGE 0]
    not verified: no identity of yours opens it
    [stderr]
    warning: cluster.seed.age was there already, and without `--identity` nobody can say what is in it: it is kept as cluster.seed.age.before
    [exit 0]
    ");
    assert_eq!(fs::read(ws.dir.join("cluster.seed.age.before")).unwrap(), before);
    // Two seeds that differ are never made one.
    ws.write_seed(&[8; 32]);
    for verb in [&["seed", "encrypt", "-r", &recipient][..], &["seed", "decrypt"]] {
        let said = ws.run(&[verb, &["--identity", text(&file)]].concat());
        assert!(said.contains("hold different seeds"), "{said}");
    }
    assert_eq!(
        (fs::read(ws.dir.join("cluster.seed")).unwrap(), opened(&ws, &file).unwrap()),
        (vec![8; 32], SEED.to_vec())
    );
}

/// `kill -9` at any instant leaves at least one good seed.
#[test]
fn killed_at_any_instant() {
    let ws = Workspace::example();
    let (file, recipient, _) = identity(&ws, "me");
    let verbs = [
        &["seed", "encrypt", "-r", &recipient][..],
        &["seed", "decrypt"],
        &["seed", "rotate-recipients", "-r", &recipient],
    ];
    for round in 0..60u64 {
        let args = [verbs[(round % 3) as usize], &["--identity", text(&file)]].concat();
        let mut child = ws.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_micros(500 + round * 250));
        let _ = child.kill();
        child.wait().unwrap();
        let plain = fs::read(ws.dir.join("cluster.seed")).ok();
        let found: Vec<Vec<u8>> = plain.into_iter().chain(opened(&ws, &file)).collect();
        assert!(!found.is_empty() && found.iter().all(|seed| seed == &SEED), "round {round}: {found:?}");
    }
    if ws.dir.join("cluster.seed").exists() {
        ws.json(&["seed", "encrypt", "-r", &recipient, "--identity", text(&file)]);
    }
    assert_eq!(opened(&ws, &file).unwrap(), SEED);
}

/// The real program reads what we write, and we read what it writes.
#[test]
fn the_age_program_agrees() {
    let ws = Workspace::example().prebuilt();
    if Command::new("age").arg("--version").output().is_err() {
        return left_out("the age program", "age, of Debian's age package");
    }
    let age = |args: &[&str]| {
        let output = Command::new("age").args(args).current_dir(&ws.dir).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    let (file, recipient, _) = identity(&ws, "me");
    let (_, other, _) = identity(&ws, "other");
    ws.build(&[]);
    let before = object(&ws, None);
    ws.json(&["seed", "encrypt", "-r", &other, "-r", &recipient]);
    assert_eq!(age(&["-d", "-i", text(&file), "cluster.seed.age"]), SEED);
    ws.write_seed(&SEED);
    for armor in [&["-a"][..], &[]] {
        age(&[armor, &["-r", &recipient, "-r", &other, "-o", "cluster.seed.age", "cluster.seed"]].concat());
        let _ = fs::remove_file(ws.dir.join("plain"));
        fs::rename(ws.dir.join("cluster.seed"), ws.dir.join("plain")).unwrap();
        assert_eq!(object(&ws, Some(&file)), before, "{armor:?}");
        fs::rename(ws.dir.join("plain"), ws.dir.join("cluster.seed")).unwrap();
    }
}
