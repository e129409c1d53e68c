//! An edit builds what names it, and nothing else.

use super::harness::{Workspace, names};

/// What an edit of one worker's address builds: the four that name it, and what is made of them.
const WORKER_IP: [&str; 9] = [
    "check/ignition",
    "check/infra",
    "cluster",
    "ignition-id/worker-0",
    "ignition/worker-0",
    "infra/haproxy",
    "infra/haproxy-pivoted",
    "infra/network",
    "infra/worker-0",
];

const NONE: [&str; 0] = [];

/// These, and for every node's Ignition among them its digest and the machine that carries it.
fn with_machines(names: &[&str]) -> Vec<String> {
    let nodes = names.iter().filter_map(|name| name.strip_prefix("ignition/"));
    let machines = nodes.flat_map(|node| [format!("ignition-id/{node}"), format!("infra/{node}")]);
    let mut all: Vec<String> = names.iter().map(|name| (*name).to_owned()).chain(machines).collect();
    all.sort();
    all
}

/// The promise of the whole design, on names.
#[test]
fn one_workers_address_builds_what_names_it() {
    let ws = Workspace::example();
    let all = ws.build(&[]);
    assert!(all.len() > 15, "{all:?}");
    ws.edit("cluster.yaml", "ip: 192.168.126.110", "ip: 192.168.126.120");
    let mut planned = names(&ws.json(&["build", "--dry-run"])["would_build"]);
    planned.sort();
    assert_eq!(planned, WORKER_IP);
    assert_eq!(ws.build(&[]), WORKER_IP);
    ws.edit("cluster.yaml", "ip: 192.168.126.120", "ip: 192.168.126.110");
    assert_eq!(names(&ws.json(&["build", "--dry-run"])["would_build"]), NONE);
    assert_eq!(ws.build(&[]), NONE);
}

/// The service network is in the manifests that carry it and in the API server's certificate; with a proxy, it is also
/// an exception of it.
#[test]
fn the_service_network_builds_what_carries_it() {
    let ws = Workspace::example().prebuilt();
    ws.build(&[]);
    ws.edit("install-config.yaml", "  - 172.30.0.0/16", "  - 172.31.0.0/16");
    let carries = [
        "assembled",
        "bootstrap-config/authentication",
        "bootstrap-config/kube-apiserver",
        "check/bootkube",
        "check/certificates",
        "check/crds",
        "check/hand-over",
        "check/ignition",
        "check/manifests",
        "check/references",
        "check/render",
        "check/schemas",
        "check/secrets",
        "check/static-pods",
        "cluster",
        "ignition/bootstrap",
        "ignition/master-0",
        "ignition/master-1",
        "ignition/master-2",
        "ignition/worker-0",
        "ignition/worker-1",
        "manifest/cluster-config",
        "manifest/cluster-network-02-config",
        "manifest/cluster-network-03-config",
        "mco/inputs",
        "mco/master",
        "mco/rendered",
        "mco/rendered-inputs",
        "mco/shared",
        "mco/shared-inputs",
        "mco/worker",
        "patched",
        "pki/kube-apiserver",
        "static-pod/kube-controller-manager",
    ];
    assert_eq!(ws.build(&[]), with_machines(&carries));
    ws.edit("install-config.yaml", "platform:\n", "proxy: {httpProxy: 'http://proxy:3128'}\nplatform:\n");
    ws.build(&[]);
    ws.edit("install-config.yaml", "  - 172.31.0.0/16", "  - 172.30.0.0/16");
    let built = ws.build(&[]);
    let (proxy, others): (Vec<_>, Vec<_>) = built.iter().partition(|name| name.contains("proxy"));
    assert_eq!(proxy, ["manifest/cluster-proxy-01-config"]);
    // The certificate is still in the store.
    let carries = with_machines(&carries);
    assert!(others.iter().all(|name| carries.contains(name)), "{others:?}");
}

/// `affects` foretells exactly what an edit builds.
#[test]
fn affects_foretells() {
    let ws = Workspace::example().prebuilt();
    ws.build(&[]);
    let affected = ws.json(&["affects", "nodes.worker-0.ip"]);
    let mut foretold = [names(&affected["direct"]), names(&affected["cascade"])].concat();
    foretold.sort();
    ws.edit("cluster.yaml", "ip: 192.168.126.110", "ip: 192.168.126.120");
    assert_eq!(ws.build(&[]), foretold);
}

