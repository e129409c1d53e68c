//! Signatures of releases in layouts: who decides, what is refused, what is recorded. `host` does it with cosign.

mod host;

use std::fs;

use serde_json::json;
use tinderbox::internals::demo;
use tinderbox::internals::pki::{Algorithm, PrivateKey};
use tinderbox::internals::registry::{Descriptor, Directory, ImageName, Sha256, Target};
use tinderbox::internals::secret::Seed;

use crate::harness::{Workspace, names};

fn key(name: &str) -> PrivateKey {
    PrivateKey::generate(&Seed::new([9; 32].into()), "test", name, 1, Algorithm::EcdsaP256)
}

/// A workspace on a layout with a demo release, unsigned, with the public keys `mine.pem` and `other.pem`.
fn on_layout(version: &str) -> Workspace {
    let ws = Workspace::example();
    demo::open(version).unwrap().copy_to(&Directory::create(&ws.dir.join("layout")).unwrap()).unwrap();
    ws.edit("cluster.yaml", "release: demo:4.18", &format!("release: oci:layout:{version}.0-demo"));
    ws.write("mine.pem", &key("mine").public_pem());
    ws.write("other.pem", &key("other").public_pem());
    ws
}

fn statement(digest: &Sha256, identity: &str) -> String {
    json!({
        "critical": {
            "identity": {"docker-reference": identity},
            "image": {"docker-manifest-digest": digest.to_string()},
            "type": "cosign container image signature",
        },
        "optional": null,
    })
    .to_string()
}

/// Puts signatures of these statements beside an image of the layout.
fn put(ws: &Workspace, digest: &Sha256, layers: &[(String, Vec<u8>)]) {
    let to = Directory::create(&ws.dir.join("layout")).unwrap();
    put_to(&to, &demo::open("4.18").unwrap().release().0, digest, layers);
}

/// Puts signatures of these statements beside an image, as cosign does.
fn put_to(to: &dyn Target, image: &ImageName, digest: &Sha256, layers: &[(String, Vec<u8>)]) {
    let blob = |media_type: &str, bytes: &[u8]| {
        let (digest, size) = (Sha256::of(bytes), bytes.len() as u64);
        to.put_blob(image, &Descriptor { media_type: media_type.into(), digest, size }, &mut &*bytes)
            .unwrap();
        json!({"mediaType": media_type, "digest": digest.to_string(), "size": size})
    };
    let config = blob("application/vnd.oci.image.config.v1+json", b"{}");
    let layers: Vec<_> = layers
        .iter()
        .map(|(statement, signature)| {
            let mut layer = blob("application/vnd.dev.cosign.simplesigning.v1+json", statement.as_bytes());
            let signature = data_encoding::BASE64.encode(signature);
            layer["annotations"] = json!({ "dev.cosignproject.cosign/signature": signature });
            layer
        })
        .collect();
    let manifest = json!({"schemaVersion": 2, "config": config, "layers": layers}).to_string();
    let media_type = "application/vnd.oci.image.manifest.v1+json".to_owned();
    let tag = format!("sha256-{}.sig", digest.hex());
    to.put_manifest(image, &media_type, manifest.as_bytes(), Some(&tag)).unwrap();
}

fn sign(ws: &Workspace, digest: &Sha256, signer: &str) {
    let text = statement(digest, "demo.invalid/openshift/release:1");
    let signature = key(signer).sign(text.as_bytes()).unwrap();
    put(ws, digest, &[(text, signature)]);
}

fn release(version: &str) -> Sha256 {
    demo::open(version).unwrap().release().1
}

/// What `lock` refuses leaves the lock as it was.
#[track_caller]
fn refused(ws: &Workspace, words: &[&str]) {
    let before = fs::read(ws.dir.join("cluster.lock")).unwrap();
    let said = ws.run(&["lock", "--update", "signatures"]);
    assert!(words.iter().all(|words| said.contains(words)) && said.contains("[exit 1]"), "{said}");
    assert_eq!(fs::read(ws.dir.join("cluster.lock")).unwrap(), before, "nothing was locked");
}

