//! What fails without each certificate and key that a node has: exhaustive, and so not among the fast tests.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tinderbox::internals::pki::Certificate;
use tinderbox::internals::trust::{Machine, Pool};

use super::{Entry, built, machines, verified};

/// A text without one PEM block, for each that is in it as it is or in base64; each with what the block is.
fn without_each(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (label, what) in [("CERTIFICATE", true), ("PUBLIC KEY", false)] {
        let (begin, end) = (format!("-----BEGIN {label}-----"), format!("-----END {label}-----"));
        for (start, _) in text.match_indices(&begin) {
            let stop = start + text[start..].find(&end).unwrap() + end.len();
            let lines: Vec<&str> = text[start..stop].lines().map(str::trim).collect();
            let name = match what {
                true => Certificate::from_pem(&lines.join("\n")).unwrap().subject(),
                false => "public key".to_owned(),
            };
            found.push((name, format!("{}{}", &text[..start], &text[stop..])));
        }
    }
    for word in text.split_whitespace().filter(|word| word.len() > 300) {
        let Some(inner) = STANDARD.decode(word).ok().and_then(|bytes| String::from_utf8(bytes).ok()) else {
            continue;
        };
        for (name, less) in without_each(&inner) {
            found.push((name, text.replacen(word, &STANDARD.encode(less), 1)));
        }
    }
    found
}

