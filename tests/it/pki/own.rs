//! Authorities that the user brings: used if they can do the work, refused with a reason if not.

use std::fs;

use tinderbox::internals::pki::Certificate;

use super::openssl;
use crate::harness::{Workspace, set_mode};

/// Makes an authority with openssl, self-signed, with these extensions. False, and a word about it, without openssl.
fn make(ws: &Workspace, name: &str, algorithm: &[&str], days: &str, extensions: &[&str]) -> bool {
    let (key, certificate) = (format!("{name}.key"), format!("{name}.crt"));
    let subject = format!("/C=CH/O=Example, Ltd./CN=My {name}");
    let mut args = vec![
        "req",
        "-x509",
        "-new",
        "-nodes",
        "-keyout",
        &key,
        "-out",
        &certificate,
        "-days",
        days,
        "-subj",
        &subject,
    ];
    args.extend(algorithm);
    extensions.iter().for_each(|extension| args.extend(["-addext", extension]));
    let Some((made, text)) = openssl(&ws.dir, &args) else { return false };
    assert!(made, "{text}");
    set_mode(&ws.dir.join(&key), 0o600);
    // Ours begin when theirs do, not earlier.
    assert!(ws.output(&["lock", "--update", "epoch"]).status.success());
    true
}

fn bring(ws: &Workspace, authorities: &str) {
    let text = fs::read_to_string(ws.dir.join("cluster.yaml")).unwrap();
    ws.write("cluster.yaml", &format!("{text}pki: {{authorities: {{{authorities}}}}}\n"));
}

const RSA: [&str; 2] = ["-newkey", "rsa:2048"];
const SIGNS: &str = "keyUsage=critical,keyCertSign,cRLSign";

/// A root of the user's signs our authorities; its name stays as it was written, byte by byte.
#[test]
fn a_root_of_ones_own_signs_the_rest() {
    let ws = Workspace::example().prebuilt();
    if !make(&ws, "corporate", &RSA, "1000", &[SIGNS]) {
        return;
    }
    bring(&ws, "root-ca: {certificate: corporate.crt, key: corporate.key}");
    ws.build(&[]);
    assert_eq!(ws.json(&["graph", "--trust"])["failing"], 0);
    let pki = ws.dir.join("result/pki");
    let read = |name: &str| Certificate::from_pem(&fs::read_to_string(pki.join(name)).unwrap()).unwrap();
    let root = read("root-ca.crt");
    assert_eq!(root.to_pem(), read_back(&ws, "corporate.crt"));
    assert!(read("kubernetes-ca.crt").is_issued_by(&root));
    assert_eq!(read("kubernetes-ca.crt").not_after(), root.not_after(), "ours ends with it");
    let args =
        ["verify", "-purpose", "sslserver", "-CAfile", "kubernetes-ca-bundle.crt", "kube-apiserver.crt"];
    let (accepted, text) = openssl(&pki, &args).unwrap();
    assert!(accepted, "{text}");
    // The key is the user's, written in our form.
    let public = |dir, file| openssl(dir, &["pkey", "-in", file, "-pubout"]).unwrap().1;
    assert_eq!(public(&pki, "root-ca.key"), public(&ws.dir, "corporate.key"));
    // Bringing it changed nobody else's key.
    let other = Workspace::example().prebuilt();
    other.build(&["key/admin"]);
    let key = |ws: &Workspace| fs::read(ws.path_of("key/admin").join("admin.key")).unwrap();
    assert_eq!(key(&ws), key(&other));
}

fn read_back(ws: &Workspace, name: &str) -> String {
    Certificate::from_pem(&fs::read_to_string(ws.dir.join(name)).unwrap()).unwrap().to_pem()
}

/// An authority in the middle, signed by somebody else's root, brings its chain along.
#[test]
fn an_intermediate_brings_its_chain() {
    let ws = Workspace::example().prebuilt();
    if !make(&ws, "corporate", &RSA, "7300", &[SIGNS]) {
        return;
    }
    let run = |args: &[&str]| {
        let (done, text) = openssl(&ws.dir, args).unwrap();
        assert!(done, "{text}");
    };
    run(&[
        "req", "-new", "-nodes", "-newkey", "rsa:2048", "-keyout", "kube.key", "-out", "kube.csr", "-subj",
        "/CN=kube",
    ]);
    ws.write("kube.ext", "basicConstraints=critical,CA:TRUE,pathlen:1\nkeyUsage=critical,keyCertSign\nsubjectKeyIdentifier=hash\n");
    run(&[
        "x509",
        "-req",
        "-in",
        "kube.csr",
        "-CA",
        "corporate.crt",
        "-CAkey",
        "corporate.key",
        "-CAcreateserial",
        "-days",
        "7000",
        "-extfile",
        "kube.ext",
        "-out",
        "kube.crt",
    ]);
    set_mode(&ws.dir.join("kube.key"), 0o600);
    let chain = read_back(&ws, "kube.crt") + &read_back(&ws, "corporate.crt");
    ws.write("chain.crt", &chain);
    assert!(ws.output(&["lock", "--update", "epoch"]).status.success());
    bring(&ws, "kubernetes-ca: {certificate: chain.crt, key: kube.key}");
    ws.build(&[]);
    assert_eq!(ws.json(&["graph", "--trust"])["failing"], 0);
    let pki = ws.dir.join("result/pki");
    assert_eq!(fs::read_to_string(pki.join("kubernetes-ca-bundle.crt")).unwrap(), chain);
    let args = ["verify", "-purpose", "sslclient", "-CAfile", "kubernetes-ca-bundle.crt", "admin.crt"];
    let (accepted, text) = openssl(&pki, &args).unwrap();
    assert!(accepted, "{text}");
    let bundle = fs::read_to_string(pki.join("kubelet-client-ca-bundle.crt")).unwrap();
    let names: Vec<String> = Certificate::chain_from_pem(&bundle)
        .unwrap()
        .iter()
        .map(|one| one.common_name().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["kube", "kubelet-ca", "My corporate"]);
}

