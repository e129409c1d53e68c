//! Requests for certificates, good and bad, at an API that knows who sent them by their certificates: ours.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tinderbox::internals::api::{Client, Gvr};
use tinderbox::internals::pki::{Algorithm, Certificate, Form, Issuer, Name, PrivateKey, Request, issue};
use tinderbox::internals::secret::Seed;

use super::pkcs10::{CN, Csr, DNS, EMAIL, IP, O, OU, URI};
use crate::api::{Answer, Api, Https, SERVER, Tls, secrets};
use crate::harness::documents::assert_document;
use crate::harness::{SEED, Workspace};

const REQUESTS: Gvr = Gvr::new("certificates.k8s.io", "v1", "certificatesigningrequests");
const PATH: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const CLIENT: &str = "kubernetes.io/kube-apiserver-client-kubelet";
const SERVING: &str = "kubernetes.io/kubelet-serving";
static GO_ON: AtomicBool = AtomicBool::new(false);

/// A cluster's API, and everyone who may write to it.
struct Stage {
    ws: Workspace,
    secrets: PathBuf,
    api: Api,
}

fn tls(secrets: &Path) -> Tls {
    Tls::api_server(secrets)
}

impl Stage {
    fn new(ws: Workspace) -> Self {
        ws.build(&["cluster"]);
        let users = ["key/kubernetes-ca"];
        let secrets = secrets(&ws, &[&SERVER[..], &users].concat());
        let api = Api::start(&tls(&secrets));
        api.allow("system:authenticated", "POST", PATH);
        Self { ws, secrets, api }
    }

    fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.secrets.join(file)).unwrap()
    }

    /// The kubeconfig of a user: one of ours by name, else one that kubernetes-ca vouches for, as for a node that has
    /// its client certificate.
    fn kubeconfig(&self, user: &str, groups: &[&str]) -> String {
        if user == "admin" || user.starts_with("kubelet-bootstrap-") {
            let path = self.ws.dir.join(format!("result/kubeconfigs/{user}.kubeconfig"));
            return std::fs::read_to_string(path).unwrap();
        }
        let ca = Certificate::from_pem(&self.read("kubernetes-ca.crt")).unwrap();
        let ca_key = PrivateKey::from_pem(&self.read("kubernetes-ca.key")).unwrap();
        let seed = Seed::new(zeroize::Zeroizing::new(SEED));
        let key = PrivateKey::generate(&seed, "test", user, 1, Algorithm::EcdsaP256);
        let request = Request {
            subject: Name {
                organizations: groups.iter().map(|group| (*group).to_owned()).collect(),
                ..Name::common(user)
            },
            not_before: ca.not_before(),
            not_after: ca.not_after(),
            authority: None,
            key_usages: Vec::new(),
            server: false,
            client: true,
            dns: Vec::new(),
            ips: Vec::new(),
            key: &key,
        };
        let issuer = Issuer { certificate: &ca, key: &ca_key };
        let certificate = issue(&seed, "test", user, 1, &request, Some(issuer)).unwrap();
        let mine = |text: &str| STANDARD.encode(text);
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{{name: a, context: {{cluster: a, user: a}}}}]\n\
             clusters: [{{name: a, cluster: {{server: 'https://api.ocp4.example.com:6443', certificate-authority-data: {}}}}}]\n\
             users: [{{name: a, user: {{client-certificate-data: {}, client-key-data: {}}}}}]\n",
            mine(&self.read("kubernetes-ca-bundle.crt")),
            mine(&certificate.to_pem()),
            mine(&key.to_pem(Form::Pkcs8)),
        )
    }

    fn at(&self) -> String {
        format!("127.0.0.1:{}", self.api.port())
    }

    /// Sends a request as somebody.
    fn send(&self, kubeconfig: &str, request: &Value) {
        let client = Client::new(kubeconfig, &self.at().parse().unwrap(), &GO_ON).unwrap();
        client.create(REQUESTS, None, request).unwrap();
    }

    /// The conditions that a request has.
    fn conditions(&self, name: &str) -> Value {
        self.api
            .look(|cluster| cluster.get(&format!("{PATH}/{name}")).unwrap()["status"]["conditions"].clone())
    }

    /// A node that has joined.
    fn join(&self, name: &str, when: &str) {
        let ready = json!([{"type": "Ready", "status": "False"}]);
        let node = json!({"apiVersion": "v1", "kind": "Node", "status": {"conditions": ready},
            "metadata": {"name": name, "creationTimestamp": when}});
        self.api.look(|cluster| cluster.put(node));
    }

    fn approve(&self) -> Value {
        let report = self.ws.json(&["realize", "approve", "--server", &self.at()]);
        assert_document(&self.ws, "realize-approve", &report);
        report
    }
}

fn request(name: &str, signer: &str, usages: &[&str], pem: &str) -> Value {
    json!({"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": name},
        "spec": {"signerName": signer, "usages": usages, "request": STANDARD.encode(pem)}})
}

const C: &[&str] = &["digital signature", "client auth"];
const S: &[&str] = &["digital signature", "server auth"];

