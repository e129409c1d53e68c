//! Keys, certificates and kubeconfigs: what follows from the seed, what does not, and what real programs make of it.

mod chains;
mod host;
mod installer;
mod names;
mod own;
mod renew;
mod same;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::{Workspace, left_out};

/// Leaves of the example and the authority of each.
const LEAVES: [(&str, &str); 19] = [
    ("admin", "kubernetes-ca"),
    ("etcd-client", "etcd-ca"),
    ("etcd-peer-bootstrap", "etcd-ca"),
    ("etcd-peer-master-0", "etcd-ca"),
    ("etcd-peer-master-1", "etcd-ca"),
    ("etcd-peer-master-2", "etcd-ca"),
    ("etcd-server", "etcd-ca"),
    ("front-proxy-client", "front-proxy-ca"),
    ("kube-apiserver", "kubernetes-ca"),
    ("kube-apiserver-kubelet-client", "kubernetes-ca"),
    ("kube-controller-manager", "kubernetes-ca"),
    ("kube-proxy", "kubernetes-ca"),
    ("kube-scheduler", "kubernetes-ca"),
    ("kubelet-bootstrap-master-0", "kubernetes-ca"),
    ("kubelet-bootstrap-master-1", "kubernetes-ca"),
    ("kubelet-bootstrap-master-2", "kubernetes-ca"),
    ("kubelet-bootstrap-worker-0", "kubernetes-ca"),
    ("kubelet-bootstrap-worker-1", "kubernetes-ca"),
    ("machine-config-server", "root-ca"),
];

/// Authorities, and who signs them.
const AUTHORITIES: [(&str, &str); 5] = [
    ("root-ca", "root-ca"),
    ("etcd-ca", "root-ca"),
    ("front-proxy-ca", "root-ca"),
    ("kubelet-ca", "kubernetes-ca"),
    ("kubernetes-ca", "root-ca"),
];

/// The example's keys and certificates in one directory, as `result/pki` has them.
fn built(ws: &Workspace) -> PathBuf {
    ws.build(&["cluster"]);
    ws.dir.join("result/pki")
}

/// What openssl says; none, and a word about it, if it is not there.
fn openssl(dir: &Path, args: &[&str]) -> Option<(bool, String)> {
    match Command::new("openssl").current_dir(dir).args(args).output() {
        Ok(output) => {
            let text =
                [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            Some((output.status.success(), text.concat()))
        }
        Err(error) => {
            left_out("openssl", &format!("openssl, of Debian's openssl: {error}"));
            None
        }
    }
}
