//! What keys follow from: the same files and seed give the same bytes, and each of seed, domain and generation others.

use std::collections::{BTreeMap, BTreeSet};

use crate::harness::{Workspace, tree};

type Files = BTreeMap<String, (u32, Vec<u8>)>;

fn result(ws: &Workspace) -> Files {
    ws.build(&[]);
    tree(&ws.path_of("cluster"))
}

fn keys(files: &Files) -> BTreeMap<&str, &[u8]> {
    let keys = files.iter().filter(|(path, _)| path.ends_with(".key"));
    keys.map(|(path, (_, bytes))| (path.as_str(), bytes.as_slice())).collect()
}

/// Two directories, two stores. What is prebuilt was built in a third one.
#[test]
fn two_machines_make_the_same_files() {
    let (one, other) = (Workspace::example(), Workspace::example().prebuilt());
    let files = result(&one);
    assert!(files == result(&other), "every byte, private keys included");
    assert_eq!(keys(&files).len(), 26);
    let distinct: BTreeSet<&[u8]> = keys(&files).into_values().collect();
    assert_eq!(distinct.len(), 26, "no key twice");
}

#[test]
fn another_seed_or_domain_is_another_set_of_keys() {
    let example = Workspace::example().prebuilt();
    let before = result(&example);
    let seeded = Workspace::example();
    seeded.write_seed(&[8; 32]);
    let named = Workspace::example();
    named.edit("install-config.yaml", "name: ocp4", "name: ocp5");
    for other in [seeded, named] {
        let after = result(&other);
        let (before, after) = (keys(&before), keys(&after));
        assert_eq!(before.len(), after.len());
        for (path, bytes) in before {
            assert!(after[path] != bytes, "{path}");
        }
        assert_ne!(
            std::fs::read(example.dir.join("result/auth/kubeadmin-password")).unwrap(),
            std::fs::read(other.dir.join("result/auth/kubeadmin-password")).unwrap()
        );
    }
}

/// The whole of issue four in one sentence: an address re-issues what carries it.
#[test]
fn a_masters_address_reissues_what_carries_it() {
    let ws = Workspace::example().prebuilt();
    ws.build(&[]);
    let pki = |built: &[String]| -> Vec<String> {
        built
            .iter()
            .filter(|name| ["pki/", "key/", "kubeconfig/"].iter().any(|folder| name.starts_with(folder)))
            .cloned()
            .collect()
    };
    ws.edit("cluster.yaml", "192.168.126.102", "192.168.126.152");
    assert_eq!(pki(&ws.build(&[])), ["pki/etcd-peer-master-1", "pki/etcd-server", "pki/kube-apiserver"]);
    ws.edit("cluster.yaml", "192.168.126.110", "192.168.126.120");
    let built = ws.build(&[]);
    assert_eq!(pki(&built), [""; 0]);
    assert!(built.contains(&"infra/network".to_owned()));
}

/// Algorithms by choice, each in the certificates themselves.
#[test]
fn algorithms_are_chosen() {
    let ws = Workspace::example();
    let text = std::fs::read_to_string(ws.dir.join("cluster.yaml")).unwrap();
    ws.write(
        "cluster.yaml",
        &format!("{text}pki: {{keyAlgorithm: ecdsa-p384, authorityKeyAlgorithm: ecdsa-p256}}\n"),
    );
    ws.build(&["pki", "key"]);
    let algorithm = |name: &str| {
        let text =
            std::fs::read_to_string(ws.path_of(&format!("pki/{name}")).join(format!("{name}.crt"))).unwrap();
        let certificate = tinderbox::internals::pki::Certificate::from_pem(&text).unwrap();
        (certificate.key_algorithm().to_owned(), certificate.signature_algorithm().to_owned())
    };
    let (key, signature) = algorithm("admin");
    assert_eq!(key, "ecdsa-p384");
    assert!(signature.to_lowercase().contains("sha256"), "{signature}");
    assert_eq!(algorithm("root-ca").0, "ecdsa-p256");
}
