//! Ignition configs.

use serde_json::{Value, json};

use super::diff;
use crate::openshift::ignition::{encode, gzip};

fn entry(path: &str, mode: u32, content: &str) -> Value {
    json!({"path": path, "mode": mode, "contents": {"source": encode(content.as_bytes())}})
}

fn config(files: Vec<Value>) -> Value {
    json!({"ignition": {"version": "3.4.0"}, "storage": {"files": files}})
}

fn compared(old: &Value, new: &Value) -> String {
    diff("bootstrap.ign", &old.to_string(), &new.to_string())
}

#[test]
fn files_by_path_with_what_is_in_them() {
    let map = |value: &str| {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata: {{a: {value}}}\n")
    };
    let old = config(vec![
        entry("/etc/a.yaml", 0o644, &map("x")),
        entry("/etc/b.sh", 0o644, "#!/bin/sh\necho a\n"),
        entry("/etc/gone", 0o644, "gone\n"),
    ]);
    let mut new = config(vec![
        entry("/etc/come", 0o644, "come\n"),
        entry("/etc/b.sh", 0o755, "#!/bin/sh\necho b\n"),
        entry("/etc/a.yaml", 0o644, &map("z")),
    ]);
    insta::assert_snapshot!(compared(&old, &new), @r"
    object: /etc/a.yaml / ConfigMap a / data / a: x -> z
    file: /etc/b.sh / mode: 0644 -> 0755
    text: /etc/b.sh: 
      @@ -1 +1 @@
       #!/bin/sh
      -echo a
      +echo b
    file: /etc/gone: - gone⏎
    file: /etc/come: + come⏎
    ");
    // Another encoding of the same content in another order is not a change.
    new = config(vec![
        entry("/etc/gone", 0o644, "gone\n"),
        json!({"path": "/etc/b.sh", "mode": 0o644, "contents": {"source": "data:;base64,IyEvYmluL3NoCmVjaG8gYQo="}}),
        entry("/etc/a.yaml", 0o644, &(map("'x'") + "# why\n")),
    ]);
    assert_eq!(compared(&old, &new), "(none)");
}

#[test]
fn compressed_contents_are_opened() {
    let packed = |content: &str| json!({"path": "/a.yaml", "mode": 0o644, "contents": {"compression": "gzip", "source": encode(&gzip(content.as_bytes()))}});
    insta::assert_snapshot!(compared(&config(vec![packed("a: 1\n")]), &config(vec![packed("a: 2\n")])), @"data: /a.yaml / a: 1 -> 2");
    assert_eq!(
        compared(&config(vec![packed("a: 1\n")]), &config(vec![entry("/a.yaml", 0o644, "a: 1\n")])),
        "(none)"
    );
}

#[test]
fn files_are_renamed() {
    let text = "one\ntwo\nthree\nfour\nfive\n";
    let old = config(vec![entry("/etc/old", 0o644, text), entry("/same/a", 0o644, "x\n")]);
    let new =
        config(vec![entry("/etc/new", 0o644, &text.replace("five", "six")), entry("/same/b", 0o644, "x\n")]);
    insta::assert_snapshot!(compared(&old, &new), @r"
    file: /etc/new: renamed /etc/old -> /etc/new
    text: /etc/new: 
      @@ -2 +2 @@
       two
       three
       four
      -five
      +six
    file: /same/b: renamed /same/a -> /same/b
    ");
}

#[test]
fn units_users_and_the_rest() {
    let old = json!({
        "ignition": {"version": "3.4.0", "config": {"merge": [{"source": "https://a/master"}]}},
        "systemd": {"units": [
            {"name": "a.service", "enabled": true, "contents": "[Service]\nExecStart=/bin/a --x=1\n",
             "dropins": [{"name": "10.conf", "contents": "[Service]\nEnvironment=A=1\n"}]},
            {"name": "gone.service", "contents": "[Service]\n"},
        ]},
        "passwd": {"users": [{"name": "core", "sshAuthorizedKeys": ["ssh-ed25519 AAAA a"], "passwordHash": "$6$abcdefgh$one"}]},
        "kernelArguments": {"shouldExist": ["a=1"]},
        "storage": {"links": [{"path": "/l", "target": "/a"}], "directories": [{"path": "/d", "mode": 493}]},
    });
    let new = json!({
        "ignition": {"version": "3.5.0", "config": {"merge": [{"source": "https://b/master"}]}},
        "systemd": {"units": [
            {"name": "a.service", "enabled": false, "contents": "[Service]\nExecStart=/bin/a --x=2\n",
             "dropins": [{"name": "10.conf", "contents": "[Service]\nEnvironment=A=2\n"}, {"name": "20.conf", "contents": "[Unit]\n"}]},
        ]},
        "passwd": {"users": [{"name": "core", "sshAuthorizedKeys": ["ssh-ed25519 AAAA b"], "passwordHash": "$6$abcdefgh$two"}]},
        "kernelArguments": {"shouldExist": ["a=2"]},
        "storage": {"links": [{"path": "/l", "target": "/b"}], "directories": [{"path": "/d", "mode": 448}]},
    });
    insta::assert_snapshot!(compared(&old, &new), @r#"
    flag: /etc/systemd/system/a.service / Service / ExecStart / --x: 1 -> 2
    unit: /etc/systemd/system/a.service / enabled: true -> false
    environment: /etc/systemd/system/a.service.d/10.conf / Service / Environment / A: 1 -> 2
    unit: /etc/systemd/system/a.service.d/20.conf: + [Unit]⏎
    unit: /etc/systemd/system/gone.service: - [Service]⏎
    node: passwd / users / name=core / passwordHash: (secret) -> (secret)
    node: passwd / users / name=core / sshAuthorizedKeys / 0: - ssh-ed25519 AAAA a
    node: passwd / users / name=core / sshAuthorizedKeys / 0: + ssh-ed25519 AAAA b
    file: /d / mode: 0755 -> 0700
    file: /l / target: /a -> /b
    node: ignition / config / merge / source=https://a/master: - source: "https://a/master"
    node: ignition / config / merge / source=https://b/master: + source: "https://b/master"
    node: ignition / version: 3.4.0 -> 3.5.0
    node: kernelArguments / shouldExist / a=1: - a=1
    node: kernelArguments / shouldExist / a=2: + a=2
    "#);
}

#[test]
fn a_machine_config_holds_one() {
    let config = |value: &str| {
        let config = config(vec![entry("/etc/a.env", 0o644, &format!("A={value}\n"))]);
        json!({"apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig", "metadata": {"name": "00"}, "spec": {"config": config, "osImageURL": value}}).to_string()
    };
    insta::assert_snapshot!(diff("mc.json", &config("1"), &config("2")), @r"
    object: MachineConfig 00 / spec / osImageURL: 1 -> 2
    environment: MachineConfig 00 / spec / config / /etc/a.env / A: 1 -> 2
    ");
}

#[test]
fn a_secret_file_of_a_config_is_masked_and_its_neighbours_are_not() {
    let config = |word: &str| {
        config(vec![
            entry("/opt/token", 0o600, &format!("{word}-token\n")),
            entry(
                "/opt/pull.json",
                0o644,
                &format!("{{\"auths\": {{\"a.example\": {{\"auth\": \"{word}{word}\"}}}}}}"),
            ),
            entry("/opt/public", 0o644, &format!("{word}\n")),
        ])
    };
    let (old, new) = (config("hunter2"), config("hunter3"));
    insta::assert_snapshot!(compared(&old, &new), @r"
    text: /opt/public: 
      @@ -1 +1 @@
      -hunter2
      +hunter3
    data: /opt/pull.json / auths / a.example / auth: (secret) -> (secret)
    text: /opt/token: (secret) -> (secret)
    ");
    assert_eq!(super::diff_secret("a.ign", &old.to_string(), &new.to_string()), compared(&old, &new));
}
