//! The hand-over as a whole: every object that operators take over as text, each one missing, and each authority swapped.

use std::fs;

use crate::harness::{Workspace, mode, names, source, tree};

/// What `check/hand-over` says, without what it says to every finding.
fn findings(ws: &Workspace) -> String {
    let said = ws.run(&["build", "-q", "check/hand-over"]);
    let is_finding = |line: &&str| line.starts_with("  ") && line.ends_with(']');
    said.lines().filter(is_finding).map(|line| format!("{}\n", line.trim())).collect()
}

/// A text without the bytes of keys and certificates.
fn masked(text: &str) -> String {
    let (mut out, mut in_pem) = (String::new(), false);
    for line in text.lines() {
        let ends = line.contains("-----END ");
        match line.split_once(": ") {
            Some((key, value)) if value.len() > 300 => out.push_str(&format!("{key}: (base64)\n")),
            _ if !in_pem || ends => out.push_str(&format!("{line}\n")),
            _ => {}
        }
        in_pem = !ends && (in_pem || line.contains("-----BEGIN "));
    }
    out
}

#[test]
fn all_objects() {
    let ws = Workspace::example().prebuilt();
    let mut text = String::new();
    for target in ws.json(&["build", "hand-over"])["targets"].as_array().unwrap() {
        for (file, (mode, bytes)) in tree(target["path"].as_str().unwrap().as_ref()) {
            let said = masked(&String::from_utf8(bytes).unwrap());
            text.push_str(&format!("=== {} {mode:04o} {file}\n{said}\n", target["name"].as_str().unwrap()));
        }
    }
    insta::assert_snapshot!("objects", ws.filter(&text));
}

/// The operator itself adds brackets and port: an IPv6 address is written as it is.
#[test]
fn etcd_endpoints_of_ipv6() {
    let ws = Workspace::example().prebuilt();
    ws.ipv6_only();
    ws.build(&["hand-over/etcd-endpoints"]);
    let text =
        tree(&ws.path_of("hand-over/etcd-endpoints")).remove("hand-over-etcd-endpoints.yaml").unwrap().1;
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("alpha.installer.openshift.io/etcd-bootstrap: \"fd00:126::100\"\n"), "{text}");
}

