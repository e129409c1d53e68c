//! The installer's own set: names, subjects, usages, validities and bundles of the facts.

use std::collections::BTreeSet;
use std::fs;

use tinderbox::internals::pki::Certificate;

use crate::harness::{Workspace, tree};

/// Off the default target, complete when asked for.
#[test]
fn the_set_is_what_the_installer_makes() {
    let ws = Workspace::example().prebuilt();
    let planned = ws.json(&["build", "--dry-run"]).to_string();
    assert!(!planned.contains("installer"), "it is not part of `cluster`");
    ws.build(&["installer-tls"]);
    let root = ws.path_of("installer-tls");
    let files = tree(&root);
    let mut text = String::new();
    for (path, (mode, bytes)) in &files {
        let pem = String::from_utf8(bytes.clone()).unwrap();
        text.push_str(&format!("{path} {mode:o}"));
        if path.ends_with(".crt") {
            let chain = Certificate::chain_from_pem(&pem).unwrap();
            let named: Vec<String> = chain.iter().map(Certificate::subject).collect();
            let first = &chain[0];
            let days = (first.not_after() - first.not_before()).whole_days();
            let usage = match (first.is_server(), first.is_client()) {
                (true, true) => " server + client",
                (true, false) => " server",
                (false, true) => " client",
                (false, false) => "",
            };
            let ips: Vec<String> = first.ips().iter().map(ToString::to_string).collect();
            let names = [first.dns().join(" "), ips.join(" ")].join(" ");
            let kind = if first.is_authority() { " CA" } else { "" };
            text.push_str(&format!(" [{}]{kind}{usage} {} {days} d", named.join("; "), names.trim()));
        } else if path.starts_with("tls/") && path.ends_with(".key") {
            assert!(pem.starts_with("-----BEGIN RSA PRIVATE KEY-----"), "{path}");
        }
        text.push('\n');
    }
    insta::assert_snapshot!(text, @"
    auth/kubeconfig 400
    auth/kubeconfig-kubelet 400
    auth/kubeconfig-loopback 400
    kubeconfig 400
    tls/admin-kubeconfig-ca-bundle.crt 444 [OU=openshift, CN=admin-kubeconfig-signer] CA  3650 d
    tls/admin-kubeconfig-client.crt 444 [O=system:masters, CN=system:admin] server + client  3650 d
    tls/admin-kubeconfig-client.key 400
    tls/admin-kubeconfig-signer.crt 444 [OU=openshift, CN=admin-kubeconfig-signer] CA  3650 d
    tls/admin-kubeconfig-signer.key 400
    tls/aggregator-ca-bundle.crt 444 [OU=openshift, CN=aggregator-signer] CA  1 d
    tls/aggregator-ca.crt 444 [OU=bootkube, CN=aggregator] CA  1 d
    tls/aggregator-ca.key 400
    tls/aggregator-client.crt 444 [O=kube-master, CN=system:kube-apiserver-proxy] client  1 d
    tls/aggregator-client.key 400
    tls/aggregator-signer.crt 444 [OU=openshift, CN=aggregator-signer] CA  1 d
    tls/aggregator-signer.key 400
    tls/apiserver-proxy.crt 444 [O=kube-master, CN=system:kube-apiserver-proxy] client  1 d
    tls/apiserver-proxy.key 400
    tls/bound-service-account-signing-key.key 400
    tls/bound-service-account-signing-key.pub 444
    tls/journal-gatewayd.crt 444 [O=OpenShift Bootstrap, CN=journal-gatewayd] server + client  3650 d
    tls/journal-gatewayd.key 400
    tls/kube-apiserver-complete-client-ca-bundle.crt 444 [OU=openshift, CN=admin-kubeconfig-signer; OU=openshift, CN=kubelet-signer; OU=openshift, CN=kube-control-plane-signer; OU=openshift, CN=kube-apiserver-to-kubelet-signer; OU=openshift, CN=kubelet-bootstrap-kubeconfig-signer] CA  3650 d
    tls/kube-apiserver-complete-server-ca-bundle.crt 444 [OU=openshift, CN=kube-apiserver-localhost-signer; OU=openshift, CN=kube-apiserver-service-network-signer; OU=openshift, CN=kube-apiserver-lb-signer] CA  3650 d
    tls/kube-apiserver-internal-lb-server.crt 444 [O=kube-master, CN=system:kube-apiserver; OU=openshift, CN=kube-apiserver-lb-signer] server api-int.ocp4.example.com 1 d
    tls/kube-apiserver-internal-lb-server.key 400
    tls/kube-apiserver-lb-ca-bundle.crt 444 [OU=openshift, CN=kube-apiserver-lb-signer] CA  3650 d
    tls/kube-apiserver-lb-server.crt 444 [O=kube-master, CN=system:kube-apiserver; OU=openshift, CN=kube-apiserver-lb-signer] server api.ocp4.example.com 1 d
    tls/kube-apiserver-lb-server.key 400
    tls/kube-apiserver-lb-signer.crt 444 [OU=openshift, CN=kube-apiserver-lb-signer] CA  3650 d
    tls/kube-apiserver-lb-signer.key 400
    tls/kube-apiserver-localhost-ca-bundle.crt 444 [OU=openshift, CN=kube-apiserver-localhost-signer] CA  3650 d
    tls/kube-apiserver-localhost-server.crt 444 [O=kube-master, CN=system:kube-apiserver; OU=openshift, CN=kube-apiserver-localhost-signer] server localhost 127.0.0.1 ::1 1 d
    tls/kube-apiserver-localhost-server.key 400
    tls/kube-apiserver-localhost-signer.crt 444 [OU=openshift, CN=kube-apiserver-localhost-signer] CA  3650 d
    tls/kube-apiserver-localhost-signer.key 400
    tls/kube-apiserver-service-network-ca-bundle.crt 444 [OU=openshift, CN=kube-apiserver-service-network-signer] CA  3650 d
    tls/kube-apiserver-service-network-server.crt 444 [O=kube-master, CN=system:kube-apiserver; OU=openshift, CN=kube-apiserver-service-network-signer] server kubernetes kubernetes.default kubernetes.default.svc kubernetes.default.svc.cluster.local openshift openshift.default openshift.default.svc openshift.default.svc.cluster.local 172.30.0.1 1 d
    tls/kube-apiserver-service-network-server.key 400
    tls/kube-apiserver-service-network-signer.crt 444 [OU=openshift, CN=kube-apiserver-service-network-signer] CA  3650 d
    tls/kube-apiserver-service-network-signer.key 400
    tls/kube-apiserver-to-kubelet-ca-bundle.crt 444 [OU=openshift, CN=kube-apiserver-to-kubelet-signer] CA  365 d
    tls/kube-apiserver-to-kubelet-client.crt 444 [O=kube-master, CN=system:kube-apiserver] client  365 d
    tls/kube-apiserver-to-kubelet-client.key 400
    tls/kube-apiserver-to-kubelet-signer.crt 444 [OU=openshift, CN=kube-apiserver-to-kubelet-signer] CA  365 d
    tls/kube-apiserver-to-kubelet-signer.key 400
    tls/kube-control-plane-ca-bundle.crt 444 [OU=openshift, CN=kube-control-plane-signer; OU=openshift, CN=kube-apiserver-lb-signer; OU=openshift, CN=kube-apiserver-localhost-signer; OU=openshift, CN=kube-apiserver-service-network-signer] CA  365 d
    tls/kube-control-plane-kube-controller-manager-client.crt 444 [O=system:masters, CN=system:admin] client  365 d
    tls/kube-control-plane-kube-controller-manager-client.key 400
    tls/kube-control-plane-kube-scheduler-client.crt 444 [O=system:masters, CN=system:admin] client  365 d
    tls/kube-control-plane-kube-scheduler-client.key 400
    tls/kube-control-plane-signer.crt 444 [OU=openshift, CN=kube-control-plane-signer] CA  365 d
    tls/kube-control-plane-signer.key 400
    tls/kubelet-bootstrap-kubeconfig-ca-bundle.crt 444 [OU=openshift, CN=kubelet-bootstrap-kubeconfig-signer] CA  3650 d
    tls/kubelet-bootstrap-kubeconfig-signer.crt 444 [OU=openshift, CN=kubelet-bootstrap-kubeconfig-signer] CA  3650 d
    tls/kubelet-bootstrap-kubeconfig-signer.key 400
    tls/kubelet-client-ca-bundle.crt 444 [OU=openshift, CN=kubelet-signer] CA  1 d
    tls/kubelet-client.crt 444 [O=system:serviceaccounts + O=system:serviceaccounts:openshift-machine-config-operator, CN=system:serviceaccount:openshift-machine-config-operator:node-bootstrapper] client  3650 d
    tls/kubelet-client.key 400
    tls/kubelet-serving-ca-bundle.crt 444 [OU=openshift, CN=kubelet-signer] CA  1 d
    tls/kubelet-signer.crt 444 [OU=openshift, CN=kubelet-signer] CA  1 d
    tls/kubelet-signer.key 400
    tls/machine-config-server.crt 444 [CN=system:machine-config-server; OU=openshift, CN=root-ca] server api-int.ocp4.example.com 3650 d
    tls/machine-config-server.key 400
    tls/root-ca.crt 444 [OU=openshift, CN=root-ca] CA  3650 d
    tls/root-ca.key 400
    tls/service-account.key 400
    tls/service-account.pub 444
    ");
}

/// Two sets with the same names are two identities.
#[test]
fn no_key_is_shared_with_our_own() {
    let ws = Workspace::example().prebuilt();
    ws.build(&["installer-tls", "cluster"]);
    let keys = |target: &str| -> BTreeSet<Vec<u8>> {
        let files = tree(&ws.path_of(target)).into_iter();
        files.filter(|(path, _)| path.ends_with(".key")).map(|(_, (_, bytes))| bytes).collect()
    };
    assert!(keys("cluster").is_disjoint(&keys("installer-tls")));
    let kubeconfig =
        fs::read_to_string(ws.path_of("installer-tls").join("auth/kubeconfig-loopback")).unwrap();
    assert!(kubeconfig.contains("server: https://localhost:6443\n"));
}
