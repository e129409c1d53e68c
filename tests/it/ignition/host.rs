//! The real Ignition of Debian applies every node's config to a scratch root; what is there afterwards is compared with
//! the config, entry by entry. It knows specs up to 3.3, so configs are converted down first: none of ours uses a newer
//! field, or that would be an error.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tinderbox::internals::ignition::Config;

use super::{config, entries};
use crate::harness::{Workspace, is_root, left_out, mode, set_mode, tree};

pub(crate) const IGNITION: &str = "/usr/lib/dracut/modules.d/30ignition/ignition";
const KEY: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f me@example.com";

/// What an operating system has that Ignition asks for.
fn scratch(root: &Path) {
    let contexts = root.join("etc/selinux/targeted/contexts/files");
    fs::create_dir_all(&contexts).unwrap();
    fs::create_dir_all(root.join("home")).unwrap();
    fs::write(contexts.join("file_contexts"), "").unwrap();
    fs::write(root.join("etc/selinux/config"), "SELINUX=disabled\nSELINUXTYPE=targeted\n").unwrap();
    for (name, text) in [
        ("passwd", "root:x:0:0::/root:/bin/sh\n"),
        ("group", "root:x:0:\n"),
        ("shadow", "root:*:::::::\n"),
        ("gshadow", ""),
    ] {
        fs::write(root.join("etc").join(name), text).unwrap();
    }
}

/// Applies a config, both stages.
fn apply(temp: &Path, text: &str) {
    let (root, bin) = (temp.join("root"), temp.join("bin"));
    scratch(&root);
    fs::create_dir(&bin).unwrap();
    // Labels are not what this is about.
    fs::write(bin.join("setfiles"), "#!/bin/sh\nexit 0\n").unwrap();
    set_mode(&bin.join("setfiles"), 0o755);
    fs::write(temp.join("node.ign"), text).unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    for stage in ["fetch", "files"] {
        let mut command = Command::new(IGNITION);
        command.args(["--platform=file", "--log-to-stdout", &format!("--stage={stage}")]);
        for (flag, name) in
            [("root", "root"), ("config-cache", "cache"), ("state-file", "state"), ("neednet", "net")]
        {
            command.arg(format!("--{flag}={}", temp.join(name).display()));
        }
        command.env("IGNITION_CONFIG_FILE", temp.join("node.ign"));
        command.env("PATH", format!("{}:{path}:/usr/sbin:/sbin", bin.display()));
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{stage}: {said}");
    }
}

/// Everything that the config says is there, and nothing else.
fn compare(ws: &Workspace, node: &str, config: &Value, temp: &Path) {
    let root = temp.join("root");
    let object = ws.path_of(&format!("ignition/{node}"));
    let mut expected: BTreeSet<String> =
        [".ignition-result.json", ".pwd.lock", "group", "group-", "gshadow", "gshadow-"]
            .into_iter()
            .chain(["passwd", "passwd-", "shadow", "shadow-", "subgid", "subgid-", "subuid", "subuid-"])
            .chain(["selinux/config", "selinux/targeted/contexts/files/file_contexts"])
            .map(|name| format!("etc/{name}"))
            .collect();
    let owner = |path: &Path| {
        let found = fs::symlink_metadata(path).unwrap();
        (found.uid(), found.gid())
    };
    for (path, file) in entries(config, "storage.files") {
        let real = root.join(path.trim_start_matches('/'));
        assert_eq!(i64::from(mode(&real)), file["mode"].as_i64().unwrap(), "{node}: {path}");
        assert_eq!(owner(&real), (0, 0), "{node}: {path}");
        assert!(
            fs::read(&real).unwrap() == fs::read(object.join(format!("tree{path}"))).unwrap(),
            "{node}: {path}"
        );
        expected.insert(path.trim_start_matches('/').to_owned());
    }
    for (path, directory) in entries(config, "storage.directories") {
        let real = root.join(path.trim_start_matches('/'));
        assert!(real.is_dir() && owner(&real) == (0, 0), "{node}: {path}");
        assert_eq!(i64::from(mode(&real)), directory["mode"].as_i64().unwrap(), "{node}: {path}");
    }
    let preset = "etc/systemd/system-preset/20-ignition.preset";
    let presets = fs::read_to_string(root.join(preset)).unwrap();
    expected.insert(preset.to_owned());
    for (name, unit) in entries(config, "systemd.units") {
        let mut parts = vec![(format!("etc/systemd/system/{name}"), unit["contents"].clone())];
        for dropin in unit["dropins"].as_array().into_iter().flatten() {
            let path = format!("etc/systemd/system/{name}.d/{}", dropin["name"].as_str().unwrap());
            parts.push((path, dropin["contents"].clone()));
        }
        for (path, contents) in parts {
            let Some(text) = contents.as_str() else { continue };
            assert_eq!(fs::read_to_string(root.join(&path)).unwrap(), text, "{node}: {path}");
            expected.insert(path);
        }
        let enabled = presets.lines().any(|line| line == format!("enable {name}"));
        assert_eq!(enabled, unit["enabled"].as_bool() == Some(true), "{node}: {name}: {presets}");
        let masked = root.join("etc/systemd/system").join(&name).is_symlink();
        assert_eq!(masked, unit["mask"].as_bool() == Some(true), "{node}: {name}");
    }
    for (name, user) in entries(config, "passwd.users") {
        let keys = format!("home/{name}/.ssh/authorized_keys.d/ignition");
        let real = fs::read_to_string(root.join(&keys)).unwrap();
        for key in user["sshAuthorizedKeys"].as_array().unwrap() {
            assert!(real.contains(key.as_str().unwrap()), "{node}: {name}: {real}");
        }
        expected.insert(keys);
    }
    let found: BTreeSet<String> = tree(&root).into_keys().collect();
    let extra: Vec<&String> = found.difference(&expected).collect();
    assert!(extra.is_empty(), "{node}: {extra:?}");
}

