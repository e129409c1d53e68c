//! The real cosign (Debian trixie's) signs and judges, in the real docker-registry: what it signs, `lock` verifies; what
//! `release mirror` copies, it verifies.

use std::process::{Command, Output};

use tinderbox::internals::demo::{self, Demo};
use tinderbox::internals::registry::{ImageName, Images as _, Platforms, Remote, Sha256, copy_image};

use super::{put_to, refused, statement};
use crate::harness::{Workspace, left_out, names};
use crate::registry::host::{Registry, have};

const VERSION: &str = "4.22";

/// A registry that mirrors the demo release, unsigned, and a cluster that knows nothing else.
struct Lab {
    ws: Workspace,
    registry: Registry,
    remote: Remote,
    demo: Demo,
}

impl Lab {
    /// None if a part is missing, which is said.
    fn new() -> Option<Self> {
        if !Command::new("cosign").arg("version").output().is_ok_and(|output| output.status.success()) {
            left_out("real signatures", "cosign; .ci/newer-parts brings Debian trixie's");
            return None;
        }
        let lab = Self::unsigned()?;
        for key in ["mine", "other"] {
            lab.cosign(&["generate-key-pair", "--output-key-prefix", key]);
        }
        Some(lab)
    }

    /// The same without cosign.
    fn unsigned() -> Option<Self> {
        let registry = Registry::start()?;
        let remote = Remote::new(registry.access()).unwrap();
        let demo = demo::open(VERSION).unwrap();
        let ws = Workspace::on_disk().filled();
        let lab = Self { ws, registry, remote, demo };
        for (component, name, digest) in lab.demo.images() {
            let to = lab.mirrored(&component).at(digest);
            copy_image(&lab.demo, &lab.remote, &name, &to, &digest, Platforms::All, &mut |_| {}).unwrap();
        }
        let auth = format!(r#"{{"auths":{{"{}":{{"auth":"bWU6aHVudGVyMg=="}}}}}}"#, lab.registry.address);
        lab.ws.edit("install-config.yaml", r#"{"auths":{"example.invalid":{"auth":"ZGVtbzpkZW1v"}}}"#, &auth);
        let ca: String = lab.registry.ca.lines().map(|line| format!("  {line}\n")).collect();
        let more = format!(
            "additionalTrustBundle: |\n{ca}imageDigestSources:\n- source: demo.invalid/openshift\n  mirrors: [{}/ocp]\n  \
             sourcePolicy: NeverContactSource\nbaseDomain:",
            lab.registry.address
        );
        lab.ws.edit("install-config.yaml", "baseDomain:", &more);
        let release = format!("release: demo.invalid/openshift/release@{}", lab.release());
        lab.ws.edit("cluster.yaml", "release: demo:4.18", &release);
        lab.ws.write("ca.crt", &lab.registry.ca);
        Some(lab)
    }

    fn release(&self) -> Sha256 {
        self.demo.release().1
    }

    /// An image's repository in the mirror.
    fn mirrored(&self, component: &str) -> ImageName {
        let repository = if component == "release" { "release" } else { "components" };
        format!("{}/ocp/{repository}:x", self.registry.address).parse().unwrap()
    }

    fn try_cosign(&self, args: &[&str]) -> Output {
        Command::new("cosign")
            .args(args)
            .current_dir(&self.ws.dir)
            .env("COSIGN_PASSWORD", "")
            .env("HOME", self.ws.temp())
            .output()
            .unwrap()
    }

    #[track_caller]
    fn cosign(&self, args: &[&str]) {
        let output = self.try_cosign(args);
        assert!(output.status.success(), "cosign {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    const ACCESS: [&str; 6] =
        ["--registry-cacert", "ca.crt", "--registry-username", "me", "--registry-password", "hunter2"];

    fn sign(&self, key: &str, image: &ImageName, more: &[&str]) {
        let image = image.to_string();
        let args = ["sign", "--key", key, "--tlog-upload=false", "--yes"];
        self.cosign(&[&args[..], &Self::ACCESS, more, &[&image]].concat());
    }

    /// Whether cosign takes an image for one that this key signed.
    fn judges(&self, key: &str, image: &ImageName) -> bool {
        let image = image.to_string();
        let args = ["verify", "--key", key, "--insecure-ignore-tlog"];
        self.try_cosign(&[&args[..], &Self::ACCESS, &[&image]].concat()).status.success()
    }

    /// Puts another image where the release image's signatures are.
    fn forge(&self, from: &ImageName, digest: &Sha256) {
        let tag = format!("sha256-{}.sig", self.release().hex());
        let to: ImageName = format!("{}/ocp/release:{tag}", self.registry.address).parse().unwrap();
        copy_image(&self.remote, &self.remote, from, &to, digest, Platforms::All, &mut |_| {}).unwrap();
    }
}

/// As Red Hat signs: RSA with 4096 bits, PKCS#1 v1.5, SHA-256, over the statement; here by openssl, which judges too.
#[test]
fn lock_and_openssl_agree_about_rsa() {
    if !have("openssl", "openssl") {
        return;
    }
    let Some(lab) = Lab::unsigned() else { return };
    let ws = &lab.ws;
    let openssl = |args: &[&str]| {
        let output = Command::new("openssl").args(args).current_dir(&ws.dir).output().unwrap();
        assert!(output.status.success(), "openssl {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    for key in ["mine", "other"] {
        openssl(&["genrsa", "-out", &format!("{key}.key"), "4096"]);
        openssl(&["rsa", "-in", &format!("{key}.key"), "-pubout", "-out", &format!("{key}.pub")]);
    }
    let signed = |key: &str, text: &str, options: &[&str]| {
        ws.write("statement", text);
        openssl(&[&["dgst", "-sha256", "-sign", key, "-out", "signature"], options, &["statement"]].concat());
        std::fs::read(ws.dir.join("signature")).unwrap()
    };
    let put = |text: &str, signature: Vec<u8>| {
        put_to(&lab.remote, &lab.mirrored("release"), &lab.release(), &[(text.to_owned(), signature)]);
    };
    let text = statement(&lab.release(), "quay.io/openshift-release-dev/ocp-release:4.22.0-x86_64");
    let place = format!("{}/ocp/release", lab.registry.address);
    ws.relock();
    ws.edit("cluster.yaml", "\nrelease:", "\nreleaseKeys: [mine.pub]\nrelease:");
    refused(ws, &["is not signed", &place]);

    put(&text, signed("other.key", &text, &[]));
    refused(ws, &["its signature at", &place, "it is by another key, or garbage"]);
    let other =
        statement(&Sha256::of(b"another image"), "quay.io/openshift-release-dev/ocp-release:4.22.0-x86_64");
    put(&other, signed("mine.key", &other, &[]));
    refused(ws, &["is wrong: it is for another image, `sha256:"]);
    put(&text, b"garbage".to_vec());
    refused(ws, &["it is by another key, or garbage"]);
    // The same key, the same statement, another padding: nodes refuse it.
    let padding = ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:-1"];
    put(&text, signed("mine.key", &text, &padding));
    refused(ws, &["it is by another key, or garbage"]);

    let signature = signed("mine.key", &text, &[]);
    assert_eq!(signature.len(), 512);
    openssl(&["dgst", "-sha256", "-verify", "mine.pub", "-signature", "signature", "statement"]);
    put(&text, signature);
    let locked = ws.json(&["lock"]);
    let id = locked["signatures"]["keys"]["mine.pub"].as_str().unwrap().to_owned();
    assert_eq!(names(&locked["signatures"]["release"]), [id.as_str()], "{locked}");
    // The mirror has it after a copy, byte for byte.
    let copied = ws.json(&["release", "mirror", &format!("{}/copy", lab.registry.address)]);
    assert_eq!(copied["signatures"], 1, "{copied}");
    let shown = ws.run(&["-q", "release", "info"]);
    assert!(
        shown.contains(&format!("signatures  release image signed by mine.pub ({})", &id[..12])),
        "{shown}"
    );
}

#[test]
fn cosign_and_lock_agree() {
    let Some(lab) = Lab::new() else { return };
    let ws = &lab.ws;
    let release = lab.mirrored("release").at(lab.release());

    // A mirror with images and without signatures: said by `lock`, and refused by the check.
    let locked = ws.json(&["lock", "--update", "release"]);
    let images = lab.demo.images();
    assert_eq!(locked["signatures"]["unsigned"].as_array().unwrap().len(), images.len(), "{locked}");
    let place = format!("{}/ocp/release", lab.registry.address);
    assert_eq!(names(&locked["signatures"]["places"])[0], place);
    assert_eq!(locked["not_verified"][0], "the release image is not signed: nothing proves who made it");
    let said = ws.run(&["build", "-q", "check/signatures"]);
    assert!(said.contains("has no signature of release, ") && said.contains("[image-signatures]"), "{said}");
    // Test releases go without.
    ws.edit("cluster.yaml", "\nrelease:", "\nreleaseImagePolicy: false\nrelease:");
    ws.build(&["check/signatures"]);
    ws.edit("cluster.yaml", "releaseImagePolicy: false\n", "");

    // Who pins keys wants signatures.
    ws.edit("cluster.yaml", "\nrelease:", "\nreleaseKeys: [mine.pub]\nrelease:");
    refused(ws, &["is not signed", &place]);
    for (component, _, digest) in &images {
        lab.sign("mine.key", &lab.mirrored(component).at(*digest), &[]);
    }
    let locked = ws.json(&["lock"]);
    let id = locked["signatures"]["keys"]["mine.pub"].as_str().unwrap().to_owned();
    assert_eq!(names(&locked["signatures"]["release"]), [id.as_str()]);
    assert_eq!(locked["signatures"]["components"][&id], images.len() - 1, "{locked}");
    assert!(locked.get("not_verified").is_none(), "{locked}");
    ws.build(&["check/signatures"]);

    // A copy has what cosign asks for, however often it is made.
    for _ in 0..2 {
        let copied = ws.json(&["release", "mirror", &format!("{}/copy", lab.registry.address)]);
        assert_eq!(copied["signatures"], copied["images"].as_array().unwrap().len(), "{copied}");
        assert_eq!((names(&copied["unsigned"]), names(&copied["kept"])), (vec![], vec![]), "{copied}");
    }
    let copy: ImageName = format!("{}/copy:x", lab.registry.address).parse().unwrap();
    for (component, _, digest) in
        images.iter().filter(|(name, ..)| ["release", "machine-config-operator"].contains(&name.as_str()))
    {
        assert!(lab.judges("mine.pub", &copy.at(*digest)), "{component}");
        assert!(!lab.judges("other.pub", &copy.at(*digest)), "{component}");
    }

    // Another key, which then signs too.
    ws.edit("cluster.yaml", "[mine.pub]", "[other.pub]");
    assert!(!lab.judges("other.pub", &release));
    refused(ws, &["its signature at", &place, "it is by another key, or garbage"]);
    lab.sign("other.key", &release, &[]);
    ws.edit("cluster.yaml", "[other.pub]", "[mine.pub]");
    let locked = ws.json(&["lock", "--update", "signatures"]);
    assert_eq!(locked["signatures"]["release"].as_array().unwrap().len(), 1, "{locked}");
    assert!(lab.judges("mine.pub", &release) && lab.judges("other.pub", &release));

    // A signature for another image, and an image that is no signature.
    let (component, _, digest) = &images[1];
    let mut other = lab.mirrored(component);
    other.reference = tinderbox::internals::registry::Reference::Tag(format!("sha256-{}.sig", digest.hex()));
    lab.forge(&other, &lab.remote.resolve(&other).unwrap());
    refused(ws, &["is wrong: it is for another image, `sha256:"]);
    assert!(!lab.judges("mine.pub", &release));
    lab.forge(&lab.mirrored(component), digest);
    refused(ws, &[&format!("release:sha256-{}.sig: it has ", lab.release().hex())]);
    assert!(!lab.judges("mine.pub", &release));
}