/// Who asks: a user and its groups, as their certificate says it.
type By = (&'static str, &'static [&'static str]);

const BOOT: By = ("kubelet-bootstrap-master-0", &[]);
const NODE: By = ("system:node:worker-0.ocp4.example.com", &["system:nodes"]);

/// Up is worker-0, with 192.168.126.110; nobody else is.
const UP: &str = "worker-0.ocp4.example.com";
const DOWN: &str = "master-0.ocp4.example.com";
const ITS: [u8; 4] = [192, 168, 126, 110];

/// Name, who asks, the signer, the usages, what is asked; and why it is left alone, or nothing if it is approved.
type Case = (&'static str, By, &'static str, Vec<&'static str>, String, &'static str);

fn client(name: &'static str, csr: Csr, why: &'static str) -> Case {
    (name, BOOT, CLIENT, C.to_vec(), csr.pem(), why)
}

fn serving(name: &'static str, csr: Csr, why: &'static str) -> Case {
    (name, NODE, SERVING, S.to_vec(), csr.pem(), why)
}

fn own() -> Csr {
    Csr::serving(UP, ITS)
}

#[rustfmt::skip]
fn clients() -> Vec<Case> {
    let good = || Csr::of(DOWN);
    let usages = |name, usages: &[&'static str], why| (name, BOOT, CLIENT, usages.to_vec(), good().pem(), why);
    let by = |name, by: By, why| (name, by, CLIENT, C.to_vec(), good().pem(), why);
    vec![
        client("c01", good(), ""),
        usages("c02", &["digital signature", "key encipherment", "client auth"], ""),
        usages("c03", &["client auth", "key encipherment", "digital signature"], ""),
        ("c04", ("kubelet-bootstrap-master-2", &[]), CLIENT, C.to_vec(), Csr::of("master-2.ocp4.example.com").pem(), ""),
        ("c05", ("kubelet-bootstrap-worker-1", &[]), CLIENT, C.to_vec(), Csr::of("worker-1.ocp4.example.com").pem(), ""),
        client("c06", Csr { password: true, ..good() }, "spec.request asks for more than names: `attribute 1.2.840.113549.1.9.7`"),
        client("c07", Csr::of("worker-9.ocp4.example.com"), "the subject's CN names `worker-9.ocp4.example.com`, which is not a node of this cluster"),
        client("c08", Csr::of("master-0"), "the subject's CN names `master-0`, which is not a node of this cluster"),
        client("c09", Csr::of("master-0.ocp4.example.org"), "the subject's CN names `master-0.ocp4.example.org`, which is not a node of this cluster"),
        client("c10", Csr::of("bootstrap.ocp4.example.com"), "the subject's CN names `bootstrap.ocp4.example.com`, the bootstrap machine, which never joins"),
        client("c11", Csr::of(""), "the subject's CN is `system:node:`, which is not `system:node:` and a name"),
        client("c12", Csr { subject: vec![(O, "system:nodes".into()), (CN, "system:admin".into())], ..Csr::default() }, "the subject's CN is `system:admin`, which is not `system:node:` and a name"),
        client("c13", good().subject(O, "system:masters"), "the subject's O is `system:nodes`, `system:masters`, not `system:nodes` alone"),
        client("c14", Csr { subject: vec![(O, "system:masters".into()), (CN, format!("system:node:{DOWN}"))], ..Csr::default() }, "the subject's O is `system:masters`, not `system:nodes` alone"),
        client("c15", Csr { subject: vec![(CN, format!("system:node:{DOWN}"))], ..Csr::default() }, "the subject's O is empty, not `system:nodes` alone"),
        client("c16", good().subject(CN, "system:admin"), "the subject has 2 common names (CN)"),
        client("c17", Csr { subject: vec![(O, "system:nodes".into())], ..Csr::default() }, "the subject has 0 common names (CN)"),
        client("c18", good().subject(OU, "system:masters"), "the subject has `OU = system:masters`, where one CN and one O belong"),
        client("c19", Csr { teletex: true, ..good() }, "the subject has `O that is not plain text`, where one CN and one O belong"),
        client("c20", good().name(DNS, DOWN.as_bytes()), "the subject alternative names have the DNS name `master-0.ocp4.example.com`, but a client certificate has none"),
        client("c21", good().name(IP, &[192, 168, 126, 101]), "the subject alternative names have the address `192.168.126.101`, but a client certificate has none"),
        client("c22", good().name(URI, b"spiffe://x"), "the subject alternative names have the URI `spiffe://x`, but a client certificate has none"),
        client("c23", Csr { extension: Some((vec![0x55, 29, 19], vec![0x30, 3, 1, 1, 0xff])), ..good() }, "spec.request asks for more than names: `extension basicConstraints`"),
        client("c24", Csr { forged: true, ..good() }, "spec.request is not signed with its own key"),
        ("c25", ("kubelet-bootstrap-worker-0", &[]), CLIENT, C.to_vec(), Csr::of(UP).pem(), "`worker-0.ocp4.example.com` is already in the API: this may be a replay of its request"),
        usages("c26", &["digital signature"], "spec.usages is `digital signature`, not `digital signature`, `client auth` and at most `key encipherment`"),
        usages("c27", &["digital signature", "client auth", "server auth"], "spec.usages is `digital signature`, `client auth`, `server auth`, not `digital signature`, `client auth` and at most `key encipherment`"),
        usages("c28", S, "spec.usages is `digital signature`, `server auth`, not `digital signature`, `client auth` and at most `key encipherment`"),
        usages("c29", &["digital signature", "client auth", "cert sign"], "spec.usages is `digital signature`, `client auth`, `cert sign`, not `digital signature`, `client auth` and at most `key encipherment`"),
        by("c30", ("mallory", &[]), "spec.username is `mallory`, not `system:bootstrapper:master-0.ocp4.example.com`"),
        by("c31", ("system:serviceaccount:kube-system:bootstrapper", &["system:bootstrappers"]), "spec.username is `system:serviceaccount:kube-system:bootstrapper`, not `system:bootstrapper:master-0.ocp4.example.com`"),
        by("c32", NODE, "spec.username is `system:node:worker-0.ocp4.example.com`, not `system:bootstrapper:master-0.ocp4.example.com`"),
        by("c33", ("system:node:master-0.ocp4.example.com", &["system:nodes"]), "spec.username is `system:node:master-0.ocp4.example.com` itself: this is a renewal, which the cluster's own approver decides"),
        by("c34", ("admin", &[]), "spec.username is `system:admin`, not `system:bootstrapper:master-0.ocp4.example.com`"),
        ("c35", BOOT, "kubernetes.io/kube-apiserver-client", C.to_vec(), good().pem(), "spec.signerName is `kubernetes.io/kube-apiserver-client`, which signs nothing that a node asks for"),
        client("c37", Csr::of("master-2.ocp4.example.com"), "spec.username is `system:bootstrapper:master-0.ocp4.example.com`, not `system:bootstrapper:master-2.ocp4.example.com`"),
        by("c38", ("system:bootstrapper:master-0.ocp4.example.com", &[]), "spec.groups is `system:authenticated`, without `system:bootstrappers`"),
        by("c39", ("system:bootstrapper", &["system:bootstrappers"]), "spec.username is `system:bootstrapper`, not `system:bootstrapper:master-0.ocp4.example.com`"),
        ("c36", BOOT, "example.com/mine", C.to_vec(), good().pem(), "spec.signerName is `example.com/mine`, which signs nothing that a node asks for"),
    ]
}

#[rustfmt::skip]
fn servings() -> Vec<Case> {
    let usages = |name, usages: &[&'static str], why| (name, NODE, SERVING, usages.to_vec(), own().pem(), why);
    let by = |name, by: By, why| (name, by, SERVING, S.to_vec(), own().pem(), why);
    vec![
        serving("s01", own(), ""),
        usages("s02", &["digital signature", "key encipherment", "server auth"], ""),
        serving("s03", own().name(DNS, b"worker-0"), ""),
        serving("s04", own().name(DNS, b"api.ocp4.example.com"), "the subject alternative names have the DNS name `api.ocp4.example.com`, which `worker-0.ocp4.example.com` does not have"),
        serving("s05", own().name(DNS, b"worker-1.ocp4.example.com"), "the subject alternative names have the DNS name `worker-1.ocp4.example.com`, which `worker-0.ocp4.example.com` does not have"),
        serving("s06", own().name(DNS, b"*.ocp4.example.com"), "the subject alternative names have the DNS name `*.ocp4.example.com`, which `worker-0.ocp4.example.com` does not have"),
        serving("s07", own().name(IP, &[192, 168, 126, 10]), "the subject alternative names have the address `192.168.126.10`, which `worker-0.ocp4.example.com` does not have"),
        serving("s08", own().name(IP, &[127, 0, 0, 1]), "the subject alternative names have the address `127.0.0.1`, which `worker-0.ocp4.example.com` does not have"),
        serving("s09", Csr::serving(UP, [192, 168, 126, 111]), "the subject alternative names have the address `192.168.126.111`, which `worker-0.ocp4.example.com` does not have"),
        serving("s10", Csr::of(UP).name(DNS, UP.as_bytes()), "the subject alternative names lack the address `192.168.126.110`"),
        serving("s11", Csr::of(UP).name(IP, &ITS), "the subject alternative names lack the DNS name `worker-0.ocp4.example.com`"),
        serving("s12", Csr::of(UP), "the subject alternative names lack the DNS name `worker-0.ocp4.example.com`"),
        serving("s13", Csr::of(UP).name(DNS, b"worker-0").name(IP, &ITS), "the subject alternative names lack the DNS name `worker-0.ocp4.example.com`"),
        serving("s14", own().name(EMAIL, b"root@example.com"), "the subject alternative names have the e-mail address `root@example.com`, which is neither a DNS name nor an address"),
        serving("s15", own().name(URI, b"https://api"), "the subject alternative names have the URI `https://api`, which is neither a DNS name nor an address"),
        serving("s16", own().name(IP, &[1, 2, 3, 4, 5]), "the subject alternative names have an address of 5 bytes, which is neither a DNS name nor an address"),
        serving("s17", own().name(DNS, b"WORKER-0"), "the subject alternative names have the DNS name `WORKER-0`, which `worker-0.ocp4.example.com` does not have"),
        serving("s18", Csr::serving("worker-1.ocp4.example.com", [192, 168, 126, 111]), "spec.username is `system:node:worker-0.ocp4.example.com`, not `system:node:worker-1.ocp4.example.com`"),
        serving("s19", own().subject(O, "system:masters"), "the subject's O is `system:nodes`, `system:masters`, not `system:nodes` alone"),
        serving("s20", Csr { extension: Some((vec![0x55, 29, 17], vec![0x30, 0])), ..own() }, "spec.request asks for more than names: `extension subjectAltName, a second time`"),
        serving("s21", Csr { forged: true, ..own() }, "spec.request is not signed with its own key"),
        usages("s22", C, "spec.usages is `digital signature`, `client auth`, not `digital signature`, `server auth` and at most `key encipherment`"),
        usages("s23", &["digital signature", "server auth", "client auth"], "spec.usages is `digital signature`, `server auth`, `client auth`, not `digital signature`, `server auth` and at most `key encipherment`"),
        by("s24", BOOT, "spec.username is `system:bootstrapper:master-0.ocp4.example.com`, not `system:node:worker-0.ocp4.example.com`"),
        by("s25", ("system:node:worker-0.ocp4.example.com", &[]), "spec.groups is `system:authenticated`, without `system:nodes`"),
        ("s26", ("system:node:master-0.ocp4.example.com", &["system:nodes"]), SERVING, S.to_vec(), Csr::serving(DOWN, [192, 168, 126, 101]).pem(), "`master-0.ocp4.example.com` is not in the API yet"),
        ("s27", ("system:node:bootstrap.ocp4.example.com", &["system:nodes"]), SERVING, S.to_vec(), Csr::serving("bootstrap.ocp4.example.com", [192, 168, 126, 100]).pem(), "the subject's CN names `bootstrap.ocp4.example.com`, the bootstrap machine, which never joins"),
    ]
}

#[rustfmt::skip]
fn broken() -> Vec<Case> {
    let good = Csr::of(DOWN).pem();
    let raw = |name, pem: String, why| (name, BOOT, CLIENT, C.to_vec(), pem, why);
    vec![
        raw("b01", String::new(), "spec.request cannot be read: it contains no certificate request"),
        raw("b02", good.replace("CERTIFICATE REQUEST", "CERTIFICATE"), "spec.request cannot be read: it contains no certificate request"),
        raw("b03", good.replace("-----END", ""), "spec.request cannot be read: the PEM block `CERTIFICATE REQUEST` has no end"),
        raw("b04", format!("{good}{good}"), "spec.request cannot be read: it contains 2 certificate requests instead of one"),
        raw("b05", format!("hello\n{good}"), "spec.request cannot be read: the certificate request is damaged: there is text around it"),
        raw("b06", "-----BEGIN CERTIFICATE REQUEST-----\nMAA=\n-----END CERTIFICATE REQUEST-----\n".into(), "spec.request cannot be read: the certificate request is damaged: "),
        raw("b07", good.replace("\n", "\n "). replace(" -----", "-----").replace("MII", "%II"), "spec.request cannot be read: the PEM block `CERTIFICATE REQUEST` is not base64"),
        raw("b08", "A".repeat(40_000), "spec.request cannot be read: the certificate request is damaged: it has more than 32768 bytes"),
    ]
}

#[test]
fn the_right_requests_are_approved_and_no_others() {
    let stage = Stage::new(Workspace::example().prebuilt());
    let cases = [clients(), servings(), broken()].concat();
    assert!(cases.len() > 60);
    let mut kubeconfigs = BTreeMap::new();
    for (name, (user, groups), signer, usages, pem, _) in &cases {
        let kubeconfig = kubeconfigs.entry((user, groups)).or_insert_with(|| stage.kubeconfig(user, groups));
        // Who asks is written by the server, whatever is sent.
        let mut sent = request(name, signer, usages, pem);
        sent["spec"]["username"] = json!("system:bootstrapper:master-0.ocp4.example.com");
        sent["spec"]["groups"] = json!(["system:nodes", "system:bootstrappers"]);
        stage.send(kubeconfig, &sent);
    }
    // Others have decided about these.
    for (name, decision) in [("d01", "Approved"), ("d02", "Denied"), ("d03", "Failed")] {
        let mut decided = request(name, CLIENT, C, &Csr::of(DOWN).pem());
        decided["spec"]["username"] = json!("system:bootstrapper:master-0.ocp4.example.com");
        decided["status"]["conditions"] = json!([{"type": decision, "status": "True", "reason": "Other"}]);
        stage.api.look(|cluster| cluster.put(decided));
    }
    stage.join(UP, "2024-01-01T00:00:00Z");

    let report = stage.approve();
    let by_name = |list: &Value, field: &str| -> BTreeMap<String, String> {
        let pair = |one: &Value| [&one["request"], &one[field]].map(|text| text.as_str().unwrap().to_owned());
        list.as_array().unwrap().iter().map(pair).map(|[name, text]| (name, text)).collect()
    };
    let (approved, left) = (by_name(&report["approved"], "certificate"), by_name(&report["left"], "reason"));
    for (name, _, signer, _, _, why) in &cases {
        let conditions = stage.conditions(name);
        match *why {
            "" => {
                assert_eq!(left.get(*name), None, "{name}");
                let kind = if *signer == CLIENT { "client" } else { "serving" };
                assert_eq!(approved.get(*name).map(String::as_str), Some(kind), "{name}");
                assert_eq!(conditions[0]["type"], "Approved", "{name}: {conditions}");
                assert_eq!(conditions[0]["reason"], "TinderboxApproved", "{name}: {conditions}");
            }
            why => {
                assert_eq!(approved.get(*name), None, "{name}");
                let said = left.get(*name).map(String::as_str).unwrap_or_default();
                assert!(
                    said == why || why.ends_with(": ") && said.starts_with(why),
                    "{name}: {said}\nwanted: {why}"
                );
                assert!(conditions.is_null(), "{name}: {conditions}");
            }
        }
    }
    assert_eq!(approved.len() + left.len(), cases.len());
    for name in ["d01", "d02", "d03"] {
        assert_eq!(stage.conditions(name).as_array().unwrap().len(), 1);
    }
    let writes = stage.api.seen().into_iter().filter(|one| one.request.starts_with("PUT"));
    assert!(writes.clone().all(|one| one.user == "system:admin" && one.request.ends_with("/approval")));
    assert_eq!(writes.count(), approved.len());

    // Once more: nothing is approved twice, and what was left is left.
    let again = stage.approve();
    assert_eq!(again["approved"], json!([]));
    assert_eq!(again["left"], report["left"]);
}

/// Two keys ask for one node: neither gets its certificate, until the user says which.
#[test]
fn two_keys_for_one_node_are_left_to_the_user() {
    let stage = single();
    let (boot, at) = (stage.kubeconfig(BOOT.0, BOOT.1), stage.at());
    let text = |args: &[&str]| {
        let all = [&["realize", "approve", "--server", &at], args].concat();
        stage.ws.run(&all).replace(&at, "[API]")
    };
    for (name, key) in [("one", 0), ("two", 1)] {
        stage.send(&boot, &request(name, CLIENT, C, &Csr { key, ..Csr::of(DOWN) }.pem()));
    }
    insta::assert_snapshot!(text(&[]), @r"
    left      one  its key is `ce97ec20d43661a1`, but `two`, with `40f5ccec4350fd37`, asks for the same node; only `tinderbox realize approve master-0 --key ce97ec20d43661a1` approves this one
              a kubelet that restarts asks with a new key: `systemctl restart kubelet` on `master-0` shows which request is its own, the one that appears then; if there is another, somebody else has the node's credential
    left      two  its key is `40f5ccec4350fd37`, but `one`, with `ce97ec20d43661a1`, asks for the same node; only `tinderbox realize approve master-0 --key 40f5ccec4350fd37` approves this one
              a kubelet that restarts asks with a new key: `systemctl restart kubelet` on `master-0` shows which request is its own, the one that appears then; if there is another, somebody else has the node's credential
    NODE      IN THE API  CLIENT   SERVING  NAME
    master-0  missing     pending           master-0.ocp4.example.com
    [stderr]
    left alone one: its key is `ce97ec20d43661a1`, but `two`, with `40f5ccec4350fd37`, asks for the same node; only `tinderbox realize approve master-0 --key ce97ec20d43661a1` approves this one
    left alone two: its key is `40f5ccec4350fd37`, but `one`, with `ce97ec20d43661a1`, asks for the same node; only `tinderbox realize approve master-0 --key 40f5ccec4350fd37` approves this one
    [exit 0]
    ");
    let left = stage.approve()["left"].clone();
    let key = |at: usize| left[at]["key"].as_str().unwrap().to_owned();
    assert_eq!((key(0).len(), left[0]["node"].as_str()), (64, Some("master-0")));
    assert_ne!(key(0), key(1));
    // What is not among them is not approved; nor is what the node's credential has not asked for.
    insta::assert_snapshot!(text(&["master-0", "--key", &"ab".repeat(8)]), @r"
    [stderr]
    left alone one: its key is `ce97ec20d43661a1`, but `two`, with `40f5ccec4350fd37`, asks for the same node; only `tinderbox realize approve master-0 --key ce97ec20d43661a1` approves this one
    left alone two: its key is `40f5ccec4350fd37`, but `one`, with `ce97ec20d43661a1`, asks for the same node; only `tinderbox realize approve master-0 --key 40f5ccec4350fd37` approves this one
    error: no request that may be approved asks for `master-0` with the key `abababababababab`
    hint: `tinderbox realize approve` lists all requests, and why each is left alone
    [exit 1]
    ");
    insta::assert_snapshot!(text(&["master-9", "--key", &key(1)]), @r"
    [stderr]
    error: `master-9` is not a master or worker of cluster.yaml
    hint: did you mean `master-0`?
    [exit 2]
    ");
    insta::assert_snapshot!(text(&["master-0", "--key", "ab"]), @r"
    [stderr]
    error: invalid value 'ab' for '--key <FINGERPRINT>': it has 16 to 64 hexadecimal digits
    For more information, try '--help'.
    [exit 2]
    ");
    assert!(stage.conditions("one").is_null() && stage.conditions("two").is_null());

    let prefix = key(1)[..20].to_uppercase();
    let done = stage.ws.json(&["realize", "approve", "--server", &at, "master-0", "--key", &prefix]);
    assert_eq!(done["approved"], json!([{"request": "two", "node": "master-0", "certificate": "client"}]));
    assert!(stage.conditions("one").is_null());
    // From now on the other one is known to be late.
    insta::assert_snapshot!(text(&[]), @r"
    left      one  its key is `ce97ec20d43661a1`, but `two`, with `40f5ccec4350fd37`, was approved; only `tinderbox realize approve master-0 --key ce97ec20d43661a1` approves this one
              a kubelet that restarts asks with a new key: `systemctl restart kubelet` on `master-0` shows which request is its own, the one that appears then; if there is another, somebody else has the node's credential
    NODE      IN THE API  CLIENT    SERVING  NAME
    master-0  missing     approved           master-0.ocp4.example.com
    [stderr]
    left alone one: its key is `ce97ec20d43661a1`, but `two`, with `40f5ccec4350fd37`, was approved; only `tinderbox realize approve master-0 --key ce97ec20d43661a1` approves this one
    [exit 0]
    ");
    sign(&stage, "two");
    assert_eq!(stage.approve()["approved"], json!([]));
}

/// A kubelet that waited in vain for a quarter of an hour asks with another key, and gets its certificate.
#[test]
fn a_request_that_was_given_up_does_not_count() {
    let stage = single();
    let boot = stage.kubeconfig(BOOT.0, BOOT.1);
    for (name, key, when) in [("one", 0, "2026-01-01T00:00:00Z"), ("two", 1, "2026-01-01T00:15:02Z")] {
        stage.send(&boot, &request(name, CLIENT, C, &Csr { key, ..Csr::of(DOWN) }.pem()));
        stage.api.look(|cluster| {
            let mut object = cluster.get(&format!("{PATH}/{name}")).unwrap().clone();
            object["metadata"]["creationTimestamp"] = json!(when);
            cluster.put(object);
        });
    }
    let report = stage.approve();
    assert_eq!(report["approved"], json!([{"request": "two", "node": "master-0", "certificate": "client"}]));
    assert_eq!(
        report["left"][0]["reason"],
        "its kubelet has given up: `two` asks for `master-0` a quarter of an hour later or more"
    );
}

/// Between our look and our approval, everything may change.
#[test]
fn an_approval_is_for_what_was_looked_at() {
    let stage = Stage::new(Workspace::example().prebuilt());
    let kubeconfig = stage.kubeconfig(BOOT.0, BOOT.1);
    let names = ["moved", "denied", "replaced", "gone"];
    for name in names {
        stage.send(&kubeconfig, &request(name, CLIENT, C, &Csr::of(DOWN).pem()));
    }
    let at = |name: &str| format!("{PATH}/{name}");
    let put = |name: &str| format!("PUT {PATH}/{name}/approval");
    // Somebody writes a label: still the same request.
    stage.api.at(1, &put("moved"), move |cluster| {
        let mut object = cluster.get(&at("moved")).unwrap().clone();
        object["metadata"]["labels"] = json!({"a": "b"});
        cluster.put(object);
    });
    stage.api.at(1, &put("denied"), move |cluster| {
        let mut object = cluster.get(&at("denied")).unwrap().clone();
        object["status"]["conditions"] = json!([{"type": "Denied", "status": "True"}]);
        cluster.put(object);
    });
    stage.api.at(1, &put("replaced"), move |cluster| {
        let mut object = cluster.get(&at("replaced")).unwrap().clone();
        cluster.remove(&at("replaced"));
        object["spec"]["request"] = json!(STANDARD.encode(Csr::of("mallory").pem()));
        cluster.put(object);
    });
    stage.api.at(1, &put("gone"), move |cluster| cluster.remove(&at("gone")));
    let report = stage.approve();
    let approved: Vec<&str> =
        report["approved"].as_array().unwrap().iter().map(|one| one["request"].as_str().unwrap()).collect();
    assert_eq!(approved, ["moved"]);
    assert_eq!(stage.conditions("moved")[0]["type"], "Approved");
    assert_eq!(stage.conditions("denied"), json!([{"type": "Denied", "status": "True"}]));
    assert_eq!(stage.conditions("replaced"), Value::Null);
    let labels = stage.api.look(|cluster| cluster.get(&at("moved")).unwrap()["metadata"]["labels"].clone());
    assert_eq!(labels, json!({"a": "b"}));
}

/// Our program at work, and what it says.
struct Watching {
    child: Child,
    said: BufReader<ChildStderr>,
}

impl Watching {
    fn start(stage: &Stage, timeout: &str) -> Self {
        let args = ["realize", "approve", "--json", "--watch", "--timeout", timeout, "--server", &stage.at()];
        let mut command = stage.ws.command(&args);
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(child.stderr.take().unwrap());
        Self { child, said }
    }

    /// Reads until it says something that begins so. It has an end of its own, so this has one too.
    fn until(&mut self, wanted: &str) {
        let mut all = String::new();
        loop {
            let from = all.len();
            assert!(self.said.read_line(&mut all).unwrap() > 0, "`{wanted}` was not said:\n{all}");
            if all[from..].starts_with(wanted) {
                return;
            }
        }
    }

    fn end(mut self) -> (Option<i32>, Value, String) {
        let (mut out, mut rest) = (String::new(), String::new());
        self.child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        self.said.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().code(), serde_json::from_str(&out).unwrap(), rest)
    }
}

fn single() -> Stage {
    let ws = Workspace::example().prebuilt();
    ws.without_workers(1);
    Stage::new(ws)
}

/// As the controller manager does it after an approval.
fn sign(stage: &Stage, name: &str) {
    stage.api.look(|cluster| {
        let mut object = cluster.get(&format!("{PATH}/{name}")).unwrap().clone();
        assert_eq!(object["status"]["conditions"][0]["type"], "Approved");
        object["status"]["certificate"] = json!(STANDARD.encode("a certificate"));
        cluster.put(object);
    });
}

#[test]
fn it_watches_until_everyone_is_there() {
    let mut stage = single();
    let user = format!("system:node:{DOWN}");
    let (boot, node) = (stage.kubeconfig(BOOT.0, BOOT.1), stage.kubeconfig(&user, &["system:nodes"]));
    stage.api.stop();
    let mut watching = Watching::start(&stage, "4m");
    watching.until("waiting for every node to join: the API at `127.0.0.1:");

    stage.api.restart(&tls(&stage.secrets));
    watching.until(
        "waiting for every node to join: `master-0`: not in the API, client certificate not requested",
    );
    stage.send(&boot, &request("stranger", CLIENT, C, &Csr::of("mallory").pem()));
    watching.until("left alone stranger: the subject's CN names `mallory`");
    stage.send(&boot, &request("first", CLIENT, C, &Csr::of(DOWN).pem()));
    watching.until("approved first: client certificate of master-0");
    watching.until("waiting for every node to join: `master-0`: not in the API, client certificate approved, but not signed yet");

    // It moves to the masters meanwhile.
    stage.api.stop();
    watching.until("waiting for every node to join: the API at ");
    stage.api.restart(&tls(&stage.secrets));
    sign(&stage, "first");
    let now = time::OffsetDateTime::now_utc().format(&time::format_description::well_known::Rfc3339).unwrap();
    stage.join(DOWN, &now);
    watching.until("joined master-0");
    watching
        .until("waiting for every node to join: `master-0`: in the API, serving certificate not requested");
    stage.send(&node, &request("second", SERVING, S, &Csr::serving(DOWN, [192, 168, 126, 101]).pem()));
    watching.until("approved second: serving certificate of master-0");
    sign(&stage, "second");
    let (code, report, rest) = watching.end();
    assert_eq!((code, &report["complete"]), (Some(0), &json!(true)), "{report}\n{rest}");
    assert_eq!(
        report["approved"],
        json!([{"request": "first", "node": "master-0", "certificate": "client"},
            {"request": "second", "node": "master-0", "certificate": "serving"}])
    );
    assert_eq!(report["left"].as_array().unwrap().len(), 1);
    assert_eq!(
        report["nodes"],
        json!([{"node": "master-0", "name": DOWN, "joined": true, "ready": false, "client": "issued",
            "serving": "issued", "complete": true}])
    );
}

/// A cluster that has been up for long has thrown its requests away: nothing is waited for.
#[test]
fn an_old_cluster_is_complete() {
    let stage = single();
    stage.join(DOWN, "2024-01-01T00:00:00Z");
    let (code, report, rest) = Watching::start(&stage, "4m").end();
    assert_eq!((code, &report["complete"]), (Some(0), &json!(true)), "{report}\n{rest}");
}

#[test]
fn what_is_missing_after_the_time_is_said() {
    let stage = single();
    let at = stage.at();
    let text = |args: &[&str]| {
        let all = [&["realize", "approve", "--server", &at], args].concat();
        stage.ws.run(&all).replace(&at, "[API]")
    };
    insta::assert_snapshot!(text(&["--watch", "--timeout", "1s"]), @r"
    NODE      IN THE API  CLIENT  SERVING  NAME
    master-0  missing                      master-0.ocp4.example.com
    [stderr]
    waiting for every node to join: `master-0`: not in the API, client certificate not requested
    error: still missing after 1 s:
      `master-0`: not in the API, client certificate not requested
    hint: `tinderbox realize logs NODE` shows a node's console; run this again to continue
    [exit 1]
    ");
    insta::assert_snapshot!(text(&[]), @r"
    NODE      IN THE API  CLIENT  SERVING  NAME
    master-0  missing                      master-0.ocp4.example.com
    [exit 0]
    ");
    stage.api.stop();
    let gone = text(&["--watch", "--timeout", "1s"]);
    assert!(gone.contains("still missing after 1 s:\n  the API at `[API]` cannot be reached: "), "{gone}");
    assert!(gone.trim_end().ends_with("[exit 1]"), "{gone}");
    let gone = text(&[]);
    assert!(
        gone.contains("error: the API at `[API]` cannot be reached: ")
            && gone.trim_end().ends_with("[exit 1]"),
        "{gone}"
    );
}

#[test]
fn it_stops_when_it_is_told_to() {
    let stage = single();
    let mut watching = Watching::start(&stage, "4m");
    watching.until("waiting for every node to join");
    let began = Instant::now();
    let pid = rustix::process::Pid::from_child(&watching.child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let (code, report, rest) = watching.end();
    assert_eq!((code, &report["error"]), (Some(130), &json!("interrupted")), "{rest}");
    assert!(began.elapsed() < Duration::from_secs(20));
}

/// Every refusal is one that people can do something about.
#[test]
fn the_client_says_who_refused_what() {
    let stage = Stage::new(Workspace::example().prebuilt());
    let ask = |kubeconfig: &str| Client::new(kubeconfig, &stage.at().parse().unwrap(), &GO_ON).unwrap();
    let shown = |error: tinderbox::internals::api::ApiError| error.to_string().replace(&stage.at(), "[API]");
    let admin = stage.kubeconfig("admin", &[]);
    let maps = Gvr::new("", "v1", "configmaps");
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"b": "c"}});

    // All four of it, and health.
    ask(&admin).ready().unwrap();
    assert_eq!(ask(&admin).create(maps, Some("default"), &map).unwrap()["metadata"]["namespace"], "default");
    assert_eq!(ask(&admin).get(maps, Some("default"), "a").unwrap()["data"]["b"], "c");
    assert_eq!(ask(&admin).list(maps, Some("default")).unwrap().len(), 1);
    assert_eq!(ask(&admin).list(maps, None).unwrap().len(), 1);
    let twice = ask(&admin).create(maps, Some("default"), &map).unwrap_err();
    assert_eq!(shown(twice), "conflict in the API: configmaps \"a\" already exists");
    ask(&admin).delete(maps, Some("default"), "a").unwrap();
    let gone = ask(&admin).get(maps, Some("default"), "a").unwrap_err();
    assert_eq!(shown(gone), "not found in the API: configmaps \"a\" not found");

    let forbidden = ask(&stage.kubeconfig(BOOT.0, BOOT.1)).nodes().unwrap_err();
    assert_eq!(
        shown(forbidden),
        "the API at `[API]` forbids it: User \"system:bootstrapper:master-0.ocp4.example.com\" cannot GET path \"/api/v1/nodes\""
    );
    // Another cluster's: neither side trusts the other.
    let other = Workspace::example().prebuilt();
    other.write_seed(&[8; 32]);
    let theirs = secrets(&other, &["kubeconfig/admin"]);
    let theirs = std::fs::read_to_string(theirs.join("admin.kubeconfig")).unwrap();
    let untrusted = shown(ask(&theirs).nodes().unwrap_err());
    assert!(untrusted.starts_with("the certificate of the API at `[API]` is not trusted: "), "{untrusted}");
    // Ours, with their authority: the API does not know them.
    let line = |text: &str, field: &str| {
        text.lines().find(|line| line.trim().starts_with(field)).unwrap().to_owned()
    };
    let ca = "certificate-authority-data:";
    let mixed = theirs.replace(&line(&theirs, ca), &line(&admin, ca));
    let unknown = shown(ask(&mixed).nodes().unwrap_err());
    assert!(
        unknown.starts_with("the API at `[API]` does not accept our credentials: it rejects our certificate"),
        "{unknown}"
    );
    // Under another name than its certificate has.
    let misnamed = admin.replace("api.ocp4.example.com", "api.ocp5.example.com");
    let misnamed = shown(ask(&misnamed).nodes().unwrap_err());
    assert!(misnamed.starts_with("the certificate of the API at `[API]` is not trusted: "), "{misnamed}");
}

/// What has our certificates and no end is no API: neither an answer nor a list fills the memory.
#[test]
fn what_an_api_says_has_an_end() {
    let stage = Stage::new(Workspace::example().prebuilt());
    let server = Https::start(&tls(&stage.secrets), |request| {
        let mut body = match request.path.ends_with("/nodes") {
            true => br#"{"metadata": {"continue": "more"}, "items": []}"#.to_vec(),
            false => b"{}".to_vec(),
        };
        body.resize(if request.path.ends_with("/nodes") { 60 << 20 } else { 65 << 20 }, b' ');
        Some(Answer { status: 200, media_type: "application/json", body })
    });
    let at = format!("127.0.0.1:{}", server.port).parse().unwrap();
    let client = Client::new(&stage.kubeconfig("admin", &[]), &at, &GO_ON).unwrap();
    let error = client.get(Gvr::new("", "v1", "configmaps"), Some("default"), "a").unwrap_err().to_string();
    assert!(error.contains("length limit exceeded"), "{error}");
    let error = client.list(Gvr::new("", "v1", "nodes"), None).unwrap_err().to_string();
    assert!(error.contains("a list of nodes has no end"), "{error}");
}