/// Converts a node's config down, applies it, and compares. What is there afterwards is below `root`.
pub(crate) fn check(ws: &Workspace, node: &str) -> tempfile::TempDir {
    let path = ws.path_of(&format!("ignition/{node}")).join(format!("{node}.ign"));
    let config_of = Config::parse(&fs::read_to_string(path).unwrap()).unwrap();
    let older = config_of.to_version("3.3.0".parse().unwrap()).unwrap();
    let temp = tempfile::tempdir().unwrap();
    apply(temp.path(), &older.emit());
    compare(ws, node, &config(ws, node), temp.path());
    temp
}

/// What no node of ours needs, and a recipe can say all the same.
#[test]
fn the_real_ignition_applies_every_kind_of_entry() {
    if !Path::new(IGNITION).exists() || !is_root() {
        return left_out("the real Ignition", "root, or Debian's package ignition");
    }
    let ws = Workspace::with(&[
        (
            "recipes/65-ignition/all.toml",
            r#"# All kinds of entries.
builder = "ignition"
[inputs]
version = "mco/master:version"
script = "script/bootkube:bootkube.sh"
[files]
"x.service" = "x.service.j2"
"dropin" = "dropin.j2"
[params]
node = "all"
version = "version"
[[params.write]]
path = "/opt/packed"
mode = "0711"
from = "script"
gzip = true
why = "it is large"
[[params.directories]]
path = "/opt/empty"
mode = "0750"
why = "somebody writes into it"
[[params.links]]
path = "/etc/localtime"
target = "../usr/share/zoneinfo/UTC"
why = "one time for all"
[[params.units]]
name = "x.service"
enabled = true
from = "x.service"
dropins = {"10-a.conf" = "dropin"}
why = "it runs"
[[params.units]]
name = "firewalld.service"
mask = true
why = "it must not run"
"#,
        ),
        (
            "recipes/65-ignition/x.service.j2",
            "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n",
        ),
        ("recipes/65-ignition/dropin.j2", "[Service]\nNice=5\n"),
    ]);
    ws.build(&["ignition/all"]);
    let temp = check(&ws, "all");
    let link = fs::read_link(temp.path().join("root/etc/localtime")).unwrap();
    assert_eq!(link, Path::new("../usr/share/zoneinfo/UTC"));
    let text = fs::read_to_string(ws.path_of("ignition/all").join("all.ign")).unwrap();
    assert!(text.contains(r#""compression":"gzip""#) && text.len() < 10_000, "{}", text.len());
    insta::assert_snapshot!(ws.run(&["show", "ignition/all"]), @r"
    KIND       MODE       SIZE      PATH                                         FROM
    directory  0750                 /opt/empty                                   recipes/65-ignition/all.toml
    file       0711       14.5 KiB  /opt/packed                                  script/bootkube:bootkube.sh
    link                            /etc/localtime -> ../usr/share/zoneinfo/UTC  recipes/65-ignition/all.toml
    unit       masked               firewalld.service                            recipes/65-ignition/all.toml
    unit       enabled    67 B      x.service                                    recipes/65-ignition/x.service.j2
    drop-in               17 B      x.service/10-a.conf                          recipes/65-ignition/dropin.j2
    [exit 0]
    ");
}

#[test]
fn the_real_ignition_applies_every_nodes_config() {
    if !Path::new(IGNITION).exists() || !is_root() {
        return left_out("the real Ignition", "root, or Debian's package ignition");
    }
    let ws = Workspace::example().prebuilt();
    ws.edit("install-config.yaml", "# sshKey: ssh-ed25519 AAAA… you@example.com", &format!("sshKey: {KEY}"));
    ws.build(&["ignition"]);
    for node in ["bootstrap", "master-0", "master-1", "master-2", "worker-0", "worker-1"] {
        let users = entries(&config(&ws, node), "passwd.users");
        assert_eq!(users["core"]["sshAuthorizedKeys"][0].as_str(), Some(KEY));
        check(&ws, node);
    }
}
