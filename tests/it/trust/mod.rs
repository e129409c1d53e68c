//! `graph --trust`: who trusts whom, before and after the pivot, on artifacts that were really built.

mod host;

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;
use tinderbox::internals::knowledge::Knowledge;
use tinderbox::internals::trust::{Machine, Pool, Trust};

use crate::harness::{Workspace, source, tree};

/// What makes the example another cluster.
type Shape = fn(&Workspace);

/// What is taken away: whether it is an object's, the file, the entry's place in it, its name.
type Entry = (bool, String, usize, String);

/// Every edge of the table, verified on these machines.
fn verified(machines: &[Machine]) -> Trust {
    Trust::of(machines, Knowledge::built_in().unwrap().trust.get().unwrap().select(None))
}

/// The example with its nodes' configurations built.
fn built() -> Workspace {
    let ws = Workspace::example().prebuilt();
    ws.build(&["ignition"]);
    ws
}

/// What its nodes get.
fn machines(ws: &Workspace) -> Vec<Machine> {
    let report = ws.json(&["build", "ignition"]);
    let of = |target: &Value| {
        let name = target["name"].as_str().unwrap().strip_prefix("ignition/").unwrap();
        let pool = match name.split('-').next().unwrap() {
            "bootstrap" => Pool::Bootstrap,
            "master" => Pool::Master,
            _ => Pool::Worker,
        };
        let files = tree(&std::path::Path::new(target["path"].as_str().unwrap()).join("tree")).into_iter();
        let texts = files.filter_map(|(path, (_, bytes))| {
            let matters =
                ["etc/kubernetes/", "opt/openshift/manifests/"].iter().any(|part| path.starts_with(part));
            let text = String::from_utf8(bytes).ok().filter(|_| matters)?;
            Some((format!("/{path}"), text))
        });
        Machine { name: name.to_owned(), pool, files: texts.collect() }
    };
    report["targets"].as_array().unwrap().iter().map(of).collect()
}

fn bootstrap(machines: &mut [Machine]) -> &mut BTreeMap<String, String> {
    &mut machines.iter_mut().find(|machine| machine.pool == Pool::Bootstrap).unwrap().files
}