/// `why` names field, file, line, and both values: before the build, and after it.
#[test]
fn why_names_the_field() {
    let ws = Workspace::example();
    insta::assert_snapshot!(ws.run(&["why", "infra/haproxy"]), @"
    [stderr]
    error: `infra/haproxy` is not built
    hint: run `tinderbox build infra/haproxy`
    [exit 1]
    ");
    ws.build(&[]);
    insta::assert_snapshot!(ws.run(&["why", "infra/haproxy"]), @"
    infra/haproxy is up to date, and has never changed
    [exit 0]
    ");
    ws.edit("cluster.yaml", "ip: 192.168.126.110", "ip: 192.168.126.120");
    insta::assert_snapshot!(ws.run(&["why", "infra/haproxy"]), @"
    infra/haproxy changed since the last build
    root cause
      config field nodes.worker-0.ip (cluster.yaml:30: nodes.worker-0.ip): 192.168.126.110 → 192.168.126.120
    what follows
      check/infra
      cluster
    [exit 0]
    ");
    insta::assert_snapshot!(ws.run(&["why", "cluster"]), @"
    cluster changed since the last build
    root cause
      config field nodes.worker-0.addresses.0.ip (cluster.yaml:30: nodes.worker-0.ip): 192.168.126.110 → 192.168.126.120
    cascade
      ignition/worker-0 → cluster
      infra/haproxy → cluster
      infra/haproxy-pivoted → cluster
      infra/network → cluster
    [exit 0]
    ");
    assert_eq!(ws.json(&["why", "infra/haproxy"])["status"], "changed");
    ws.build(&[]);
    insta::assert_snapshot!(ws.run(&["why", "infra/haproxy"]), @"
    infra/haproxy is up to date; this was its last change
    root cause
      config field nodes.worker-0.ip (cluster.yaml:30: nodes.worker-0.ip): 192.168.126.110 → 192.168.126.120
    [exit 0]
    ");
    insta::assert_snapshot!(ws.run(&["why", "cluster"]), @"
    cluster is up to date; this was its last change
    root cause
      config field nodes.worker-0.addresses.0.ip (cluster.yaml:30: nodes.worker-0.ip): 192.168.126.110 → 192.168.126.120
    cascade
      ignition/worker-0 → cluster
      infra/haproxy → cluster
      infra/haproxy-pivoted → cluster
      infra/network → cluster
    [exit 0]
    ");
    insta::assert_snapshot!(ws.run(&["why", "infra/pool"]), @"
    infra/pool is up to date, and has never changed
    [exit 0]
    ");
    let why = ws.json(&["why", "infra/haproxy"]);
    assert_eq!(why["status"], "up-to-date");
    assert_eq!(why["causes"][0]["places"][0]["file"], "cluster.yaml");
    assert_eq!(why["causes"][0]["places"][0]["line"], 30);
}

/// A change of a secret is a cause like any other, without its values.
#[test]
fn why_masks_secrets() {
    let ws = Workspace::example().prebuilt();
    ws.build(&[]);
    ws.edit("install-config.yaml", "ZGVtbzpkZW1v", "b3RoZXI6b3RoZXI=");
    insta::assert_snapshot!(ws.run(&["why", "manifest/openshift-config-secret-pull-secret"]), @r"
    manifest/openshift-config-secret-pull-secret changed since the last build
    root cause
      config field pullSecret (install-config.yaml:40: pullSecret): (secret) → (secret)
    what follows
      assembled
      node-tuning/inputs
      patched
      mco/inputs
      mco/shared-inputs
      mco/shared
      mco/rendered-inputs
      mco/rendered
      mco/master
      mco/worker
      render/inputs
      render/api
      render/cloud-credential
      render/cluster-version
      render/config
      render/etcd
      render/kube-apiserver
      render/kube-controller-manager
      bootstrap-config/authentication
      bootstrap-config/kube-apiserver
      ignition/bootstrap
      ignition/master-0
      ignition/master-1
      ignition/master-2
      ignition/worker-0
      ignition/worker-1
      ignition-id/bootstrap
      ignition-id/master-0
      ignition-id/master-1
      ignition-id/master-2
      ignition-id/worker-0
      ignition-id/worker-1
      infra/bootstrap
      infra/master-0
      infra/master-1
      infra/master-2
      infra/worker-0
      infra/worker-1
      check/bootkube
      check/crds
      check/hand-over
      check/ignition
      check/manifests
      check/references
      check/render
      check/schemas
      check/secrets
      check/static-pods
      cluster
    [exit 0]
    ");
    assert_eq!(
        ws.build(&[]),
        with_machines(&[
            "assembled",
            "bootstrap-config/authentication",
            "check/bootkube",
            "check/crds",
            "check/hand-over",
            "check/ignition",
            "check/manifests",
            "check/references",
            "check/render",
            "check/schemas",
            "check/static-pods",
            "cluster",
            "ignition/bootstrap",
            "ignition/master-0",
            "ignition/master-1",
            "ignition/master-2",
            "ignition/worker-0",
            "ignition/worker-1",
            "manifest/openshift-config-secret-pull-secret",
            "mco/inputs",
            "mco/master",
            "mco/rendered",
            "mco/rendered-inputs",
            "mco/shared-inputs",
            "mco/worker",
            "patched"
        ])
    );
    insta::assert_snapshot!(ws.run(&["why", "manifest/openshift-config-secret-pull-secret"]), @"
    manifest/openshift-config-secret-pull-secret is up to date; this was its last change
    root cause
      config field pullSecret (install-config.yaml:40: pullSecret): (secret) → (secret)
    [exit 0]
    ");
}

/// What is not data is not an input: comments, blank lines, quotes, the order of fields.
#[test]
fn comments_and_whitespace_build_nothing() {
    let ws = Workspace::example().prebuilt();
    ws.build(&[]);
    ws.edit(
        "install-config.yaml",
        "baseDomain: example.com\n",
        "# a comment\n\n\nbaseDomain:   'example.com'   # more\n",
    );
    ws.edit(
        "cluster.yaml",
        "  api: 192.168.126.10\n  ingress: 192.168.126.11\n",
        "  ingress: 192.168.126.11\n  api: \"192.168.126.10\"\n",
    );
    ws.edit(
        "cluster.yaml",
        "{name: worker-0, role: worker, ip: 192.168.126.110}",
        "{ip: 192.168.126.110, name: worker-0, role: worker}",
    );
    assert_eq!(ws.build(&[]), NONE);
}

/// One more worker.
#[test]
fn adding_a_worker() {
    let ws = Workspace::with(&[
        (
            "recipes/20-demo/node.toml",
            "builder = 'template'\nfor_each = 'workers'\nname = '{node}'\n[config]\nip = 'node.ip'\n[files]\n'ip' = 'ip.j2'\n",
        ),
        ("recipes/20-demo/ip.j2", "{{ ip }}\n"),
    ]).prebuilt();
    assert_eq!(ws.build(&["demo"]), ["demo/worker-0", "demo/worker-1"]);
    ws.build(&[]);
    ws.edit("install-config.yaml", "replicas: 2", "replicas: 3");
    ws.edit(
        "cluster.yaml",
        "- {name: worker-1,",
        "- {name: worker-2, role: worker, ip: 192.168.126.112}\n- {name: worker-1,",
    );
    assert_eq!(ws.build(&["demo"]), ["demo/worker-2"]);
    let built = ws.build(&[]);
    // The new one's configuration in place of the old one's.
    let mut listing = WORKER_IP.map(|name| name.replace("worker-0", "worker-2")).into_iter();
    assert!(listing.all(|name| built.contains(&name)), "{built:?}");
    assert!(
        !built.iter().any(|name| name == "ignition/worker-0" || name == "ignition/master-0"),
        "{built:?}"
    );
    assert!(!built.iter().any(|name| name == "manifest/cluster-dns-02-config"), "{built:?}");
}

/// Three masters and no workers; one master and no workers.
#[test]
fn compact_and_single_node() {
    let ws = Workspace::example().prebuilt();
    ws.edit("install-config.yaml", "replicas: 2", "replicas: 0");
    ws.edit("cluster.yaml", "- {name: worker-0, role: worker, ip: 192.168.126.110}\n- {name: worker-1, role: worker, ip: 192.168.126.111}\n", "");
    ws.build(&[]);
    insta::assert_snapshot!(ws.run(&["show", "manifest/cluster-scheduler-02-config"]), @r#"
    apiVersion: config.openshift.io/v1
    kind: Scheduler
    metadata:
      name: cluster
    spec:
      # True for compact clusters and single nodes: otherwise routers and the console never find a node.
      mastersSchedulable: true
      policy:
        name: ""
    status: {}
    [exit 0]
    "#);
    ws.edit("install-config.yaml", "replicas: 3", "replicas: 1");
    ws.edit("cluster.yaml", "- {name: master-1, role: master, ip: 192.168.126.102}\n- {name: master-2, role: master, ip: 192.168.126.103}\n", "");
    let built = ws.build(&[]);
    assert!(built.iter().any(|name| name == "infra/haproxy"), "{built:?}");
    assert!(!built.iter().any(|name| name == "manifest/01-rbac"), "{built:?}");
}

/// A user's recipe beside the built-in ones, picked up by their groups; and one in the place of a built-in one.
#[test]
fn user_recipes_add_and_replace() {
    let ws = Workspace::example().prebuilt();
    ws.build(&[]);
    ws.write("recipes/50-manifest/motd.toml", "# A greeting.\nbuilder = 'template'\n[config]\nd = 'cluster.domain'\n[files]\n'motd.yaml' = 'motd.yaml.j2'\n");
    ws.write("recipes/50-manifest/motd.yaml.j2", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: motd, namespace: openshift-config}\ndata: {motd: '{{ d }}'}\n");
    assert_eq!(
        ws.build(&[]),
        with_machines(&[
            "assembled",
            "bootstrap-config/authentication",
            "check/bootkube",
            "check/crds",
            "check/hand-over",
            "check/ignition",
            "check/manifests",
            "check/references",
            "check/render",
            "check/schemas",
            "check/static-pods",
            "cluster",
            "ignition/bootstrap",
            "manifest/motd",
            "mco/inputs",
            "patched"
        ])
    );
    let file = ws.dir.join("result/manifests/motd.yaml");
    assert!(std::fs::read_to_string(&file).unwrap().contains("motd: 'ocp4.example.com'"));
    ws.write(
        "recipes/70-infra/pool.xml.j2",
        "<pool type='dir'><name>{{ name }}</name><uuid>{{ uuid }}</uuid><target><path>{{ path }}/more</path></target></pool>\n",
    );
    assert_eq!(ws.build(&[]), ["cluster", "infra/pool"]);
    insta::assert_snapshot!(ws.run(&["why", "infra/pool"]), @r#"
    infra/pool is up to date; this was its last change
    root cause
      file recipes/70-infra/pool.xml.j2: line 1: <pool type="dir"> → line 1: <pool type='dir'><name>{{ name }}</name><uuid>{{ uuid }}</uuid><target><path>{{ path }}/more</path></target></pool>
    [exit 0]
    "#);
    insta::assert_snapshot!(ws.run(&["show", "infra/pool"]), @r"
    <pool type='dir'><name>ocp4</name><uuid>3e51f001-d475-4577-8ed4-fcd6e36d182a</uuid><target><path>&#x2f;var&#x2f;lib&#x2f;libvirt&#x2f;images&#x2f;ocp4/more</path></target></pool>
    [exit 0]
    ");
    std::fs::remove_file(ws.dir.join("recipes/50-manifest/motd.toml")).unwrap();
    ws.build(&[]);
    assert!(!file.exists());
}

/// An input that is rebuilt to the same bytes leaves its users as they are.
#[test]
fn early_cutoff() {
    let ws = Workspace::with(&[
        (
            "recipes/20-demo/count.toml",
            "builder = 'template'\n[config]\nips = 'workers.*.ip'\n[files]\n'count' = 'count.j2'\n",
        ),
        ("recipes/20-demo/count.j2", "{{ ips | length }} workers\n"),
        (
            "recipes/21-user/says.toml",
            "builder = 'template'\n[inputs]\ncount = 'demo/count:count'\n[files]\n'says' = 'says.j2'\n",
        ),
        ("recipes/21-user/says.j2", "there are {{ count }}"),
        (
            "recipes/22-last/tree.toml",
            "builder = 'tree'\n[inputs]\nx = 'user/says'\n[params.place]\nx = ''\n",
        ),
    ]);
    assert_eq!(ws.build(&["last"]), ["demo/count", "last/tree", "user/says"]);
    ws.edit("cluster.yaml", "ip: 192.168.126.110", "ip: 192.168.126.120");
    assert_eq!(ws.build(&["last"]), ["demo/count"]);
    ws.write("recipes/20-demo/count.j2", "{{ ips | length }} of them\n");
    assert_eq!(ws.build(&["last"]), ["demo/count", "last/tree", "user/says"]);
}

/// Who names one file of an input is not rebuilt for another.
#[test]
fn a_part_of_an_input_is_all_that_counts() {
    let ws = Workspace::with(&[
        (
            "recipes/20-demo/pair.toml",
            "builder = 'template'\n[config]\nip = 'nodes.worker-0.ip'\nd = 'cluster.domain'\n[files]\n'a/one' = 'one.j2'\n'two' = 'two.j2'\n",
        ),
        ("recipes/20-demo/one.j2", "{{ d }}\n"),
        ("recipes/20-demo/two.j2", "{{ ip }}\n"),
        (
            "recipes/21-user/file.toml",
            "builder = 'template'\n[inputs]\none = 'demo/pair:a/one'\n[files]\n'x' = 'x.j2'\n",
        ),
        ("recipes/21-user/x.j2", "{{ one }}"),
        (
            "recipes/21-user/folder.toml",
            "builder = 'tree'\n[inputs]\na = 'demo/pair:a'\n[params.place]\na = 'here'\n",
        ),
        (
            "recipes/21-user/whole.toml",
            "builder = 'tree'\n[inputs]\na = 'demo/pair'\n[params.place]\na = ''\n",
        ),
    ]);
    assert_eq!(ws.build(&["user"]), ["demo/pair", "user/file", "user/folder", "user/whole"]);
    ws.edit("cluster.yaml", "ip: 192.168.126.110", "ip: 192.168.126.120");
    assert_eq!(ws.build(&["user"]), ["demo/pair", "user/whole"]);
}
