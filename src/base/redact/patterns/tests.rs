//! Keys, passwords and tokens are patterns; certificates, names and digests are not.

use super::super::der::examples::{certificate, ec, noise, rsa};
use super::*;

fn base64(bytes: &[u8]) -> String {
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

fn pem(label: &str, der: &[u8]) -> String {
    let body = base64(der);
    let lines: Vec<&str> =
        body.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

/// Patterns as text; binary ones as hex.
fn found(name: &str, content: &str) -> Vec<String> {
    let show = |pattern: &Secret| match pattern.reveal_text().filter(|text| is_text(text)) {
        Some(text) => text.to_owned(),
        None => hex(pattern.reveal()),
    };
    patterns(name, content.as_bytes()).iter().map(show).collect()
}

fn hex(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(bytes)
}

#[test]
fn a_key_is_a_pattern_and_a_certificate_is_not() {
    assert_eq!(found("tls.crt", &pem("CERTIFICATE", &certificate())), [""; 0]);
    assert_eq!(found("tls.pub", &pem("PUBLIC KEY", &certificate())), [""; 0]);
    let key = pem("RSA PRIVATE KEY", &rsa());
    let patterns = found("tls.key", &key);
    // Lines are patterns from the start of the private exponent: before it is the modulus, which the certificate has
    // too.
    let lines: Vec<&str> = key.lines().collect();
    assert!(patterns.iter().all(|pattern| pattern != lines[1] && pattern != lines[4]), "the modulus");
    assert!(lines[7..lines.len() - 2].iter().all(|line| patterns.iter().any(|pattern| pattern == line)));
    for number in ["d", "p", "q", "qi"] {
        assert!(
            patterns.contains(&hex(&noise(number, 128)[..32]))
                || patterns.contains(&hex(&noise(number, 256)[..32]))
        );
    }
    assert!(!patterns.contains(&hex(&noise("n", 256)[..32])));
}

#[test]
fn a_small_key_has_the_lines_with_its_scalar() {
    let key = pem("PRIVATE KEY", &ec());
    let patterns = found("tls.key", &key);
    assert!(patterns.contains(&hex(&noise("scalar", 32))));
    let lines: Vec<&str> = key.lines().collect();
    assert!(
        patterns.iter().any(|pattern| pattern == lines[1])
            && !patterns.iter().any(|pattern| pattern == lines[3])
    );
}

/// The same patterns come out however a key is wrapped.
#[test]
fn keys_inside_of_files_inside_of_files() {
    let bare = found("tls.key", &pem("PRIVATE KEY", &ec()));
    let kubeconfig = format!(
        "apiVersion: v1\nkind: Config\nclusters:\n- name: ocp4\n  cluster:\n    certificate-authority-data: {}\n    server: https://api.ocp4.example.com:6443\nusers:\n- name: admin\n  user:\n    client-certificate-data: {}\n    client-key-data: {}\n",
        base64(pem("CERTIFICATE", &certificate()).as_bytes()),
        base64(pem("CERTIFICATE", &certificate()).as_bytes()),
        base64(pem("PRIVATE KEY", &ec()).as_bytes()),
    );
    assert_eq!(found("kubeconfig", &kubeconfig), bare);
    let secret = format!(
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: kubeconfig\ndata:\n  kubeconfig: {}\n",
        base64(kubeconfig.as_bytes())
    );
    assert_eq!(found("secret.yaml", &secret), bare);
    let ignition = format!(
        r#"{{"storage":{{"files":[{{"path":"/etc/kubernetes/kubeconfig","contents":{{"source":"data:;base64,{}"}}}}]}}}}"#,
        base64(secret.as_bytes())
    );
    assert_eq!(found("bootstrap.ign", &ignition), bare);
    let escaped = secret
        .replace(':', "%3A")
        .replace('\n', "%0A")
        .replace('=', "%3D")
        .replace('/', "%2F")
        .replace('+', "%2B");
    assert_eq!(found("bootstrap.ign", &format!(r#"{{"source":"data:,{escaped}"}}"#)), bare);
    let json = format!(r#"{{"tls.key": {}}}"#, serde_json::to_string(&pem("PRIVATE KEY", &ec())).unwrap());
    assert_eq!(found("key.json", &json), bare);
    assert_eq!(found("key.txt", &base64(&ec())), bare);
}

#[test]
fn passwords_and_tokens() {
    assert_eq!(found("kubeadmin-password", "AbCdE-fGhIj-kLmNo-pQrSt\n"), ["AbCdE-fGhIj-kLmNo-pQrSt"]);
    assert_eq!(found("kubeadmin-password", "onlylowercaseletters"), ["onlylowercaseletters"]);
    assert_eq!(found("value", "q7x9k2m4p8w3"), ["q7x9k2m4p8w3"]);
    assert_eq!(found("users.yaml", "users:\n- name: admin\n  password: 'two words'\n"), ["two words"]);
    let hidden = base64(b"hunter2hunter2");
    assert_eq!(
        found("s.yaml", &format!("data: {{password: {hidden}}}\n")),
        [hidden.as_str(), "hunter2hunter2"]
    );
    assert_eq!(found("env", "DB_PASSWORD=hunter2hunter2\n"), ["hunter2hunter2"]);
    assert_eq!(found("c", "token: 07401b.f395accd246ae52d\n"), ["07401b.f395accd246ae52d"]);
    let bcrypt = "$2a$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy";
    let secret = format!("kind: Secret\ndata:\n  kubeadmin: {}\n", base64(bcrypt.as_bytes()));
    assert_eq!(found("secret.yaml", &secret), ["N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy"]);
}

/// The example's pull secret, and one with a longer password; as JSON, in YAML, in a Secret.
#[test]
fn pull_secrets() {
    let example = r#"{"auths":{"example.invalid":{"auth":"ZGVtbzpkZW1v"}}}"#;
    assert_eq!(found("", example), ["ZGVtbzpkZW1v"]);
    assert_eq!(found("install-config.yaml", &format!("pullSecret: '{example}'\n")), ["ZGVtbzpkZW1v"]);
    let secret = format!(
        "kind: Secret\ntype: kubernetes.io/dockerconfigjson\ndata:\n  .dockerconfigjson: {}\n",
        base64(example.as_bytes())
    );
    assert_eq!(found("pull-secret.yaml", &secret), ["ZGVtbzpkZW1v"]);
    let auth = base64(b"user:correct horse");
    let other = format!(r#"{{"auths":{{"quay.io":{{"auth":"{auth}","email":"somebody@example.com"}}}}}}"#);
    assert_eq!(found("", &other), [auth.as_str(), "correct horse"]);
    let quoted = serde_json::to_string(&other).unwrap();
    assert_eq!(found("x.json", &format!(r#"{{"pullSecret": {quoted}}}"#)), [auth.as_str(), "correct horse"]);
}

/// Public parts of secret files.
#[test]
fn names_digests_and_addresses_are_not_patterns() {
    let digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    let text = format!(
        "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata:\n  name: rendered-master-5d4f8c7b9a1e2f3d4c5b6a7988776655\n\
         clusterID: 123e4567-e89b-12d3-a456-426614174000\nsecretName: kube-apiserver-to-kubelet-client-ca\ntokenFile: /var/run/secrets/kubernetes.io/token\n\
         image: quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:{digest}\nsshKey: ssh-ed25519 {} core@example.com\n\
         passwordFile: /etc/kubernetes/password-of-somebody\nautomountServiceAccountToken: false\nobject: kh43smy63gjis6m733pn5kojan4hie4nk3qo5ixfpju3e5h2of2q\n\
         # ClusterVersionOperatorConfiguration, certificateSigningRequestApprover, openshift-machine-config-operator\n\
         time: 2026-11-16T00:00:00Z\nnamespace: {}\n",
        base64(&[&[0, 0, 0, 11][..], b"ssh-ed25519", &[0, 0, 0, 32], &noise("public", 32)].concat()),
        base64(b"openshift-machine-config-operator"),
    );
    assert_eq!(found("machine-config.yaml", &text), [""; 0]);
    assert_eq!(found("hostname", "master-0.ocp4.example.com\n"), [""; 0]);
    assert_eq!(found("id", "123e4567-e89b-12d3-a456-426614174000"), [""; 0]);
    assert_eq!(found("ca.der.txt", &base64(&certificate())), [""; 0]);
}

#[test]
fn binaries() {
    assert_eq!(patterns("key", &noise("key", 32))[0].reveal(), noise("key", 32));
    assert_eq!(patterns("key.der", &ec()).len(), 1);
    assert!(patterns("disk", &noise("disk", 100_000)).is_empty());
    assert!(patterns("zeros", &[255; 4096]).is_empty());
}

/// Gates, kinds and fields are words, however many capitals they have; passwords of 16 characters are not.
#[test]
fn names_in_camel_case_are_not_random() {
    for name in [
        "apiIntLoadBalancerIPs",
        "MatchRepoDigestOrExact",
        "CloudDualStackNodeIPs",
        "OpenShiftMachineV1Beta1Machine",
        "maxSizeOfBackupsGb",
        "ImageTagMirrorSetList",
        "VSphereStaticIPs",
    ] {
        assert!(is_camel_case(name) || !is_random_text(name), "{name}");
        assert_eq!(found("gates.yaml", &format!("gate: {name}\n")), [""; 0]);
    }
    for word in ["H4saB1cdEF2345gH", "AbCdE-fGhIj-kLmNo-pQrSt", "kJ8dkfUeL2mnPQrsT9vw"] {
        assert!(!is_camel_case(word), "{word}");
    }
}
