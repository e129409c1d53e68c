//! Who gets in, and how far: curl with the certificates of our own parts.

use std::path::Path;
use std::process::Command;

use super::{Api, SERVER, Tls, secrets};
use crate::harness::{Workspace, left_out};

/// What curl says to a request, and the status that it got; none without curl.
fn curl(secrets: &Path, user: &str, args: &[&str], url: &str) -> Option<(bool, String)> {
    let mut command = Command::new("curl");
    command.args([
        "--silent",
        "--show-error",
        "--noproxy",
        "*",
        "--max-time",
        "30",
        "--write-out",
        " %{http_code}",
    ]);
    command.arg("--cacert").arg(secrets.join("kubernetes-ca-bundle.crt"));
    if !user.is_empty() {
        command.arg("--cert").arg(secrets.join(format!("{user}.crt")));
        command.arg("--key").arg(secrets.join(format!("{user}.key")));
    }
    let Ok(output) = command.args(args).arg(url).output() else {
        left_out("who gets into the stand-in API", "curl, of Debian's curl");
        return None;
    };
    let text = [output.stdout, output.stderr].concat();
    Some((output.status.success(), String::from_utf8(text).unwrap()))
}

#[test]
fn only_our_own_get_in() {
    let ws = Workspace::example().prebuilt();
    let users =
        ["pki/admin", "key/admin", "pki/kubelet-bootstrap-master-0", "key/kubelet-bootstrap-master-0"];
    let others = ["pki/etcd-client", "key/etcd-client"];
    let secrets = secrets(&ws, &[&SERVER[..], &users, &others].concat());
    let api = Api::start(&Tls::api_server(&secrets));
    let nodes = format!("{}/api/v1/nodes", api.url());
    let ask = |user: &str, args: &[&str], url: &str| curl(&secrets, user, args, url);

    // Nobody may ask for health, and for nothing else.
    let Some(ready) = ask("", &[], &format!("{}/readyz", api.url())) else { return };
    assert_eq!(ready, (true, "ok 200".to_owned()));
    let (_, refused) = ask("", &[], &nodes).unwrap();
    assert!(
        refused.contains("User \\\"system:anonymous\\\" cannot GET") && refused.ends_with(" 403"),
        "{refused}"
    );

    // The administrator may do everything; one of another authority has no connection.
    let (_, list) = ask("admin", &[], &nodes).unwrap();
    assert!(list.contains("\"kind\":\"NodeList\"") && list.ends_with(" 200"), "{list}");
    let (connected, said) = ask("etcd-client", &[], &nodes).unwrap();
    assert!(!connected && said.starts_with(" 000"), "{said}");

    // A kubelet that joins may do what its group may, and is known by name.
    let requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    let request = r#"{"apiVersion":"certificates.k8s.io/v1","kind":"CertificateSigningRequest","metadata":{"name":"csr-1"},"spec":{},"status":{"certificate":"none"}}"#;
    let post = ["--header", "Content-Type: application/json", "--data", request];
    let url = format!("{}{requests}", api.url());
    let (_, refused) = ask("kubelet-bootstrap-master-0", &post, &url).unwrap();
    assert!(refused.ends_with(" 403"), "{refused}");
    api.allow("system:bootstrappers", "POST", requests);
    let (_, made) = ask("kubelet-bootstrap-master-0", &post, &url).unwrap();
    assert!(made.ends_with(" 201"), "{made}");
    api.look(|cluster| {
        assert_eq!(cluster.get(&format!("{requests}/csr-1")).unwrap()["status"], serde_json::Value::Null)
    });
    let (_, refused) =
        ask("kubelet-bootstrap-master-0", &["--request", "DELETE"], &format!("{url}/csr-1")).unwrap();
    assert!(refused.ends_with(" 403"), "{refused}");

    let seen = api.seen();
    let by = |status: u16| seen.iter().find(|one| one.status == status).unwrap().user.clone();
    assert_eq!(by(200), "");
    assert!(by(201).starts_with("system:"), "{seen:?}");
}