#[test]
fn the_examples_picture() {
    let ws = Workspace::example();
    insta::assert_snapshot!(ws.run(&["graph", "--trust"]), @r"
    [stderr]
    error: `ignition` is not built
    hint: run `tinderbox build ignition`
    [exit 1]
    ");
    ws.build(&["ignition"]);
    insta::assert_snapshot!(ws.run(&["graph", "--trust", "--format", "mermaid"]), @r#"
    graph LR
      subgraph before["before the pivot: the bootstrap node serves the API"]
        before0["etcd members"]
        before1["bootstrap etcd"]
        before2["etcd clients"]
        before3["API servers"]
        before4["bootkube.sh"]
        before5["administrators"]
        before6["programs on the node"]
        before7["pods"]
        before8["controller manager and scheduler"]
        before9["kubelets"]
        before10["kube-proxy on masters"]
        before11["aggregated APIs"]
        before12["kubelets that join"]
        before13["token Secrets"]
        before14["service accounts of pods"]
      end
      subgraph after["after the pivot: operators have taken over"]
        after0["etcd members"]
        after1["bootstrap etcd"]
        after2["etcd clients"]
        after3["API servers"]
        after4["administrators"]
        after5["programs on the node"]
        after6["pods"]
        after7["controller manager and scheduler"]
        after8["kubelets"]
        after9["kube-proxy on masters"]
        after10["API servers on masters"]
        after11["controller managers on masters"]
        after12["bootstrap API server"]
        after13["aggregated APIs"]
        after14["kubelets that join"]
        after15["machine-config server"]
        after16["nodes that join later"]
        after17["token Secrets"]
        after18["service accounts of pods"]
      end
      subgraph legend
        from0["who shows"]
        to0["who verifies"]
        from1["who shows"]
        to1["who verifies"]
      end
      before0 -- "etcd-server (client)<br/>etcd --trusted-ca-file etcd-ca.crt" --> before1
      before1 -- "etcd-server (server)<br/>kube-apiserver --etcd-cafile etcd-ca.crt" --> before2
      before3 -- "etcd-client (client)<br/>etcd --trusted-ca-file etcd-ca.crt" --> before0
      before1 -- "etcd-server (server)<br/>etcd-ca-bundle.crt" --> before4
      before3 -- "kube-apiserver (server)<br/>certificate-authority-data in admin.kubeconfig, lb-ext.kubeconfig, lb-int.kubeconfig" --> before5
      before3 -- "kube-apiserver (server)<br/>certificate-authority-data in localhost.kubeconfig, localhost-recovery.kubeconfig" --> before6
      before3 -- "kube-apiserver (server)<br/>kube-controller-manager --root-ca-file kubernetes-ca-bundle.crt" --> before7
      before3 -- "kube-apiserver (server)<br/>certificate-authority-data in kube-controller-manager --kubeconfig kube-controller-manager.kubeconfig and kube-scheduler --kubeconfig kube-scheduler.kubeconfig" --> before8
      before3 -- "kube-apiserver (server)<br/>certificate-authority-data in /etc/kubernetes/kubeconfig of every node" --> before9
      before3 -- "kube-apiserver (server)<br/>certificate-authority-data in kube-proxy.kubeconfig" --> before10
      before3 -- "kube-apiserver (server)<br/>kubernetes-ca-bundle.crt" --> before4
      before8 -- "kube-controller-manager, kube-scheduler (client)<br/>kube-apiserver --client-ca-file kubernetes-ca.crt" --> before3
      before3 -- "front-proxy-client (client)<br/>kube-apiserver --requestheader-client-ca-file front-proxy-ca.crt" --> before11
      before5 -- "admin (client)<br/>kube-apiserver --client-ca-file kubernetes-ca.crt" --> before3
      before12 -- "kubelet-bootstrap (client)<br/>kube-apiserver --client-ca-file kubernetes-ca.crt" --> before3
      before10 -- "kube-proxy (client)<br/>kube-apiserver --client-ca-file kubernetes-ca.crt" --> before3
      before3 -- "kube-apiserver-kubelet-client (client)<br/>clientCAFile in /etc/kubernetes/kubelet.conf of every node" --> before9
      before9 -- "signed by kubernetes-ca (client)<br/>kube-apiserver --client-ca-file kubernetes-ca.crt" --> before3
      before9 -- "signed by kubernetes-ca (server)<br/>kube-apiserver --kubelet-certificate-authority kubernetes-ca.crt" --> before3
      before13 -- "service-account (token)<br/>kube-apiserver --service-account-key-file bound-service-account-signing-key.pub and service-account.pub" --> before3
      before14 -- "bound-service-account-signing-key (token)<br/>kube-apiserver --service-account-key-file bound-service-account-signing-key.pub and service-account.pub" --> before3
      after0 -- "signed by etcd-signer (client)<br/>etcd --trusted-ca-file etcd-ca.crt" --> after1
      after1 -- "etcd-server (server)<br/>ConfigMap openshift-etcd/etcd-ca-bundle [ca-bundle.crt]" --> after2
      after3 -- "etcd-client (client)<br/>ConfigMap openshift-etcd/etcd-ca-bundle [ca-bundle.crt]" --> after0
      after1 -- "etcd-peer-bootstrap (peer)<br/>ConfigMap openshift-etcd/etcd-ca-bundle [ca-bundle.crt]" --> after0
      after0 -- "signed by etcd-signer (peer)<br/>etcd --peer-trusted-ca-file etcd-ca.crt" --> after1
      after3 -- "signed by loadbalancer-serving-signer (server)<br/>certificate-authority-data in admin.kubeconfig, lb-ext.kubeconfig, lb-int.kubeconfig" --> after4
      after3 -- "signed by localhost-serving-signer (server)<br/>certificate-authority-data in localhost.kubeconfig, localhost-recovery.kubeconfig" --> after5
      after3 -- "signed by service-network-serving-signer (server)<br/>kube-controller-manager --root-ca-file kubernetes-ca-bundle.crt" --> after6
      after3 -- "signed by loadbalancer-serving-signer (server)<br/>certificate-authority-data in kube-controller-manager --kubeconfig kube-controller-manager.kubeconfig and kube-scheduler --kubeconfig kube-scheduler.kubeconfig" --> after7
      after3 -- "signed by loadbalancer-serving-signer (server)<br/>certificate-authority-data in /etc/kubernetes/kubeconfig of every node" --> after8
      after3 -- "signed by loadbalancer-serving-signer (server)<br/>certificate-authority-data in kube-proxy.kubeconfig" --> after9
      after10 -- "signed by kube-apiserver-to-kubelet-signer (client)<br/>clientCAFile in /etc/kubernetes/kubelet.conf of every node" --> after8
      after7 -- "kube-controller-manager, kube-scheduler (client)<br/>Secret openshift-kube-apiserver-operator/kube-control-plane-signer [tls.crt]" --> after3
      after11 -- "signed by kube-control-plane-signer (client)<br/>kube-apiserver --client-ca-file kubernetes-ca.crt" --> after12
      after3 -- "front-proxy-client (client)<br/>Secret openshift-kube-apiserver-operator/aggregator-client-signer [tls.crt]" --> after13
      after10 -- "signed by aggregator-client-signer (client)<br/>kube-apiserver --requestheader-client-ca-file front-proxy-ca.crt" --> after13
      after4 -- "admin (client)<br/>ConfigMap openshift-config/admin-kubeconfig-client-ca [ca-bundle.crt]" --> after3
      after14 -- "kubelet-bootstrap (client)<br/>ConfigMap openshift-config-managed/kubelet-bootstrap-kubeconfig [ca-bundle.crt]" --> after3
      after9 -- "kube-proxy (client)<br/>ConfigMap openshift-config-managed/kubelet-bootstrap-kubeconfig [ca-bundle.crt]" --> after3
      after3 -- "kube-apiserver-kubelet-client (client)<br/>ConfigMap openshift-config/initial-kube-apiserver-server-ca [ca-bundle.crt]" --> after8
      after15 -- "machine-config-server (server)<br/>ConfigMap kube-system/root-ca [ca.crt]" --> after16
      after8 -- "signed by kubernetes-ca (client)<br/>Secret openshift-kube-controller-manager-operator/csr-signer-signer [tls.crt]" --> after10
      after8 -- "signed by kubernetes-ca (client)<br/>ConfigMap openshift-config-managed/csr-controller-ca [ca-bundle.crt]" --> after3
      after8 -- "signed by kubernetes-ca (server)<br/>ConfigMap openshift-config-managed/csr-controller-ca [ca-bundle.crt]" --> after3
      after17 -- "service-account (token)<br/>ConfigMap openshift-config-managed/sa-token-signing-certs [service-account-001.pub]" --> after3
      after18 -- "bound-service-account-signing-key (token)<br/>Secret openshift-kube-apiserver-operator/next-bound-service-account-signing-key [service-account.pub]" --> after3
      from0 -- "what is shown (as what)<br/>what it is verified with" --> to0
      from1 -. "REFUSED: why<br/>what follows" .-> to1
      linkStyle 48 stroke:#c0392b,color:#c0392b
    [stderr]
    note: all 47 verifications hold
    [exit 0]
    "#);
    insta::assert_snapshot!(ws.run(&["graph", "--trust", "ignition"]), @r"
    [stderr]
    error: the argument '--trust' cannot be used with '[TARGETS]...'
    Usage: tinderbox graph --trust [TARGETS]...
    For more information, try '--help'.
    [exit 2]
    ");
    // In every format the same, and twice the same.
    let trust = ws.json(&["graph", "--trust"]);
    for format in ["text", "mermaid", "dot", "svg", "json"] {
        let text =
            |_| String::from_utf8(ws.output(&["graph", "--trust", "--format", format]).stdout).unwrap();
        let [one, two] = [0, 1].map(text);
        assert_eq!(one, two);
        for presentation in trust["presentations"].as_array().unwrap() {
            for field in ["presenter", "credential", "verifier"] {
                assert!(one.contains(presentation[field].as_str().unwrap()), "{format}: {presentation}");
            }
        }
        assert!(!one.contains("PRIVATE") && !one.contains("LS0t"), "{format}");
    }
}

/// For a terminal: by authority, what each vouches for, and who relies on it.
#[test]
fn the_text_is_grouped_by_authority() {
    let text = String::from_utf8(built().output(&["graph", "--trust"]).stdout).unwrap();
    let at = |depth: usize| {
        let indent = " ".repeat(depth);
        let is_at = move |line: &&str| line.starts_with(&indent) && !line[depth..].starts_with(' ');
        text.lines().filter(is_at).map(|line| line[depth..].to_owned()).collect::<Vec<_>>()
    };
    insta::assert_snapshot!(at(0).join("\n"), @r"
    before the pivot: the bootstrap node serves the API

    after the pivot: operators have taken over
    ");
    insta::assert_snapshot!(at(2).join(" "), @"etcd-ca root-ca kubernetes-ca front-proxy-ca keys of service accounts etcd-ca kubernetes-ca root-ca front-proxy-ca keys of service accounts");
    let admin = "    admin (client), shown by administrators\n      API servers: with kube-apiserver --client-ca-file kubernetes-ca.crt\n";
    assert!(text.contains(admin), "{text}");
}

/// The shape that programs rely on.
#[test]
fn the_document() {
    let ws = built();
    let trust = ws.json(&["graph", "--trust"]);
    let keys = |value: &Value| {
        let mut keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
        keys.sort_unstable();
        keys.join(" ")
    };
    assert_eq!(keys(&trust), "failing presentations verifications");
    let all = trust["presentations"].as_array().unwrap();
    assert_eq!(all.len(), Knowledge::built_in().unwrap().trust.get().unwrap().select(None).count());
    let mut count = 0;
    for one in all {
        assert_eq!(keys(one), "after before breaks credential id presenter role verifier");
        assert!(["client", "server", "peer", "token"].contains(&one["role"].as_str().unwrap()), "{one}");
        let moments: Vec<&Value> =
            ["before", "after"].iter().map(|when| &one[when]).filter(|one| !one.is_null()).collect();
        assert!(!moments.is_empty(), "{one}");
        for moment in moments {
            assert_eq!(keys(moment), "by holds shows why");
            assert_eq!(moment["holds"], true, "{one}");
            count += 1;
        }
    }
    assert_eq!(trust["verifications"], count);
    assert_eq!(trust["failing"], 0);
    let mut one = all[1].clone();
    one.sort_all_objects();
    insta::assert_snapshot!(serde_json::to_string_pretty(&one).unwrap(), @r#"
    {
      "after": {
        "by": "ConfigMap openshift-etcd/etcd-ca-bundle [ca-bundle.crt]",
        "holds": true,
        "shows": "etcd --cert-file /etc/kubernetes/bootstrap-secrets/etcd-server.crt",
        "why": "`CN=etcd-ca` is in it"
      },
      "before": {
        "by": "kube-apiserver --etcd-cafile /etc/kubernetes/bootstrap-secrets/etcd-ca.crt",
        "holds": true,
        "shows": "etcd --cert-file /etc/kubernetes/bootstrap-secrets/etcd-server.crt",
        "why": "`CN=etcd-ca` is in it"
      },
      "breaks": "members on masters refuse the bootstrap member",
      "credential": "etcd-server",
      "id": "bootstrap-etcd-to-its-clients",
      "presenter": "bootstrap etcd",
      "role": "server",
      "verifier": "etcd clients"
    }
    "#);
}

/// Every topology and address family.
#[test]
fn everything_holds_everywhere() {
    let shapes: [(&str, Shape); 5] = [
        ("HA", |_| {}),
        ("compact", |ws| ws.without_workers(3)),
        ("single node", |ws| ws.without_workers(1)),
        ("dual-stack", Workspace::dual_stack),
        ("IPv6", Workspace::ipv6_only),
    ];
    for (name, shape) in shapes {
        let ws = Workspace::example().prebuilt();
        shape(&ws);
        ws.build(&["ignition"]);
        let trust = verified(&machines(&ws));
        assert_eq!(trust.refused(), [""; 0], "{name}");
        assert_eq!(trust.verifications, 47, "{name}");
    }
}

/// Everything else that a verifier looks at: flags, keys, purposes, names.
#[test]
fn each_other_reason_is_said() {
    let machines = machines(&built());
    let secrets = |name: &str| format!("/etc/kubernetes/bootstrap-secrets/{name}");
    let pod = |name: &str| format!("/etc/kubernetes/manifests/{name}.yaml");
    let manifest = |name: &str| format!("/opt/openshift/manifests/hand-over-{name}.yaml");
    let mut said = String::new();
    let mut change = |what: &str, change: &dyn Fn(&mut [Machine])| {
        let mut changed = machines.clone();
        change(&mut changed);
        let trust = verified(&changed);
        said.push_str(&format!("{what}\n"));
        for one in &trust.presentations {
            for (when, moment) in one.verifications().filter(|(_, moment)| !moment.holds) {
                said.push_str(&format!("  {} {when}: {}\n", one.id, moment.why));
            }
        }
    };
    let edit = |machines: &mut [Machine], path: &str, from: &str, to: &str| {
        let text = bootstrap(machines).get_mut(path).unwrap();
        assert!(text.contains(from), "{path}: {from}");
        *text = text.replace(from, to);
    };
    let copy = |machines: &mut [Machine], from: &str, to: &str| {
        let text = bootstrap(machines)[from].clone();
        bootstrap(machines).insert(to.to_owned(), text);
    };
    change("another client CA", &|all| {
        edit(
            all,
            &pod("kube-apiserver"),
            "--client-ca-file=/etc/kubernetes/secrets/kubernetes-ca.crt",
            "--client-ca-file=/etc/kubernetes/secrets/front-proxy-ca.crt",
        )
    });
    change("no kubelet authority", &|all| {
        edit(all, &pod("kube-apiserver"), "- --kubelet-certificate-authority=", "- --kubelet-preferred=")
    });
    change("a file that is not mounted", &|all| {
        edit(
            all,
            &pod("etcd"),
            "--peer-trusted-ca-file=/etc/kubernetes/secrets",
            "--peer-trusted-ca-file=/etc/elsewhere",
        )
    });
    change("no scheduler", &|all| drop(bootstrap(all).remove(&pod("kube-scheduler"))));
    change("a client's certificate for etcd", &|all| {
        for end in ["crt", "key"] {
            copy(all, &secrets(&format!("etcd-client.{end}")), &secrets(&format!("etcd-server.{end}")));
        }
    });
    change("another's key", &|all| copy(all, &secrets("etcd-server.key"), &secrets("etcd-client.key")));
    change("a name that is not allowed", &|all| {
        edit(all, &pod("kube-apiserver"), ",system:kube-apiserver-proxy,", ",")
    });
    change("etcd elsewhere", &|all| {
        edit(
            all,
            &pod("kube-apiserver"),
            "--etcd-servers=https://localhost:2379",
            "--etcd-servers=https://[::1]:2379,https://etcd.example.com:2379",
        );
        edit(all, &manifest("etcd-endpoints"), "192.168.126.100", "192.168.126.99");
    });
    change("other token keys", &|all| {
        edit(
            all,
            "/etc/kubernetes/bootstrap-configs/kube-apiserver-config.yaml",
            "- /etc/kubernetes/secrets/service-account.pub\n",
            "",
        );
        edit(
            all,
            &pod("kube-apiserver"),
            "--service-account-signing-key-file=/etc/kubernetes/secrets/bound-service-account-signing-key.key",
            "--service-account-signing-key-file=/etc/kubernetes/secrets/service-account.key",
        );
    });
    change("no such object", &|all| drop(bootstrap(all).remove(&manifest("csr-controller-ca"))));
    change("a kubelet with another file", &|all| {
        let files = &mut all.iter_mut().find(|machine| machine.name == "master-1").unwrap().files;
        let config = files.get_mut("/etc/kubernetes/kubelet.conf").unwrap();
        assert!(config.contains("/etc/kubernetes/kubelet-ca.crt"));
        *config = config.replace("/etc/kubernetes/kubelet-ca.crt", "/etc/kubernetes/other.crt");
    });
    change("one node without its kubeconfig", &|all| {
        all.iter_mut()
            .find(|machine| machine.name == "worker-1")
            .unwrap()
            .files
            .remove("/etc/kubernetes/kubeconfig");
    });
    change("a server under another name", &|all| {
        edit(
            all,
            "/etc/kubernetes/kubeconfigs/lb-ext.kubeconfig",
            "https://api.ocp4.example.com:6443",
            "https://api.example.com:6443",
        );
    });
    insta::assert_snapshot!(said, @r"
    another client CA
      components-to-api-servers before: /etc/kubernetes/kubeconfigs/kube-controller-manager.kubeconfig: `CN=system:kube-controller-manager` is signed by `CN=kubernetes-ca`, which is not in it
      masters-to-bootstrap-api-server after: `CN=kubernetes-ca`, which signs it, is not vouched for
      administrators-to-api-servers before: /etc/kubernetes/kubeconfigs/admin.kubeconfig: `O=system:masters, CN=system:admin` is signed by `CN=kubernetes-ca`, which is not in it
      joining-kubelets-to-api-servers before: /etc/kubernetes/kubeconfig on master-0: `O=system:bootstrappers, CN=system:bootstrapper:master-0.ocp4.example.com` is signed by `CN=kubernetes-ca`, which is not in it
      kube-proxy-to-api-servers before: /etc/kubernetes/kubeconfigs/kube-proxy.kubeconfig on master-0: `CN=system:kube-proxy` is signed by `CN=kubernetes-ca`, which is not in it
      kubelets-to-api-servers before: `CN=kubernetes-ca`, which signs it, is not vouched for
    no kubelet authority
      kubelets-serve-api-servers before: `kube-apiserver` has no flag `--kubelet-certificate-authority`
    a file that is not mounted
      peers-to-bootstrap-etcd after: `--peer-trusted-ca-file` of etcd names `/etc/elsewhere/etcd-ca.crt`, which is not mounted
    no scheduler
      api-servers-to-components before: no static pod of the bootstrap node runs `kube-scheduler`
      api-servers-to-components after: no static pod of the bootstrap node runs `kube-scheduler`
      components-to-api-servers before: no static pod of the bootstrap node runs `kube-scheduler`
      components-to-api-servers after: no static pod of the bootstrap node runs `kube-scheduler`
    a client's certificate for etcd
      bootstrap-etcd-to-its-clients before: `CN=system:etcd-client` is not for servers
      bootstrap-etcd-to-its-clients after: `CN=system:etcd-client` is not for servers
      bootstrap-etcd-to-bootkube before: `CN=system:etcd-client` is not for servers
    another's key
      api-servers-to-etcd before: `/etc/kubernetes/bootstrap-secrets/etcd-client.key` does not have the key of the certificate
      api-servers-to-etcd after: `/etc/kubernetes/bootstrap-secrets/etcd-client.key` does not have the key of the certificate
    a name that is not allowed
      api-servers-to-aggregated-apis before: `CN=system:kube-apiserver-proxy` is not in `--requestheader-allowed-names`
    etcd elsewhere
      bootstrap-etcd-to-its-clients before: `CN=etcd-server` is not for `::1`
      bootstrap-etcd-to-its-clients after: `CN=etcd-server` is not for `192.168.126.99`
      bootstrap-etcd-to-peers after: `CN=etcd-peer-bootstrap` is not for `192.168.126.99`
    other token keys
      legacy-tokens before: it does not have the public half of the key
      bound-tokens before: it does not have the public half of the key
      bound-tokens after: it does not have the public half of the key
    no such object
      kubelets-to-api-servers after: there is no ConfigMap openshift-config-managed/csr-controller-ca
      kubelets-serve-api-servers after: there is no ConfigMap openshift-config-managed/csr-controller-ca
    a kubelet with another file
      masters-to-kubelets after: there is no file `/etc/kubernetes/other.crt` on master-1
      api-server-to-kubelets before: there is no file `/etc/kubernetes/other.crt` on master-1
    one node without its kubeconfig
      api-servers-to-kubelets before: there is no file `/etc/kubernetes/kubeconfig` on worker-1
      api-servers-to-kubelets after: there is no file `/etc/kubernetes/kubeconfig` on worker-1
      joining-kubelets-to-api-servers before: there is no file `/etc/kubernetes/kubeconfig` on worker-1
      joining-kubelets-to-api-servers after: there is no file `/etc/kubernetes/kubeconfig` on worker-1
      machine-config-server-to-nodes after: there is no file `/etc/kubernetes/kubeconfig` on worker-1
    a server under another name
      api-servers-to-administrators before: /etc/kubernetes/kubeconfigs/lb-ext.kubeconfig: `CN=kube-apiserver` is not for `api.example.com`
    ");
}

/// The picture follows the user's patches, says what is refused on stderr, and is no failure.
#[test]
fn a_patch_is_followed() {
    let ws = Workspace::example().prebuilt();
    let pod = "target: {file: static-pods/kube-apiserver.yaml}\npatch:\n";
    let text = fs::read_to_string(source("recipes/40-static-pod/kube-apiserver.yaml.j2")).unwrap();
    let flags = text
        .lines()
        .skip_while(|line| line.trim() != "args:")
        .filter(|line| line.trim().starts_with("- "))
        .map(str::trim);
    let at = flags
        .take_while(|line| line.contains("--"))
        .position(|line| line.starts_with("- --client-ca-file="))
        .unwrap();
    let replace = format!(
        "- {{op: replace, path: /spec/containers/0/args/{at}, value: --client-ca-file=/etc/kubernetes/secrets/etcd-ca.crt}}\n"
    );
    ws.write("patches/10-x.yaml", &format!("{pod}{replace}"));
    ws.write("patches/20-x.yaml", "target: {kind: ConfigMap, name: root-ca}\npatch: {data: {ca.crt: ''}}\n");
    ws.build(&["ignition"]);
    let said = ws.run(&["graph", "--trust", "--format", "mermaid"]);
    let bad: Vec<&str> =
        said.lines().filter(|line| line.contains(".->") || line.contains("linkStyle")).collect();
    insta::assert_snapshot!(bad.join("\n"), @r#"
    before8 -. "kube-controller-manager, kube-scheduler (client)<br/>kube-apiserver --client-ca-file etcd-ca.crt<br/>REFUSED: /etc/kubernetes/kubeconfigs/kube-controller-manager.kubeconfig: 'CN=system:kube-controller-manager' is signed by 'CN=kubernetes-ca', which is not in it<br/>the API refuses the controller manager and the scheduler" .-> before3
    before5 -. "admin (client)<br/>kube-apiserver --client-ca-file etcd-ca.crt<br/>REFUSED: /etc/kubernetes/kubeconfigs/admin.kubeconfig: 'O=system:masters, CN=system:admin' is signed by 'CN=kubernetes-ca', which is not in it<br/>the admin kubeconfig dies with the bootstrap node" .-> before3
    before12 -. "kubelet-bootstrap (client)<br/>kube-apiserver --client-ca-file etcd-ca.crt<br/>REFUSED: /etc/kubernetes/kubeconfig on master-0: 'O=system:bootstrappers, CN=system:bootstrapper:master-0.ocp4.example.com' is signed by 'CN=kubernetes-ca', which is not in it<br/>kubelets that want to join are refused by the masters" .-> before3
    before10 -. "kube-proxy (client)<br/>kube-apiserver --client-ca-file etcd-ca.crt<br/>REFUSED: /etc/kubernetes/kubeconfigs/kube-proxy.kubeconfig on master-0: 'CN=system:kube-proxy' is signed by 'CN=kubernetes-ca', which is not in it<br/>kube-proxy is refused, and service addresses do not work on masters before OVN" .-> before3
    before9 -. "signed by kubernetes-ca (client)<br/>kube-apiserver --client-ca-file etcd-ca.crt<br/>REFUSED: 'CN=kubernetes-ca', which signs it, is not vouched for<br/>kubelet certificates issued during bootstrap are refused" .-> before3
    after11 -. "signed by kube-control-plane-signer (client)<br/>kube-apiserver --client-ca-file etcd-ca.crt<br/>REFUSED: 'CN=kubernetes-ca', which signs it, is not vouched for<br/>the masters' components are refused wherever the load balancer leads them to the bootstrap node" .-> after12
    after15 -. "machine-config-server (server)<br/>ConfigMap kube-system/root-ca [ca.crt]<br/>REFUSED: ConfigMap kube-system/root-ca [ca.crt] is empty<br/>nodes that join later refuse the machine-config server" .-> after16
    from1 -. "REFUSED: why<br/>what follows" .-> to1
    linkStyle 11,13,14,15,17,34,41,48 stroke:#c0392b,color:#c0392b
    "#);
    insta::assert_snapshot!(said.split("[stderr]\n").nth(1).unwrap(), @r"
    warning: 7 of 47 verifications fail: components-to-api-servers before, masters-to-bootstrap-api-server after, administrators-to-api-servers before, joining-kubelets-to-api-servers before, kube-proxy-to-api-servers before, machine-config-server-to-nodes after, kubelets-to-api-servers before
    [exit 0]
    ");
    let dot = ws.run(&["graph", "--trust", "--format", "dot", "-q"]);
    assert_eq!(dot.matches("style=dashed").count(), bad.len() - 1);
    let svg = ws.run(&["graph", "--trust", "--format", "svg", "-q"]);
    assert_eq!(svg.matches("<g class=\"refused\"><path").count(), bad.len() - 2, "without the legend");
    let text = ws.run(&["graph", "--trust", "-q"]);
    assert_eq!(text.matches("REFUSED: ").count(), bad.len() - 2);
}
