//! Mistakes that nobody would notice before the boot: each is said.

use time::{Duration, OffsetDateTime};

use crate::harness::{Workspace, epoch};

/// 16 of what? A node of 16 MiB never boots.
#[test]
fn an_amount_without_a_unit() {
    let ws = Workspace::example();
    ws.edit("cluster.yaml", "ip: 192.168.126.101", "memory: 16, disk: 120, ip: 192.168.126.101");
    insta::assert_snapshot!(ws.run(&["build"]), @"
    [stderr]
    error: 2 problems:
    cluster.yaml:27: nodes.master-0.disk: `120` is not an amount with a unit, such as `120GB`
      hint: write `120GB` if you mean that
    cluster.yaml:27: nodes.master-0.memory: `16` is not an amount with a unit, such as `16GiB`
      hint: write `16GiB` if you mean that
    [exit 1]
    ");
}

/// A machine that is too small is an error with its reason, and a lab can go below.
#[test]
fn a_machine_that_is_too_small() {
    let ws = Workspace::example().prebuilt();
    ws.edit("cluster.yaml", "ip: 192.168.126.101", "memory: 16MiB, vcpus: 1, ip: 192.168.126.101");
    insta::assert_snapshot!(ws.run(&["build"]), @"
    [stderr]
    error: 2 problems:
    cluster.yaml:27: nodes.master-0.memory: 16 MiB is less than a master node needs: etcd and the API server starve next to the operators, and the installation never ends [machine-size]
      hint: at least 16GiB; `checks: {disabled: [machine-size]}` goes below, for a lab
    cluster.yaml:27: nodes.master-0.vcpus: 1 vCPU is less than a master node needs: etcd and the API server starve next to the operators, and the installation never ends [machine-size]
      hint: at least 4; `checks: {disabled: [machine-size]}` goes below, for a lab
    [exit 1]
    ");
    let text = std::fs::read_to_string(ws.dir.join("cluster.yaml")).unwrap();
    ws.write("cluster.yaml", &(text + "checks: {disabled: [machine-size]}\n"));
    ws.build(&["infra/master-0"]);
}

/// Another image of the node OS in cluster.yaml than in the lock, and one that does not exist.
#[test]
fn an_image_of_the_node_os_that_is_not_pinned() {
    let ws = Workspace::example();
    let text = std::fs::read_to_string(ws.dir.join("cluster.yaml")).unwrap();
    ws.write("cluster.yaml", &(text + "rhcos: {iso: live.iso}\n"));
    insta::assert_snapshot!(ws.run(&["build"]), @"
    [stderr]
    error: `rhcos.iso` of cluster.yaml names `live.iso`, but cluster.lock pins nothing
    hint: `tinderbox lock --update rhcos` pins what cluster.yaml names
    [exit 1]
    ");
    // What a build would refuse, a dry run refuses, and `why` does not call it up to date.
    assert_eq!(ws.run(&["build", "--dry-run"]), ws.run(&["build"]));
    let said = ws.run(&["-q", "lock", "--update", "rhcos"]);
    assert!(said.contains("`[DIR]/live.iso`") && said.contains("No such file"), "{said}");
}

/// cluster.yaml asks for another release than the lock pins: whoever asks what a build would do is told.
#[test]
fn a_release_that_is_not_pinned() {
    let ws = Workspace::example().prebuilt();
    ws.build(&[]);
    ws.edit("cluster.yaml", "release: demo:4.18", "release: demo:4.19");
    insta::assert_snapshot!(ws.run(&["build", "--dry-run"]), @r"
    [stderr]
    error: cluster.yaml asks for release `demo:4.19`, and cluster.lock pins `demo:4.18`
    hint: `tinderbox lock --update release` pins what cluster.yaml asks for; `tinderbox lock --update release=demo:4.18` writes the other into cluster.yaml
    [exit 1]
    ");
    let why = ws.run(&["why", "infra/haproxy"]);
    assert!(
        why.contains("warning: the next build fails: cluster.yaml asks for release `demo:4.19`"),
        "{why}"
    );
}

/// A set that can no longer boot does not pass, and a cluster that nobody can log in to is told.
#[test]
fn artifacts_that_have_ended() {
    let ws = Workspace::example();
    assert!(ws.run(&["check"]).contains("warning: install-config.yaml has no sshKey"));
    // Nodes can no longer join, and a cluster that runs does not mind.
    let days_ago = (OffsetDateTime::now_utc() - Duration::days(20)).date();
    ws.edit("cluster.lock", epoch(), &format!("{days_ago}T00:00:00Z"));
    let said = ws.run(&["check"]);
    assert!(said.contains("these artifacts could boot until [TIME]") && said.contains("[exit 0]"), "{said}");
    ws.edit("cluster.lock", &format!("{days_ago}T00:00:00Z"), "2019-03-01T00:00:00Z");
    let said = ws.run(&["check"]);
    assert!(
        said.contains("these artifacts could boot until [TIME]; `tinderbox renew` moves the dates")
            && said.contains("[exit 1]"),
        "{said}"
    );
    assert_eq!(ws.output(&["check", "--json"]).status.code(), Some(1));
}

/// Makes the temporary directory a git repository that tracks these files of the cluster directory: its index, version 2.
fn track(ws: &Workspace, files: &[&str]) {
    let mut index = [b"DIRC".as_slice(), &2_u32.to_be_bytes(), &(files.len() as u32).to_be_bytes()].concat();
    for file in files {
        let name = format!("ocp4/{file}\0");
        index.extend(vec![0; 62]);
        index.extend(name.as_bytes());
        index.resize(index.len() + (62 + name.len()).next_multiple_of(8) - 62 - name.len(), 0);
    }
    std::fs::create_dir_all(ws.temp().join(".git")).unwrap();
    std::fs::write(ws.temp().join(".git/index"), index).unwrap();
}

/// A secret that git tracks is one that everybody will have.
#[test]
fn secrets_that_git_tracks() {
    let ws = Workspace::example().prebuilt();
    track(&ws, &["cluster.yaml", "install-config.yaml"]);
    let dns = ["build", "manifest/cluster-dns-02-config"];
    assert_eq!(ws.output(&dns).stderr, b"", "a placeholder is no secret");
    let real = |name: &str| name.replace("ZGVtbzpkZW1v", "cmVhbDpzZWNyZXQ=");
    let install = real(&std::fs::read_to_string(ws.dir.join("install-config.yaml")).unwrap());
    ws.write("install-config.yaml", &install);
    track(&ws, &["cluster.lock", "cluster.seed", "cluster.yaml", "install-config.yaml", "manifests/s.yaml"]);
    ws.write("manifests/s.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: default}\n");
    insta::assert_snapshot!(ws.run(&["build", "manifest/cluster-dns-02-config"]), @"
    [STORE]/[ID]-manifest-cluster-dns-02-config
    [stderr]
    warning: git tracks `cluster.seed`, which holds the cluster's identity and all of its keys: run `git rm --cached cluster.seed`; `tinderbox seed encrypt` makes one that can be committed
    warning: git tracks `install-config.yaml`, which holds the pull secret: move it to a file that git ignores, and name that with `pullSecretFile` in cluster.yaml
    warning: git tracks `manifests/s.yaml`, which holds a Secret: run `git rm --cached manifests/s.yaml`, and replace it if others have seen the repository
    [exit 0]
    ");

    // A verb that reads the directory twice does not warn twice.
    let plan = ws.run(&["realize", "plan"]);
    assert_eq!(plan.matches("git tracks `cluster.seed`").count(), 1, "{plan}");

    // With a file of its own, the secret is out of the way, and every id is the same.
    let ids = ws.json(&["build", "cluster"])["targets"].clone();
    let start = install.find("pullSecret: '").unwrap();
    let line = &install[start..start + install[start..].find('\n').unwrap() + 1];
    ws.write("install-config.yaml", &install.replace(line, ""));
    ws.write("pull-secret.json", &format!("{}\n", line["pullSecret: '".len()..].trim_end_matches("'\n")));
    let cluster = std::fs::read_to_string(ws.dir.join("cluster.yaml")).unwrap();
    ws.write("cluster.yaml", &format!("{cluster}pullSecretFile: pull-secret.json\n"));
    track(&ws, &["cluster.yaml", "install-config.yaml"]);
    let report = ws.json(&["build", "cluster"]);
    assert_eq!((&report["built"], &report["targets"]), (&serde_json::json!([]), &ids));
    assert_eq!(ws.output(&dns).stderr, b"");
    track(&ws, &["pull-secret.json"]);
    insta::assert_snapshot!(ws.run(&dns), @"
    [STORE]/[ID]-manifest-cluster-dns-02-config
    [stderr]
    warning: git tracks `pull-secret.json`, which holds the pull secret: run `git rm --cached pull-secret.json`, and replace it if others have seen the repository
    [exit 0]
    ");
}