#[test]
fn keys_of_the_users_decide() {
    let ws = on_layout("4.18");
    let locked = ws.json(&["lock", "--update", "release"]);
    assert_eq!(names(&locked["signatures"]["unsigned"]), ["release"]);
    assert_eq!(
        names(&locked["not_verified"]),
        ["the release image is not signed: nothing proves who made it"]
    );
    ws.build(&["release/images"]);

    // Pinned after the release: nothing is built on it before it was verified.
    ws.edit("cluster.yaml", "\nrelease:", "\nreleaseKeys: [mine.pem]\nrelease:");
    let said = ws.run(&["build", "release/images"]);
    assert!(
        said.contains("not verified with the keys in `releaseKeys`")
            && said.contains("hint: `tinderbox lock`"),
        "{said}"
    );
    refused(&ws, &["is not signed (oci:layout has no signature of it)", "hint: nothing was locked; sign it"]);

    let digest = release("4.18");
    sign(&ws, &digest, "other");
    refused(&ws, &["its signature at oci:layout is wrong: it is by another key, or garbage"]);
    let text = statement(&Sha256::of(b"another image"), "demo.invalid/openshift/release:1");
    put(&ws, &digest, &[(text.clone(), key("mine").sign(text.as_bytes()).unwrap())]);
    refused(&ws, &["is wrong: it is for another image, `sha256:"]);
    put(&ws, &digest, &[("garbage".into(), key("mine").sign(b"garbage").unwrap())]);
    refused(&ws, &["is wrong: what was signed is not a statement"]);
    put(&ws, &digest, &[(statement(&digest, "a"), b"garbage".to_vec())]);
    refused(&ws, &["is wrong: it is by another key, or garbage"]);
    put(&ws, &digest, &[]);
    refused(&ws, &["is wrong: there is none in it"]);

    // One good signature among others is enough.
    let text = statement(&digest, "wherever.example.com/it/was");
    let signature = key("mine").sign(text.as_bytes()).unwrap();
    put(&ws, &digest, &[(text.clone(), b"garbage".to_vec()), (text, signature)]);
    let locked = ws.json(&["lock"]);
    let id = locked["signatures"]["keys"]["mine.pem"].as_str().unwrap();
    assert_eq!(names(&locked["signatures"]["release"]), [id]);
    assert_eq!(
        names(&locked["not_verified"]),
        [
            "components that only the release image vouches for, not signed: cluster-config-api, cluster-node-tuning-operator, cluster-version-operator, machine-config-operator"
        ]
    );
    ws.build(&["release/images"]);

    // A copy has it too, and needs no more.
    let copied = ws.json(&["release", "mirror", "oci:copy:mine"]);
    assert_eq!(copied["signatures"], 1);
    assert_eq!(names(&copied["unsigned"]), ["cluster-config-api", "machine-config-operator"]);
    fs::remove_dir_all(ws.dir.join("layout")).unwrap();
    ws.json(&["lock", "--update", "release=oci:copy:mine"]);

    // Other keys are asked again, and a private one is not taken.
    ws.edit("cluster.yaml", "[mine.pem]", "[other.pem]");
    assert!(ws.run(&["lock"]).contains("its signature at oci:copy is wrong"));
    ws.edit("cluster.yaml", "[other.pem]", "[]");
    let locked = ws.json(&["lock"]);
    assert_eq!(names(&locked["signatures"]["unknown"]), ["release"]);
    ws.write("mine.pem", "-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n");
    ws.edit("cluster.yaml", "releaseKeys: []", "releaseKeys: [other.pem, mine.pem]");
    let said = ws.run(&["lock"]);
    assert!(said.contains("cluster.yaml: releaseKeys.1: `mine.pem`: it contains no public key"), "{said}");
}

/// Without keys of the user's own, those of the table decide: here Red Hat's, which signed nothing of this.
#[test]
fn the_table_decides_where_the_user_does_not() {
    let ws = on_layout("4.18");
    ws.json(&["lock", "--update", "release"]);
    sign(&ws, &release("4.18"), "mine");
    refused(
        &ws,
        &[
            "its signature at oci:layout is wrong",
            "hint: nothing was locked; if somebody else signs your releases",
        ],
    );
    // The user's own table takes its place.
    let table = format!(
        "[[key]]\nname = \"lab\"\nrepositories = [\"demo.invalid/openshift/release\"]\nsource = \"us\"\npem = \"\"\"\n{}\"\"\"\n",
        key("mine").public_pem()
    );
    ws.write("recipes/knowledge/signing-keys.toml", &table);
    let said = ws.run(&["lock", "--update", "signatures"]);
    assert!(said.contains("release image signed by lab ("), "{said}");
    // What it signs is part of it.
    ws.write("recipes/knowledge/signing-keys.toml", &table.replace("openshift/release", "openshift/other"));
    refused(
        &ws,
        &["is wrong: it is for the same image under another name, `demo.invalid/openshift/release:1`"],
    );
    // A release of somebody else's is not judged.
    ws.write("recipes/knowledge/signing-keys.toml", &table.replace("name =", "flavor = \"okd\"\nname ="));
    let locked = ws.json(&["lock", "--update", "signatures"]);
    assert_eq!(names(&locked["signatures"]["unknown"]), ["release"]);
    assert!(locked["not_verified"][0].as_str().unwrap().contains("there is no key to verify it with"));
}

