//! Kubeconfigs, as kubectl reads them.

use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use tinderbox::internals::pki::{Certificate, PrivateKey};

use crate::harness::{Workspace, left_out, list, mode};

/// Name, user, server: the table of the facts.
const TABLE: [(&str, &str, &str); 13] = [
    ("admin", "system:admin", "https://api.ocp4.example.com:6443"),
    ("kube-controller-manager", "system:kube-controller-manager", "https://api-int.ocp4.example.com:6443"),
    ("kube-proxy", "system:kube-proxy", "https://api-int.ocp4.example.com:6443"),
    ("kube-scheduler", "system:kube-scheduler", "https://api-int.ocp4.example.com:6443"),
    (
        "kubelet-bootstrap-master-0",
        "system:bootstrapper:master-0.ocp4.example.com",
        "https://api-int.ocp4.example.com:6443",
    ),
    (
        "kubelet-bootstrap-master-1",
        "system:bootstrapper:master-1.ocp4.example.com",
        "https://api-int.ocp4.example.com:6443",
    ),
    (
        "kubelet-bootstrap-master-2",
        "system:bootstrapper:master-2.ocp4.example.com",
        "https://api-int.ocp4.example.com:6443",
    ),
    (
        "kubelet-bootstrap-worker-0",
        "system:bootstrapper:worker-0.ocp4.example.com",
        "https://api-int.ocp4.example.com:6443",
    ),
    (
        "kubelet-bootstrap-worker-1",
        "system:bootstrapper:worker-1.ocp4.example.com",
        "https://api-int.ocp4.example.com:6443",
    ),
    ("lb-ext", "system:admin", "https://api.ocp4.example.com:6443"),
    ("lb-int", "system:admin", "https://api-int.ocp4.example.com:6443"),
    ("localhost", "system:admin", "https://localhost:6443"),
    ("localhost-recovery", "system:admin", "https://localhost:6443"),
];

#[test]
fn kubectl_reads_every_kubeconfig() {
    let ws = Workspace::example().prebuilt();
    ws.build(&[]);
    let result = ws.dir.join("result");
    let names: Vec<String> = TABLE.iter().map(|(name, ..)| format!("{name}.kubeconfig")).collect();
    assert_eq!(list(&result.join("kubeconfigs")), names.into_iter().collect());
    assert_eq!(
        std::fs::read(result.join("auth/kubeconfig")).unwrap(),
        std::fs::read(result.join("kubeconfigs/admin.kubeconfig")).unwrap()
    );
    for (name, user, server) in TABLE {
        let path = result.join(format!("kubeconfigs/{name}.kubeconfig"));
        assert_eq!(mode(&path) & 0o077, 0, "{name}");
        let mut kubectl = Command::new("kubectl");
        kubectl.env_clear().env("HOME", ws.temp()).env("PATH", std::env::var_os("PATH").unwrap());
        let args = ["config", "view", "--raw", "--minify", "--output=json"];
        let Ok(output) = kubectl.arg(format!("--kubeconfig={}", path.display())).args(args).output() else {
            return left_out("kubectl", "kubectl, of Debian's kubernetes-client");
        };
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let view: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(view["clusters"][0]["cluster"]["server"], server, "{name}");
        assert_eq!(view["current-context"], view["contexts"][0]["name"], "{name}");
        for one in ["clusters", "users", "contexts"] {
            assert_eq!(view[one].as_array().unwrap().len(), 1, "{name}");
        }
        let decode =
            |value: &Value| String::from_utf8(STANDARD.decode(value.as_str().unwrap()).unwrap()).unwrap();
        let entry = &view["users"][0]["user"];
        let certificate = Certificate::from_pem(&decode(&entry["client-certificate-data"])).unwrap();
        assert_eq!(certificate.common_name(), Some(user), "{name}");
        assert!(certificate.belongs_to(&PrivateKey::from_pem(&decode(&entry["client-key-data"])).unwrap()));
        let trusted = decode(&view["clusters"][0]["cluster"]["certificate-authority-data"]);
        let trusted = Certificate::chain_from_pem(&trusted).unwrap();
        assert!(certificate.is_issued_by(&trusted[0]), "{name}");
        assert_eq!(trusted.last().unwrap().common_name(), Some("root-ca"), "{name}: up to the root");
    }
}

/// The first login: the password in the installer's shape, and its hash.
#[test]
fn the_kubeadmin_password() {
    let ws = Workspace::example().prebuilt();
    ws.build(&["cluster", "identity"]);
    let path = ws.dir.join("result/auth/kubeadmin-password");
    let password = std::fs::read_to_string(&path).unwrap();
    assert_eq!(mode(&path) & 0o077, 0);
    assert_eq!(password.len(), 23);
    assert!(password.split('-').all(|group| group.len() == 5), "five letters, four times");
    let hash = std::fs::read_to_string(ws.path_of("identity/kubeadmin-hash").join("kubeadmin-hash")).unwrap();
    assert!(hash.starts_with("$2a$10$") && bcrypt::verify(&password, &hash).unwrap());
    let infra = std::fs::read_to_string(ws.path_of("identity/infra-id").join("infra-id")).unwrap();
    assert!(infra.starts_with("ocp4-") && infra.len() == 10, "{infra}");
    let uuid = std::fs::read_to_string(ws.path_of("identity/cluster-id").join("cluster-id")).unwrap();
    assert!(uuid.len() == 36 && uuid.as_bytes()[14] == b'4', "{uuid}");
}