/// Every certificate and public key of every file that any node gets, taken away: exactly the verifications that would fail.
/// What a file shows is in it too, not only what is trusted.
#[test]
fn each_entry_is_taken_away() {
    let machines = machines(&built());
    assert_eq!(verified(&machines).refused(), [""; 0]);
    // Files, entries, and what fails; and the nodes on which that is so.
    let mut found: BTreeMap<Entry, BTreeMap<Vec<String>, Vec<String>>> = BTreeMap::new();
    // One master and one worker stand for all: every verification asks each of them.
    let chosen = |machine: &Machine| ["bootstrap", "master-1", "worker-1"].contains(&machine.name.as_str());
    for (at, machine) in machines.iter().enumerate().filter(|(_, machine)| chosen(machine)) {
        for (path, text) in &machine.files {
            for (place, (name, less)) in without_each(text).into_iter().enumerate() {
                let mut changed = machines.clone();
                changed[at].files.insert(path.clone(), less);
                // Each node joins as itself.
                let on_node = machine.pool != Pool::Bootstrap;
                let name = if on_node { name.replace(&machine.name, "NODE") } else { name };
                let key = (on_node, path.clone(), place, name);
                let refused = verified(&changed).refused();
                found.entry(key).or_default().entry(refused).or_default().push(machine.name.clone());
            }
        }
    }
    let mut said = String::new();
    let mut unused = Vec::new();
    for ((on_node, path, place, name), outcomes) in found {
        assert_eq!(outcomes.len(), 1, "{path} is not the same on all nodes: {outcomes:?}");
        let (refused, names) = outcomes.into_iter().next().unwrap();
        // kube-proxy is on masters only.
        let on_all = on_node && !path.contains("kube-proxy");
        assert_eq!(names.len(), if on_all { 2 } else { 1 }, "{path}: {names:?}");
        let pool = if on_node { "nodes" } else { "bootstrap" };
        match refused.is_empty() {
            true => unused.push(format!("{pool} {path} {place} {name}")),
            false => said.push_str(&format!("{pool} {path} {place} {name}\n  {}\n", refused.join("\n  "))),
        }
    }
    insta::assert_snapshot!(said, @r"
    bootstrap /etc/kubernetes/bootstrap-secrets/bound-service-account-signing-key.pub 0 public key
      bound-tokens before
    bootstrap /etc/kubernetes/bootstrap-secrets/etcd-ca-bundle.crt 0 CN=etcd-ca
      bootstrap-etcd-to-bootkube before
    bootstrap /etc/kubernetes/bootstrap-secrets/etcd-ca-bundle.crt 1 CN=root-ca
      bootstrap-etcd-to-bootkube before
    bootstrap /etc/kubernetes/bootstrap-secrets/etcd-ca.crt 0 CN=etcd-ca
      etcd-members-to-bootstrap-etcd before
      etcd-members-to-bootstrap-etcd after
      bootstrap-etcd-to-its-clients before
      api-servers-to-etcd before
      peers-to-bootstrap-etcd after
    bootstrap /etc/kubernetes/bootstrap-secrets/etcd-client.crt 0 CN=system:etcd-client
      api-servers-to-etcd before
      api-servers-to-etcd after
    bootstrap /etc/kubernetes/bootstrap-secrets/etcd-peer.crt 0 CN=etcd-peer-bootstrap
      bootstrap-etcd-to-peers after
    bootstrap /etc/kubernetes/bootstrap-secrets/etcd-server.crt 0 CN=etcd-server
      etcd-members-to-bootstrap-etcd before
      bootstrap-etcd-to-its-clients before
      bootstrap-etcd-to-its-clients after
      bootstrap-etcd-to-bootkube before
    bootstrap /etc/kubernetes/bootstrap-secrets/front-proxy-ca.crt 0 CN=front-proxy-ca
      api-servers-to-aggregated-apis before
      masters-to-aggregated-apis after
    bootstrap /etc/kubernetes/bootstrap-secrets/front-proxy-client.crt 0 CN=system:kube-apiserver-proxy
      api-servers-to-aggregated-apis before
      api-servers-to-aggregated-apis after
    bootstrap /etc/kubernetes/bootstrap-secrets/kube-apiserver-kubelet-client.crt 0 CN=system:kube-apiserver
      api-server-to-kubelets before
      api-server-to-kubelets after
    bootstrap /etc/kubernetes/bootstrap-secrets/kube-apiserver.crt 0 CN=kube-apiserver
      api-servers-to-administrators before
      api-servers-to-localhost before
      api-servers-to-pods before
      api-servers-to-components before
      api-servers-to-kubelets before
      api-servers-to-kube-proxy before
      api-server-to-bootkube before
    bootstrap /etc/kubernetes/bootstrap-secrets/kubernetes-ca-bundle.crt 0 CN=kubernetes-ca
      api-servers-to-pods before
      api-server-to-bootkube before
    bootstrap /etc/kubernetes/bootstrap-secrets/kubernetes-ca-bundle.crt 1 CN=root-ca
      api-servers-to-pods before
      api-servers-to-pods after
      api-server-to-bootkube before
    bootstrap /etc/kubernetes/bootstrap-secrets/kubernetes-ca.crt 0 CN=kubernetes-ca
      components-to-api-servers before
      masters-to-bootstrap-api-server after
      administrators-to-api-servers before
      joining-kubelets-to-api-servers before
      kube-proxy-to-api-servers before
      kubelets-to-api-servers-later after
      kubelets-to-api-servers before
      kubelets-to-api-servers after
      kubelets-serve-api-servers before
      kubelets-serve-api-servers after
    bootstrap /etc/kubernetes/bootstrap-secrets/service-account.pub 0 public key
      legacy-tokens before
    bootstrap /etc/kubernetes/kubeconfigs/admin.kubeconfig 0 CN=kubernetes-ca
      api-servers-to-administrators before
    bootstrap /etc/kubernetes/kubeconfigs/admin.kubeconfig 2 O=system:masters, CN=system:admin
      administrators-to-api-servers before
      administrators-to-api-servers after
    bootstrap /etc/kubernetes/kubeconfigs/kube-controller-manager.kubeconfig 0 CN=kubernetes-ca
      api-servers-to-components before
    bootstrap /etc/kubernetes/kubeconfigs/kube-controller-manager.kubeconfig 2 CN=system:kube-controller-manager
      components-to-api-servers before
      components-to-api-servers after
    bootstrap /etc/kubernetes/kubeconfigs/kube-scheduler.kubeconfig 0 CN=kubernetes-ca
      api-servers-to-components before
    bootstrap /etc/kubernetes/kubeconfigs/kube-scheduler.kubeconfig 2 CN=system:kube-scheduler
      components-to-api-servers before
      components-to-api-servers after
    bootstrap /etc/kubernetes/kubeconfigs/lb-ext.kubeconfig 0 CN=kubernetes-ca
      api-servers-to-administrators before
    bootstrap /etc/kubernetes/kubeconfigs/lb-ext.kubeconfig 2 O=system:masters, CN=system:admin
      administrators-to-api-servers before
      administrators-to-api-servers after
    bootstrap /etc/kubernetes/kubeconfigs/lb-int.kubeconfig 0 CN=kubernetes-ca
      api-servers-to-administrators before
    bootstrap /etc/kubernetes/kubeconfigs/lb-int.kubeconfig 2 O=system:masters, CN=system:admin
      administrators-to-api-servers before
      administrators-to-api-servers after
    bootstrap /etc/kubernetes/kubeconfigs/localhost-recovery.kubeconfig 0 CN=kubernetes-ca
      api-servers-to-localhost before
    bootstrap /etc/kubernetes/kubeconfigs/localhost-recovery.kubeconfig 2 O=system:masters, CN=system:admin
      administrators-to-api-servers before
      administrators-to-api-servers after
    bootstrap /etc/kubernetes/kubeconfigs/localhost.kubeconfig 0 CN=kubernetes-ca
      api-servers-to-localhost before
    bootstrap /etc/kubernetes/kubeconfigs/localhost.kubeconfig 2 O=system:masters, CN=system:admin
      administrators-to-api-servers before
      administrators-to-api-servers after
    bootstrap /opt/openshift/manifests/hand-over-admin-kubeconfig-client-ca.yaml 0 CN=kubernetes-ca
      administrators-to-api-servers after
    bootstrap /opt/openshift/manifests/hand-over-aggregator-client-signer.yaml 0 CN=front-proxy-ca
      api-servers-to-aggregated-apis after
      masters-to-aggregated-apis after
    bootstrap /opt/openshift/manifests/hand-over-csr-controller-ca.yaml 0 CN=kubernetes-ca
      kubelets-to-api-servers after
      kubelets-serve-api-servers after
    bootstrap /opt/openshift/manifests/hand-over-csr-signer-signer.yaml 0 CN=kubernetes-ca
      kubelets-to-api-servers-later after
    bootstrap /opt/openshift/manifests/hand-over-etcd-ca-bundle.yaml 0 CN=etcd-ca
      bootstrap-etcd-to-its-clients after
      api-servers-to-etcd after
      bootstrap-etcd-to-peers after
    bootstrap /opt/openshift/manifests/hand-over-etcd-signer.yaml 0 CN=etcd-ca
      etcd-members-to-bootstrap-etcd after
      peers-to-bootstrap-etcd after
    bootstrap /opt/openshift/manifests/hand-over-initial-kube-apiserver-server-ca.yaml 0 CN=kubernetes-ca
      api-server-to-kubelets after
    bootstrap /opt/openshift/manifests/hand-over-kube-apiserver-to-kubelet-signer.yaml 0 CN=kubernetes-ca
      masters-to-kubelets after
    bootstrap /opt/openshift/manifests/hand-over-kube-control-plane-signer.yaml 0 CN=kubernetes-ca
      components-to-api-servers after
      masters-to-bootstrap-api-server after
    bootstrap /opt/openshift/manifests/hand-over-kubelet-bootstrap-kubeconfig.yaml 0 CN=kubernetes-ca
      joining-kubelets-to-api-servers after
      kube-proxy-to-api-servers after
    bootstrap /opt/openshift/manifests/hand-over-loadbalancer-serving-signer.yaml 0 CN=kubernetes-ca
      api-servers-to-administrators after
      api-servers-to-components after
      api-servers-to-kubelets after
      api-servers-to-kube-proxy after
    bootstrap /opt/openshift/manifests/hand-over-localhost-serving-signer.yaml 0 CN=kubernetes-ca
      api-servers-to-localhost after
    bootstrap /opt/openshift/manifests/hand-over-machine-config-server-tls.yaml 0 CN=system:machine-config-server
      machine-config-server-to-nodes after
    bootstrap /opt/openshift/manifests/hand-over-next-bound-service-account-signing-key.yaml 0 public key
      bound-tokens after
    bootstrap /opt/openshift/manifests/hand-over-root-ca.yaml 0 CN=root-ca
      machine-config-server-to-nodes after
    bootstrap /opt/openshift/manifests/hand-over-sa-token-signing-certs.yaml 0 public key
      legacy-tokens after
    bootstrap /opt/openshift/manifests/hand-over-service-network-serving-signer.yaml 0 CN=kubernetes-ca
      api-servers-to-pods after
    nodes /etc/kubernetes/kubeconfig 0 CN=kubernetes-ca
      api-servers-to-kubelets before
    nodes /etc/kubernetes/kubeconfig 2 O=system:bootstrappers, CN=system:bootstrapper:NODE.ocp4.example.com
      joining-kubelets-to-api-servers before
      joining-kubelets-to-api-servers after
    nodes /etc/kubernetes/kubeconfigs/kube-proxy.kubeconfig 0 CN=kubernetes-ca
      api-servers-to-kube-proxy before
    nodes /etc/kubernetes/kubeconfigs/kube-proxy.kubeconfig 2 CN=system:kube-proxy
      kube-proxy-to-api-servers before
      kube-proxy-to-api-servers after
    nodes /etc/kubernetes/kubelet-ca.crt 0 CN=kubernetes-ca
      masters-to-kubelets after
      api-server-to-kubelets before
    ");
    insta::assert_snapshot!(unused.join("\n"), @r"
    bootstrap /etc/kubernetes/kubeconfigs/admin.kubeconfig 1 CN=root-ca
    bootstrap /etc/kubernetes/kubeconfigs/kube-controller-manager.kubeconfig 1 CN=root-ca
    bootstrap /etc/kubernetes/kubeconfigs/kube-scheduler.kubeconfig 1 CN=root-ca
    bootstrap /etc/kubernetes/kubeconfigs/lb-ext.kubeconfig 1 CN=root-ca
    bootstrap /etc/kubernetes/kubeconfigs/lb-int.kubeconfig 1 CN=root-ca
    bootstrap /etc/kubernetes/kubeconfigs/localhost-recovery.kubeconfig 1 CN=root-ca
    bootstrap /etc/kubernetes/kubeconfigs/localhost.kubeconfig 1 CN=root-ca
    bootstrap /opt/openshift/manifests/hand-over-csr-controller-signer-ca.yaml 0 CN=kubernetes-ca
    bootstrap /opt/openshift/manifests/hand-over-etcd-operator-ca-bundle.yaml 0 CN=etcd-ca
    bootstrap /opt/openshift/manifests/hand-over-initial-kube-apiserver-server-ca.yaml 1 CN=kubelet-ca
    bootstrap /opt/openshift/manifests/hand-over-initial-kube-apiserver-server-ca.yaml 2 CN=root-ca
    bootstrap /opt/openshift/manifests/hand-over-kube-apiserver-aggregator-client-ca.yaml 0 CN=front-proxy-ca
    bootstrap /opt/openshift/manifests/hand-over-kube-apiserver-to-kubelet-client-ca.yaml 0 CN=kubernetes-ca
    bootstrap /opt/openshift/manifests/hand-over-kube-control-plane-signer-ca.yaml 0 CN=kubernetes-ca
    bootstrap /opt/openshift/manifests/hand-over-loadbalancer-serving-ca.yaml 0 CN=kubernetes-ca
    bootstrap /opt/openshift/manifests/hand-over-localhost-serving-ca.yaml 0 CN=kubernetes-ca
    bootstrap /opt/openshift/manifests/hand-over-openshift-etcd-client.yaml 0 CN=system:etcd-client
    bootstrap /opt/openshift/manifests/hand-over-openshift-etcd-client.yaml 1 CN=etcd-ca
    bootstrap /opt/openshift/manifests/hand-over-openshift-etcd-operator-client.yaml 0 CN=system:etcd-client
    bootstrap /opt/openshift/manifests/hand-over-openshift-etcd-operator-client.yaml 1 CN=etcd-ca
    bootstrap /opt/openshift/manifests/hand-over-service-network-serving-ca.yaml 0 CN=kubernetes-ca
    nodes /etc/kubernetes/ca.crt 0 CN=kubernetes-ca
    nodes /etc/kubernetes/ca.crt 1 CN=root-ca
    nodes /etc/kubernetes/kubeconfig 1 CN=root-ca
    nodes /etc/kubernetes/kubeconfigs/kube-proxy.kubeconfig 1 CN=root-ca
    nodes /etc/kubernetes/kubelet-ca.crt 1 CN=kubelet-ca
    nodes /etc/kubernetes/kubelet-ca.crt 2 CN=root-ca
    ");
}