/// What cannot do the work is refused before anything is signed with it.
#[test]
fn what_cannot_sign_is_refused() {
    let ws = Workspace::example();
    if !make(&ws, "good", &RSA, "7300", &[SIGNS]) {
        return;
    }
    make(&ws, "other", &RSA, "7300", &[SIGNS]);
    make(&ws, "leaf", &RSA, "7300", &["basicConstraints=critical,CA:FALSE"]);
    make(&ws, "short", &RSA, "7300", &["basicConstraints=critical,CA:TRUE,pathlen:0", SIGNS]);
    make(&ws, "mute", &RSA, "7300", &["keyUsage=critical,digitalSignature"]);
    make(&ws, "brief", &RSA, "30", &[SIGNS]);
    make(&ws, "odd", &["-newkey", "ed25519"], "7300", &[SIGNS]);
    let plain = fs::read_to_string(ws.dir.join("cluster.yaml")).unwrap();
    let mut said = String::new();
    for (certificate, key) in [
        ("good.crt", "other.key"),
        ("leaf.crt", "leaf.key"),
        ("short.crt", "short.key"),
        ("mute.crt", "mute.key"),
        ("brief.crt", "brief.key"),
        ("odd.crt", "odd.key"),
        ("good.key", "good.key"),
        ("nothing.crt", "good.key"),
    ] {
        ws.write("cluster.yaml", &plain);
        bring(&ws, &format!("root-ca: {{certificate: {certificate}, key: {key}}}"));
        let text = ws.run(&["build", "pki/root-ca"]);
        let shown = text
            .lines()
            .filter(|line| ["error", "caused by", "hint"].iter().any(|word| line.starts_with(word)));
        said.push_str(&format!("{certificate} {key}\n"));
        shown.for_each(|line| said.push_str(&format!("  {line}\n")));
        assert!(!text.contains("BEGIN"), "{text}");
    }
    insta::assert_snapshot!(said, @r#"
    good.crt other.key
      error: `pki/root-ca` cannot be built (built-in recipes/24-pki/root-ca.toml)
      caused by: your certificate of `root-ca` does not belong to your key of that name
      hint: use two files that belong together
    leaf.crt leaf.key
      error: `pki/root-ca` cannot be built (built-in recipes/24-pki/root-ca.toml)
      caused by: your certificate of `root-ca` is not an authority: basicConstraints has no CA:TRUE
      hint: have it issued as an authority
    short.crt short.key
      error: `pki/root-ca` cannot be built (built-in recipes/24-pki/root-ca.toml)
      caused by: your certificate of `root-ca` has a path length of 0, but needs 2
      hint: have it issued with a longer path length, or without one
    mute.crt mute.key
      error: `pki/root-ca` cannot be built (built-in recipes/24-pki/root-ca.toml)
      caused by: your certificate of `root-ca` may not sign: keyUsage has no keyCertSign
      hint: have it issued with keyCertSign and cRLSign
    brief.crt brief.key
      error: `pki/root-ca` cannot be built (built-in recipes/24-pki/root-ca.toml)
      caused by: your certificate of `root-ca` expires [TIME], before the certificates that it signs ([TIME]): `C=CH, O=Example\, Ltd., CN=My brief`
      hint: use one that lasts longer, or shorten `pki.validity.leaves` in cluster.yaml
    odd.crt odd.key
      error: `key/root-ca` cannot be built (built-in recipes/22-key/authorities.toml)
      caused by: your key of `root-ca`
      caused by: `ed25519` keys are not supported
      hint: use RSA of 2048, 3072 or 4096 bits, or ECDSA on the curves P-256 or P-384
    good.key good.key
      error: 1 problem:
    nothing.crt good.key
      error: cannot read `[DIR]/nothing.crt`
      caused by: No such file or directory (os error 2)
    "#);
    let scan = ws.run(&["store", "scan"]);
    assert!(scan.ends_with("[exit 0]\n"), "{scan}");
}

/// A name that nothing asks for would be ignored without a word.
#[test]
fn a_misspelt_authority_is_named() {
    let ws = Workspace::example();
    if !make(&ws, "good", &RSA, "7300", &[SIGNS]) {
        return;
    }
    bring(&ws, "rot-ca: {certificate: good.crt, key: good.key}");
    insta::assert_snapshot!(ws.run(&["build", "pki"]), @"
    [stderr]
    error: 1 problem:
    cluster.yaml: pki.authorities.rot-ca: there is no authority `rot-ca`
      hint: did you mean `root-ca`?
    [exit 1]
    ");
    // Others can read the key: a warning, since it is the user's file.
    set_mode(&ws.dir.join("good.key"), 0o644);
    ws.edit("cluster.yaml", "rot-ca", "root-ca");
    assert!(ws.run(&["build", "key/root-ca"]).contains("can be read by others"));
}
