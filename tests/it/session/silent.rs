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
    cluster.yaml:27: nodes.master-0.disk: `120` is not an amount with its unit, such as `120GB`
      hint: write `120GB` if you mean that
    cluster.yaml:27: nodes.master-0.memory: `16` is not an amount with its unit, such as `16GiB`
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
    error: `rhcos.iso` of cluster.yaml names `live.iso`, and cluster.lock pins `nothing`
    hint: `tinderbox lock --update rhcos` pins what cluster.yaml names
    [exit 1]
    ");
    let said = ws.run(&["-q", "lock", "--update", "rhcos"]);
    assert!(said.contains("`[DIR]/live.iso`") && said.contains("No such file"), "{said}");
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
