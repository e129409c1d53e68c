//! What there is to ask about: targets, folders, completions.

use std::path::Path;

use crate::harness::Workspace;

#[test]
fn verbs_without_a_target_say_what_they_accept() {
    let ws = Workspace::example();
    let said = ["why", "show", "blame", "affects"].map(|verb| ws.run(&[verb])).concat();
    insta::assert_snapshot!(said, @"
    [stderr]
    error: `why` needs a derivation (`infra/haproxy`) or a folder of them (`infra`)
    hint: `tinderbox targets` lists all derivations; the folders are bootstrap-config, check, hand-over, identity, ignition, ignition-id, infra, installer-key, installer-kubeconfig, installer-pki, key, kubeconfig, manifest, mco, node-tuning, operand-image, operator-image, pki, release, render, script, static-pod
    [exit 2]
    [stderr]
    error: `show` needs a derivation (`infra/haproxy`), a folder of them (`infra`), or a file (`cluster:manifests/cluster-dns-02-config.yml`, `ignition/master-0:/etc/hostname`)
    hint: `tinderbox targets` lists all derivations; the folders are bootstrap-config, check, hand-over, identity, ignition, ignition-id, infra, installer-key, installer-kubeconfig, installer-pki, key, kubeconfig, manifest, mco, node-tuning, operand-image, operator-image, pki, release, render, script, static-pod
    [exit 2]
    [stderr]
    error: `blame` needs a file of a derivation (`cluster:manifests/cluster-dns-02-config.yml`) or of a node (`ignition/master-0:/etc/hostname`)
    hint: `tinderbox targets` lists all derivations; the folders are bootstrap-config, check, hand-over, identity, ignition, ignition-id, infra, installer-key, installer-kubeconfig, installer-pki, key, kubeconfig, manifest, mco, node-tuning, operand-image, operator-image, pki, release, render, script, static-pod
    [exit 2]
    [stderr]
    error: `affects` needs a field of cluster.yaml (`nodes.worker-0.ip`) or of install-config.yaml (`networking.serviceNetwork`)
    hint: `tinderbox completions --help` says how your shell can complete fields
    [exit 2]
    ");
}

/// A folder is a target wherever a derivation is.
#[test]
fn folders_are_targets() {
    let ws = Workspace::example().prebuilt();
    ws.build(&["infra"]);
    let listed = ws.json(&["targets", "infra/haproxy*"]);
    assert_eq!(listed[0]["name"], "infra/haproxy");
    assert_eq!(listed.as_array().unwrap().len(), 2, "{listed}");
    let shown = ws.json(&["show", "infra"]);
    assert_eq!(shown["derivations"].as_array().unwrap().len(), 11, "{shown}");
    assert!(ws.run(&["show", "infra"]).contains("infra/pool             1      "));
    let file = ["infra/haproxy:haproxy.cfg", "infra:haproxy.cfg"].map(|target| ws.run(&["show", target]));
    assert_eq!(file[0], file[1]);
    assert!(ws.run(&["blame", "infra:haproxy.cfg"]).starts_with("infra/haproxy:haproxy.cfg\n"));
    insta::assert_snapshot!(ws.run(&["show", "pki:tls.crt"]), @"
    [stderr]
    error: `pki` is a folder of 26 derivations
    hint: name one of `pki/admin`, `pki/etcd-ca`, `pki/etcd-client`, `pki/etcd-peer-bootstrap`, `pki/etcd-peer-master-0`, `pki/etcd-peer-master-1`, and 20 more
    [exit 2]
    ");
    insta::assert_snapshot!(ws.run(&["targets", "haproxi"]), @"
    [stderr]
    error: no derivation has `haproxi` in its name
    hint: `tinderbox targets` lists all
    [exit 2]
    ");
    ws.edit("cluster.yaml", "ip: 192.168.126.110", "ip: 192.168.126.112");
    insta::assert_snapshot!(ws.run(&["why", "infra"]), @"
    infra changed since the last build
    root cause
      config field nodes.worker-0.addresses.0.ip (cluster.yaml:30: nodes.worker-0.ip): 192.168.126.110 → 192.168.126.112
    cascade
      ignition/worker-0 → ignition-id/worker-0 → infra/worker-0
    what follows
      check/infra
      cluster
    [exit 0]
    ");
}

/// What bash proposes, by the script that it is given.
#[test]
fn bash_completes_what_the_cluster_has() {
    let ws = Workspace::example().prebuilt();
    ws.build(&["ignition/master-0"]);
    let script = r#"
        tinderbox() { "$T" "$@"; }
        eval "$("$T" completions bash | sed "s|\"tinderbox\" -- |\"$T\" -- |")"
        try() {
            COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_TYPE=9; COMPREPLY=()
            _clap_complete_tinderbox tinderbox "${COMP_WORDS[COMP_CWORD]}" ""
            echo "$*: ${COMPREPLY[*]:-nothing}"
        }
        try tinderbox tar
        try tinderbox show infra/ha
        try tinderbox show ignition/master-0:/etc/hostn
        try tinderbox affects nodes.worker-0.i
        try tinderbox realize ssh work
        cd /
        try tinderbox -C "$D" why static-pod/kube-a
        try tinderbox why static-pod/kube-a
    "#;
    let mut command = ws.command_of(Path::new("bash"), &["-c", script]);
    command.env("T", env!("CARGO_BIN_EXE_tinderbox")).env("D", &ws.dir);
    insta::assert_snapshot!(ws.text(&command.output().unwrap()), @"
    tinderbox tar: targets
    tinderbox show infra/ha: infra/haproxy infra/haproxy-pivoted
    tinderbox show ignition/master-0:/etc/hostn: ignition/master-0:/etc/hostname
    tinderbox affects nodes.worker-0.i: nodes.worker-0.index nodes.worker-0.installDevice nodes.worker-0.interfaces nodes.worker-0.ip nodes.worker-0.ips.0
    tinderbox realize ssh work: worker-0 worker-1
    tinderbox -C [DIR] why static-pod/kube-a: static-pod/kube-apiserver
    tinderbox why static-pod/kube-a: nothing
    [exit 0]
    ");
}