/// What a template asks of a certificate is asked of nothing else: the message has the file and the line, and no key.
#[test]
fn dates_of_what_is_no_certificate() {
    let ws = Workspace::example().prebuilt();
    let path = "51-hand-over/etcd-signer.toml";
    let text = fs::read_to_string(source("recipes").join(path)).unwrap();
    let wrong = text.replace("pki/etcd-signer:etcd-signer.crt", "key/service-account:service-account.pub");
    ws.write(&format!("recipes/{path}"), &wrong);
    insta::assert_snapshot!(ws.run(&["build", "-q", "hand-over/etcd-signer"]), @r"
    [stderr]
    error: `hand-over/etcd-signer` cannot be built (recipes/51-hand-over/etcd-signer.toml)
    caused by: built-in recipes/51-hand-over/signer.yaml.j2:10: invalid operation: it contains no certificate
    [exit 1]
    ");
}

/// Keys stay with their owner: in the store, in the result and on the node.
#[test]
fn what_has_a_key_is_secret() {
    let ws = Workspace::example().prebuilt();
    ws.build(&[]);
    let manifests = ws.dir.join("result/manifests");
    let mut secret = 0;
    for (file, (_, bytes)) in tree(&manifests).into_iter().filter(|(file, _)| file.starts_with("hand-over-"))
    {
        if String::from_utf8(bytes).unwrap().contains("\nkind: Secret\n") {
            assert_eq!(mode(&manifests.join(&file)), 0o400, "{file}");
            secret += 1;
        }
    }
    assert_eq!(secret, 13);
}

/// A build whose renders and certificates stay as they are when an annotation changes.
#[test]
fn an_annotation_issues_nothing_anew() {
    let ws = Workspace::example().prebuilt();
    ws.build(&[]);
    ws.write(
        "patches/10-x.yaml",
        "target: {kind: Secret, name: etcd-signer}\npatch: {metadata: {annotations: {example.com/mine: mine}}}\n",
    );
    insta::assert_snapshot!(ws.build(&[]).join("\n"), @r"
    bootstrap-config/authentication
    check/bootkube
    check/crds
    check/hand-over
    check/ignition
    check/manifests
    check/references
    check/render
    check/schemas
    check/static-pods
    cluster
    ignition-id/bootstrap
    ignition/bootstrap
    infra/bootstrap
    mco/inputs
    patch/10-x
    patched
    ");
}

/// The same in a template of a recipe. A plan cannot know what an unbuilt input will hold, so it names what may follow; the
/// build then finds the same bytes in `mco/inputs`, and renders nothing.
#[test]
fn an_annotation_of_a_recipe_issues_nothing_anew() {
    let ws = Workspace::example().prebuilt();
    ws.build(&[]);
    let path = "51-hand-over/signer.yaml.j2";
    let text = fs::read_to_string(source("recipes").join(path)).unwrap();
    let from = "  annotations:\n";
    assert_eq!(text.matches(from).count(), 1);
    let more = format!("{from}    example.com/mine: mine\n");
    ws.write(&format!("recipes/{path}"), &text.replace(from, &more));
    let planned = names(&ws.json(&["build", "--dry-run"])["would_build"]);
    let built = ws.build(&[]);
    insta::assert_snapshot!(built.join("\n"), @r"
    assembled
    bootstrap-config/authentication
    check/bootkube
    check/crds
    check/hand-over
    check/ignition
    check/manifests
    check/references
    check/render
    check/schemas
    check/static-pods
    cluster
    hand-over/aggregator-client-signer
    hand-over/csr-signer-signer
    hand-over/etcd-signer
    hand-over/kube-apiserver-to-kubelet-signer
    hand-over/kube-control-plane-signer
    hand-over/loadbalancer-serving-signer
    hand-over/localhost-serving-signer
    hand-over/service-network-serving-signer
    ignition-id/bootstrap
    ignition/bootstrap
    infra/bootstrap
    mco/inputs
    patched
    ");
    let is_of = |folders: &[&str], name: &String| folders.iter().any(|folder| name.starts_with(folder));
    for name in &planned {
        assert!(!is_of(&["key/", "pki/", "kubeconfig/", "identity/", "release/"], name), "{name}");
    }
    for name in &built {
        assert!(
            !is_of(&["mco/rendered", "mco/master", "mco/worker", "ignition/master", "ignition/worker"], name),
            "{name}"
        );
    }
    // Nothing is built that was not planned; what was planned beyond it waited for the same bytes.
    assert!(built.iter().all(|name| planned.contains(name)), "{planned:?}");
    let mut spared: Vec<&str> =
        planned.iter().filter(|name| !built.contains(name)).map(String::as_str).collect();
    spared.sort_unstable();
    insta::assert_snapshot!(spared.join("\n"), @r"
    bootstrap-config/kube-apiserver
    check/secrets
    ignition-id/master-0
    ignition-id/master-1
    ignition-id/master-2
    ignition-id/worker-0
    ignition-id/worker-1
    ignition/master-0
    ignition/master-1
    ignition/master-2
    ignition/worker-0
    ignition/worker-1
    infra/master-0
    infra/master-1
    infra/master-2
    infra/worker-0
    infra/worker-1
    mco/master
    mco/rendered
    mco/rendered-inputs
    mco/shared
    mco/shared-inputs
    mco/worker
    ");
}

/// Every object of the table, taken away: what is said is what an operator will do without it.
#[test]
fn each_object_is_missed() {
    let ws = Workspace::example().prebuilt();
    let report = ws.json(&["build", "hand-over"]);
    let targets = report["targets"].as_array().unwrap().iter();
    let ours = targets.filter_map(|target| target["name"].as_str().unwrap().strip_prefix("hand-over/"));
    // The one that has a check of its own is not in the table; two more are no work of this stage. etcd's client and bundle
    // are in two namespaces, under other names than their derivations.
    let is_twice = |name: &str| name.ends_with("-client") || name.ends_with("etcd-operator-ca-bundle");
    let names = ours.filter(|name| !["etcd-endpoints", "etcd-ca-bundle"].contains(name) && !is_twice(name));
    let names = names.chain(["pull-secret", "kubeadmin"]).map(|name| (name, String::new()));
    let twice = ["etcd-client", "etcd-ca-bundle"].into_iter().flat_map(|name| {
        ["openshift-etcd", "openshift-etcd-operator"]
            .map(|namespace| (name, format!(", namespace: {namespace}")))
    });
    let patch = |(name, namespace): (&str, String)| {
        format!("---\ntarget: {{name: {name}{namespace}}}\npatch: {{metadata: {{name: not-{name}}}}}\n")
    };
    let patches: String = names.chain(twice).map(patch).collect();
    ws.write("patches/10-x.yaml", &patches);
    insta::assert_snapshot!(findings(&ws), @r"
    manifests: there is no Secret openshift-etcd/etcd-signer: the etcd operator makes a new authority, which the bootstrap member refuses: etcd never gets a second member [hand-over-objects]
    manifests: there is no ConfigMap openshift-etcd/etcd-ca-bundle: whoever speaks to etcd through the operator's bundle does not trust the bootstrap member [hand-over-objects]
    manifests: there is no Secret openshift-etcd/etcd-client: the etcd operator sees no member until it has issued one, and meanwhile API servers get the addresses of members that do not serve [hand-over-objects]
    manifests: there is no Secret openshift-etcd-operator/etcd-client: the etcd operator dials etcd with the payload's empty one: it sees no member until its own is copied there, and is started again [hand-over-objects]
    manifests: there is no ConfigMap openshift-etcd-operator/etcd-ca-bundle: the etcd operator trusts no member until its own bundle is copied there, and is started again [hand-over-objects]
    manifests: there is no Secret openshift-kube-apiserver-operator/loadbalancer-serving-signer: a new authority: kubelets and kubeconfigs that trust ours refuse the masters at api. and api-int. [hand-over-objects]
    manifests: there is no Secret openshift-kube-apiserver-operator/localhost-serving-signer: a new authority: what runs on the masters refuses its own API server [hand-over-objects]
    manifests: there is no Secret openshift-kube-apiserver-operator/service-network-serving-signer: a new authority: pods that trust ours refuse the masters at the first service address [hand-over-objects]
    manifests: there is no Secret openshift-kube-apiserver-operator/kube-apiserver-to-kubelet-signer: kubelets refuse logs and exec until the machine-config operator has rolled out a new authority [hand-over-objects]
    manifests: there is no Secret openshift-kube-apiserver-operator/kube-control-plane-signer: the masters' components get certificates of a new authority, which the bootstrap API server refuses [hand-over-objects]
    manifests: there is no Secret openshift-kube-apiserver-operator/aggregator-client-signer: aggregated APIs refuse the masters' API servers until the new authority is known to them [hand-over-objects]
    manifests: there is no Secret openshift-kube-apiserver-operator/next-bound-service-account-signing-key: tokens issued during bootstrap are refused by the masters [hand-over-objects]
    manifests: there is no ConfigMap openshift-config/admin-kubeconfig-client-ca: the admin kubeconfig dies with the bootstrap node [hand-over-objects]
    manifests: there is no ConfigMap openshift-config-managed/kubelet-bootstrap-kubeconfig: kubelets that want to join are refused by the masters [hand-over-objects]
    manifests: there is no ConfigMap openshift-config-managed/csr-controller-ca: kubelets are refused by the masters until the controller-manager operator writes it [hand-over-objects]
    manifests: there is no Secret openshift-kube-controller-manager-operator/csr-signer-signer: kubelet certificates issued during bootstrap are refused [hand-over-objects]
    manifests: there is no ConfigMap openshift-kube-apiserver-operator/loadbalancer-serving-ca: after a late boot pods and kubelets trust the bootstrap API server only if another serving bundle has its authority [hand-over-objects]
    manifests: there is no ConfigMap openshift-kube-apiserver-operator/localhost-serving-ca: after a late boot pods and kubelets trust the bootstrap API server only if another serving bundle has its authority [hand-over-objects]
    manifests: there is no ConfigMap openshift-kube-apiserver-operator/service-network-serving-ca: after a late boot pods and kubelets trust the bootstrap API server only if another serving bundle has its authority [hand-over-objects]
    manifests: there is no ConfigMap openshift-kube-apiserver-operator/kube-apiserver-to-kubelet-client-ca: after a late boot the masters accept bootstrap's components only if another client bundle has their authority [hand-over-objects]
    manifests: there is no ConfigMap openshift-kube-apiserver-operator/kube-control-plane-signer-ca: after a late boot the masters accept bootstrap's components only if another client bundle has their authority [hand-over-objects]
    manifests: there is no ConfigMap openshift-config-managed/kube-apiserver-aggregator-client-ca: after a late boot the masters' API servers do not vouch for the front proxy of bootstrap's [hand-over-objects]
    manifests: there is no ConfigMap openshift-kube-controller-manager-operator/csr-controller-signer-ca: after a late boot the masters' API servers refuse kubelets with serving certificates of bootstrap [hand-over-objects]
    manifests: there is no Secret openshift-config/initial-service-account-private-key: the controller-manager operator makes no revision [hand-over-objects]
    manifests: there is no ConfigMap openshift-config-managed/sa-token-signing-certs: a deadlock: the kube-apiserver operator waits for it, and its owner writes it only after bootstrap is gone [hand-over-objects]
    manifests: there is no ConfigMap kube-system/root-ca: the machine-config operator cannot sync [hand-over-objects]
    manifests: there is no ConfigMap openshift-config/initial-kube-apiserver-server-ca: the machine-config operator cannot sync [hand-over-objects]
    manifests: there is no Secret openshift-machine-config-operator/machine-config-server-tls: machine-config-server pods do not start, and the machine-config operator is never Available [hand-over-objects]
    manifests: there is no Secret openshift-config/pull-secret: no image can be pulled [hand-over-objects]
    manifests: there is no Secret kube-system/kubeadmin: there is no first login [hand-over-objects]
    ");
}

/// One authority after the other in the place of the right one: exactly the verifications that would fail are named.
#[test]
fn each_authority_is_swapped() {
    let ws = Workspace::example().prebuilt();
    let mut said = String::new();
    for (recipe, right, wrong) in [
        ("etcd-signer", "etcd-signer", "etcd-ca"),
        ("etcd-signer", "etcd-signer", "front-proxy-ca"),
        ("etcd-ca-bundle", "etcd-signer", "root-ca"),
        ("serving-signers", "kubernetes-ca", "kubelet-ca"),
        ("client-signers", "kubernetes-ca", "kubelet-ca"),
        ("aggregator-client-signer", "front-proxy-ca", "etcd-ca"),
        ("csr-signer-signer", "kubernetes-ca", "kubelet-ca"),
        ("admin-kubeconfig-client-ca", "kubernetes-ca", "root-ca"),
        ("kubelet-bootstrap-kubeconfig", "kubernetes-ca", "kubelet-ca"),
        ("csr-controller-ca", "kubernetes-ca", "kubelet-ca"),
        ("client-bundles", "kubernetes-ca", "kubelet-ca"),
        ("serving-bundles", "kubernetes-ca", "root-ca"),
        ("kube-apiserver-aggregator-client-ca", "front-proxy-ca", "kubernetes-ca"),
        ("csr-controller-signer-ca", "kubernetes-ca", "kubelet-ca"),
        ("initial-kube-apiserver-server-ca", "kubelet-client-ca-bundle", "root-ca"),
        ("root-ca", "root-ca", "etcd-ca"),
    ] {
        let path = format!("51-hand-over/{recipe}.toml");
        let text = fs::read_to_string(source("recipes").join(&path)).unwrap();
        let swapped = ["pki", "key"].into_iter().fold(text.clone(), |text, kind| {
            let ending = if kind == "pki" { "crt" } else { "key" };
            text.replace(
                &format!("\"{kind}/{right}:{right}.{ending}\""),
                &format!("\"{kind}/{wrong}:{wrong}.{ending}\""),
            )
        });
        assert_ne!(text, swapped, "{recipe}");
        ws.write(&format!("recipes/{path}"), &swapped);
        said.push_str(&format!("{recipe}: {wrong} for {right}\n{}\n", findings(&ws)));
        fs::remove_dir_all(ws.dir.join("recipes")).unwrap();
    }
    insta::assert_snapshot!(said, @r"
    etcd-signer: etcd-ca for etcd-signer
    hand-over-etcd-signer.yaml:20: data[tls.crt]: `CN=etcd-ca` is signed by `CN=root-ca`, not by itself [signers-rsa]

    etcd-signer: front-proxy-ca for etcd-signer
    hand-over-etcd-signer.yaml:20: data[tls.crt]: it lacks the issuer of `etcd-server.crt`, `CN=etcd-ca`: the bootstrap member refuses members on masters [hand-over-trust]
    hand-over-etcd-signer.yaml:20: data[tls.key]: it is not the key of the certificate [signers-rsa]
    hand-over-etcd-signer.yaml:20: data[tls.crt]: `CN=front-proxy-ca` is signed by `CN=root-ca`, not by itself [signers-rsa]

    etcd-ca-bundle: root-ca for etcd-signer
    hand-over-etcd-ca-bundle.yaml:15: data[ca-bundle.crt]: it lacks the issuer of `etcd-server.crt`, `CN=etcd-ca`: members on masters refuse the bootstrap member [hand-over-trust]
    hand-over-etcd-ca-bundle.yaml:15: data[ca-bundle.crt]: it lacks the issuer of `etcd-client.crt`, `CN=etcd-ca`: etcd on masters refuses the API server [hand-over-trust]

    serving-signers: kubelet-ca for kubernetes-ca
    hand-over-loadbalancer-serving-signer.yaml:19: data[tls.crt]: it lacks the issuer of `kube-apiserver.crt`, `CN=kubernetes-ca`: clients that trust the bootstrap API server refuse the masters' [hand-over-trust]
    hand-over-localhost-serving-signer.yaml:19: data[tls.crt]: it lacks the issuer of `kube-apiserver.crt`, `CN=kubernetes-ca`: clients that trust the bootstrap API server refuse the masters' [hand-over-trust]
    hand-over-service-network-serving-signer.yaml:19: data[tls.crt]: it lacks the issuer of `kube-apiserver.crt`, `CN=kubernetes-ca`: clients that trust the bootstrap API server refuse the masters' [hand-over-trust]

    client-signers: kubelet-ca for kubernetes-ca
    hand-over-kube-apiserver-to-kubelet-signer.yaml:19: data[tls.crt]: it lacks the issuer of `kube-apiserver-kubelet-client.crt`, `CN=kubernetes-ca`: kubelets refuse logs and exec [hand-over-trust]
    hand-over-kube-control-plane-signer.yaml:19: data[tls.crt]: it lacks the issuer of `kube-controller-manager.crt`, `CN=kubernetes-ca`: the API refuses the controller manager and the scheduler [hand-over-trust]

    aggregator-client-signer: etcd-ca for front-proxy-ca
    hand-over-aggregator-client-signer.yaml:19: data[tls.crt]: it lacks the issuer of `front-proxy-client.crt`, `CN=front-proxy-ca`: aggregated APIs refuse the API server [hand-over-trust]

    csr-signer-signer: kubelet-ca for kubernetes-ca
    hand-over-csr-signer-signer.yaml:19: data[tls.crt]: it lacks `kubernetes-ca.crt`: kubelet certificates issued during bootstrap are refused [hand-over-trust]

    admin-kubeconfig-client-ca: root-ca for kubernetes-ca
    hand-over-admin-kubeconfig-client-ca.yaml:10: data[ca-bundle.crt]: it lacks the issuer of `admin.crt`, `CN=kubernetes-ca`: the admin kubeconfig dies with the bootstrap node [hand-over-trust]

    kubelet-bootstrap-kubeconfig: kubelet-ca for kubernetes-ca
    hand-over-kubelet-bootstrap-kubeconfig.yaml:10: data[ca-bundle.crt]: it lacks `kubernetes-ca.crt`: kubelets that want to join are refused by the masters [hand-over-trust]

    csr-controller-ca: kubelet-ca for kubernetes-ca
    hand-over-csr-controller-ca.yaml:10: data[ca-bundle.crt]: it lacks `kubernetes-ca.crt`: kubelet certificates issued during bootstrap are refused [hand-over-trust]

    client-bundles: kubelet-ca for kubernetes-ca
    hand-over-kube-apiserver-to-kubelet-client-ca.yaml:15: data[ca-bundle.crt]: it lacks the issuer of `kube-apiserver-kubelet-client.crt`, `CN=kubernetes-ca`: after a late boot the masters accept bootstrap's components only if another client bundle has their authority [hand-over-trust]
    hand-over-kube-control-plane-signer-ca.yaml:15: data[ca-bundle.crt]: it lacks the issuer of `kube-controller-manager.crt`, `CN=kubernetes-ca`: after a late boot the masters accept bootstrap's components only if another client bundle has their authority [hand-over-trust]

    serving-bundles: root-ca for kubernetes-ca
    hand-over-loadbalancer-serving-ca.yaml:15: data[ca-bundle.crt]: it lacks the issuer of `kube-apiserver.crt`, `CN=kubernetes-ca`: after a late boot pods and kubelets trust the bootstrap API server only if another serving bundle has its authority [hand-over-trust]
    hand-over-localhost-serving-ca.yaml:15: data[ca-bundle.crt]: it lacks the issuer of `kube-apiserver.crt`, `CN=kubernetes-ca`: after a late boot pods and kubelets trust the bootstrap API server only if another serving bundle has its authority [hand-over-trust]
    hand-over-service-network-serving-ca.yaml:15: data[ca-bundle.crt]: it lacks the issuer of `kube-apiserver.crt`, `CN=kubernetes-ca`: after a late boot pods and kubelets trust the bootstrap API server only if another serving bundle has its authority [hand-over-trust]

    kube-apiserver-aggregator-client-ca: kubernetes-ca for front-proxy-ca
    hand-over-kube-apiserver-aggregator-client-ca.yaml:15: data[ca-bundle.crt]: it lacks the issuer of `front-proxy-client.crt`, `CN=front-proxy-ca`: after a late boot the masters' API servers do not vouch for the front proxy of bootstrap's [hand-over-trust]

    csr-controller-signer-ca: kubelet-ca for kubernetes-ca
    hand-over-csr-controller-signer-ca.yaml:15: data[ca-bundle.crt]: it lacks `kubernetes-ca.crt`: kubelet certificates issued during bootstrap are refused [hand-over-trust]

    initial-kube-apiserver-server-ca: root-ca for kubelet-client-ca-bundle
    hand-over-initial-kube-apiserver-server-ca.yaml:8: data[ca-bundle.crt]: it lacks the issuer of `kube-apiserver-kubelet-client.crt`, `CN=kubernetes-ca`: kubelets refuse the API server once the machine-config operator has written it to nodes [hand-over-trust]

    root-ca: etcd-ca for root-ca
    hand-over-root-ca.yaml:8: data[ca.crt]: it lacks the issuer of `machine-config-server.crt`, `CN=root-ca`: nodes that join later refuse the machine-config server [hand-over-trust]
    ");
}