/// Where the release's policy covers components, they are looked at too; and so they are with keys of the user's.
#[test]
fn components_are_looked_at() {
    let ws = on_layout("4.22");
    ws.edit("cluster.yaml", "\nrelease:", "\nreleaseKeys: [mine.pem]\nrelease:");
    let demo = demo::open("4.22").unwrap();
    let images = demo.images();
    images.iter().skip(1).take(1).for_each(|(_, _, digest)| sign(&ws, digest, "mine"));
    sign(&ws, &release("4.22"), "mine");
    let seen = ws.json(&["lock", "--update", "release"])["signatures"].clone();
    assert_eq!(seen["images"], images.len(), "{seen}");
    assert_eq!(seen["components"].as_object().unwrap().values().next().unwrap(), 1);
    assert_eq!(seen["unsigned"].as_array().unwrap().len(), images.len() - 2);
    assert_eq!(seen["missing"], demo.components().len() - images.len() + 1);
    sign(&ws, &images[2].2, "other");
    let component = format!("demo.invalid/openshift/components@{}: its signature", images[2].2);
    refused(&ws, &[&component, "is by another key, or garbage"]);
}

/// The images in a list of the layout, by architecture.
fn instance(ws: &Workspace, list: &Sha256, architecture: &str) -> Sha256 {
    let text = fs::read_to_string(ws.dir.join("layout/blobs/sha256").join(list.hex())).unwrap();
    let list: serde_json::Value = serde_json::from_str(&text).unwrap();
    let all = list["manifests"].as_array().unwrap();
    let found = all.iter().find(|one| one["platform"]["architecture"] == architecture).unwrap();
    found["digest"].as_str().unwrap().parse().unwrap()
}

/// A signed list says who made the release; nodes judge the image that they pull, and so does what is recorded for them.
#[test]
fn a_signed_list_is_not_a_signed_image() {
    let ws = on_layout("4.22");
    demo::open("4.22-multi").unwrap().copy_to(&Directory::create(&ws.dir.join("layout")).unwrap()).unwrap();
    let list = release("4.22-multi");
    ws.edit("cluster.yaml", "oci:layout:4.22.0-demo", &format!("oci:layout@{list}"));
    ws.edit("cluster.yaml", "\nrelease:", "\nreleaseKeys: [mine.pem]\nrelease:");
    sign(&ws, &list, "mine");
    let locked = ws.json(&["lock", "--update", "release"]);
    let seen = &locked["signatures"];
    assert_eq!(names(&seen["only-lists"]), ["release"], "{locked}");
    assert_eq!(seen.get("release").map(names).unwrap_or_default(), Vec::<&str>::new(), "{locked}");
    assert!(names(&seen["unsigned"]).iter().any(|name| name == "release"), "{locked}");
    let doubt = names(&locked["not_verified"])[0].to_owned();
    assert!(doubt.starts_with("only the multi-architecture list is signed"), "{doubt}");
    let shown = ws.run(&["-q", "release", "info"]);
    assert!(
        shown.contains("signatures  release image signed as a list only") && shown.contains(&doubt),
        "{shown}"
    );
    let said = ws.run(&["build", "-q", "check/signatures"]);
    assert!(said.contains("has no signature of release") && said.contains("--recursive"), "{said}");

    // The image for another architecture does not help.
    sign(&ws, &instance(&ws, &list, "arm64"), "mine");
    assert_eq!(names(&ws.json(&["lock", "--update", "signatures"])["signatures"]["only-lists"]), ["release"]);
    sign(&ws, &instance(&ws, &list, "amd64"), "mine");
    let locked = ws.json(&["lock", "--update", "signatures"]);
    let id = locked["signatures"]["keys"]["mine.pem"].as_str().unwrap().to_owned();
    assert_eq!(names(&locked["signatures"]["release"]), [id.as_str()]);
    assert_eq!(names(&ws.json(&["release", "info"])["signatures"]["release"]), [id.as_str()]);
    // A good signature of the list does not cover a wrong one of the image.
    sign(&ws, &instance(&ws, &list, "amd64"), "other");
    refused(&ws, &["is wrong: it is by another key, or garbage"]);
}

/// Keys that somebody pins are honoured with a demo release too: it is not signed.
#[test]
fn a_demo_release_has_no_signature_to_verify() {
    let ws = Workspace::example();
    ws.write("mine.pem", &key("mine").public_pem());
    ws.edit("cluster.yaml", "\nrelease:", "\nreleaseKeys: [mine.pem]\nrelease:");
    insta::assert_snapshot!(ws.run(&["lock"]), @"
    [stderr]
    error: `demo:4.18` is part of tinderbox and not signed, and `releaseKeys` of cluster.yaml asks for a signature
    hint: nothing was locked; remove `releaseKeys` while you use a demo release, or choose a signed release
    [exit 1]
    ");
    refused(&ws, &["`demo:4.18` is part of tinderbox and not signed"]);
    let said = ws.run(&["build", "release/images"]);
    assert!(said.contains("not verified with the keys in `releaseKeys`"), "{said}");
    ws.edit("cluster.yaml", "[mine.pem]", "[]");
    ws.build(&["release/images"]);
    assert!(
        ws.run(&["-q", "release", "info"])
            .contains("signatures  none: the demo release is part of tinderbox")
    );
}
