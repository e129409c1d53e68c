use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::*;
use crate::base::pki::{Algorithm, PrivateKey};
use crate::base::secret::Seed;
use crate::engine::registry::{Directory, Layout};

fn key(name: &str, algorithm: Algorithm) -> (PrivateKey, PublicKey) {
    let private =
        PrivateKey::generate(&Seed::new(zeroize::Zeroizing::new([7; 32])), "test", name, 1, algorithm);
    let public = PublicKey::all_from_pem(&private.public_pem()).unwrap().remove(0);
    (private, public)
}

fn name(text: &str) -> ImageName {
    text.parse().unwrap()
}

fn statement(digest: &Sha256, identity: &str) -> String {
    format!(
        r#"{{"critical":{{"identity":{{"docker-reference":"{identity}"}},"image":{{"docker-manifest-digest":"{digest}"}},"type":"{KIND}"}},"optional":null}}"#
    )
}

/// A layer of a signature image: statement and signature.
fn layer(statement: &str, signature: &[u8]) -> (String, String) {
    (statement.to_owned(), STANDARD.encode(signature))
}

/// Stores signatures beside an image, as cosign does.
fn put(to: &Directory, digest: &Sha256, layers: &[(String, String)]) {
    let image = name("quay.io/a/b:1");
    let blob = |media_type: &str, text: &str| {
        let bytes = text.as_bytes();
        let blob = Descriptor {
            media_type: media_type.to_owned(),
            digest: Sha256::of(bytes),
            size: bytes.len() as u64,
        };
        to.put_blob(&image, &blob, &mut &*bytes).unwrap();
        serde_json::json!({"mediaType": blob.media_type, "digest": blob.digest.to_string(), "size": blob.size})
    };
    let config = blob("application/vnd.oci.image.config.v1+json", "{}");
    let layers: Vec<_> = layers
        .iter()
        .map(|(statement, signature)| {
            let mut layer = blob(STATEMENT, statement);
            layer["annotations"] = serde_json::json!({ ANNOTATION: signature });
            layer
        })
        .collect();
    let manifest = serde_json::json!({"schemaVersion": 2, "config": config, "layers": layers}).to_string();
    let Reference::Tag(tag) = signature_name(&image, digest).reference else { unreachable!() };
    to.put_manifest(&image, &media(), manifest.as_bytes(), Some(&tag)).unwrap();
}

fn media() -> String {
    "application/vnd.oci.image.manifest.v1+json".to_owned()
}

fn found(layout: &Layout, digest: &Sha256) -> Result<Option<Vec<Signature>>> {
    let found = signatures(layout, &name("quay.io/a/b:1"), digest)?;
    found.map(|image| image.read(layout)).transpose()
}

#[test]
fn a_signature_counts_for_its_key_and_its_digest() {
    let (digest, other) = (Sha256::of(b"image"), Sha256::of(b"another"));
    for algorithm in [Algorithm::EcdsaP256, Algorithm::Rsa2048] {
        let dir = tempfile::tempdir().unwrap();
        let to = Directory::create(dir.path()).unwrap();
        let ((private, public), (_, stranger)) = (key("signer", algorithm), key("stranger", algorithm));
        let sign = |text: &str| layer(text, &private.sign(text.as_bytes()).unwrap());
        let good = statement(&digest, "quay.io/a/b:1");
        let untyped = good.replace(KIND, "attestation");
        let extra = good.replace("\"type\"", "\"more\":1,\"type\"");
        put(
            &to,
            &digest,
            &[
                sign(&good),
                sign(&statement(&other, "quay.io/a/b:1")),
                sign(&untyped),
                sign(&extra),
                sign("garbage"),
                layer(&good, b"garbage"),
                (good.clone(), "*".to_owned()),
            ],
        );
        let found = found(&to.images().unwrap(), &digest).unwrap().unwrap();
        let verdicts: Vec<_> = found.iter().map(|one| one.verify(&public, &digest)).collect();
        let is_no_statement = |verdict: &std::result::Result<String, Flaw>, words: &str| matches!(verdict, Err(Flaw::NotAStatement(problem)) if problem.contains(words));
        assert_eq!(verdicts[0], Ok("quay.io/a/b:1".to_owned()));
        assert_eq!(verdicts[1], Err(Flaw::OtherDigest(other.to_string())));
        assert!(is_no_statement(&verdicts[2], "attestation"), "{:?}", verdicts[2]);
        assert!(is_no_statement(&verdicts[3], "more"), "{:?}", verdicts[3]);
        assert!(is_no_statement(&verdicts[4], "expected value"), "{:?}", verdicts[4]);
        assert_eq!(verdicts[5..], [Err(Flaw::OtherKey), Err(Flaw::NotBase64)]);
        assert!(found[..6].iter().all(|one| one.verify(&stranger, &digest) == Err(Flaw::OtherKey)));
    }
}

#[test]
fn hostile_signatures_are_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let to = Directory::create(dir.path()).unwrap();
    let layout = to.images().unwrap();
    let digest = Sha256::of(b"image");
    assert_eq!(found(&layout, &digest).unwrap(), None);
    let problem = || found(&layout, &digest).unwrap_err().to_string();
    put(&to, &digest, &vec![layer("{}", b""); LAYERS + 1]);
    assert!(problem().contains("it has 65 signatures; more than 64 are not read"), "{}", problem());
    put(&to, &digest, &[layer(&" ".repeat(LAYER_LIMIT as usize + 1), b"")]);
    assert!(problem().contains("it has a signature of 131073 bytes"), "{}", problem());
    let image = name("quay.io/a/b:1");
    let tag = format!("sha256-{}.sig", digest.hex());
    for manifest in ["garbage", "{\"schemaVersion\":2,\"manifests\":[]}"] {
        to.put_manifest(&image, &media(), manifest.as_bytes(), Some(&tag)).unwrap();
        assert!(problem().contains("it has no signatures: its manifest is not an image's"), "{}", problem());
    }
}

#[test]
fn a_copy_keeps_signatures_that_only_the_target_has() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (from, to) = (Directory::create(from.path()).unwrap(), Directory::create(to.path()).unwrap());
    let digest = Sha256::of(b"image");
    let image = name("quay.io/a/b:1");
    let copy = || {
        let (images, there) = (from.images().unwrap(), to.images().unwrap());
        copy_signatures(&images, &to, &there, &image, &image, &digest).unwrap()
    };
    let count = || found(&to.images().unwrap(), &digest).unwrap().map(|all| all.len());
    assert_eq!((copy(), count()), (CopiedSignatures::Unsigned, None));
    let (one, other) = (layer("{}", b"one"), layer("{}", b"other"));
    put(&from, &digest, std::slice::from_ref(&one));
    assert_eq!((copy(), count()), (CopiedSignatures::There, Some(1)));
    put(&from, &digest, &[one.clone(), other.clone()]);
    assert_eq!((copy(), count()), (CopiedSignatures::There, Some(2)));
    put(&from, &digest, std::slice::from_ref(&other));
    assert_eq!((copy(), count()), (CopiedSignatures::There, Some(2)), "more than the source has");
    put(&to, &digest, &[one]);
    assert_eq!((copy(), count()), (CopiedSignatures::Kept, Some(1)));
}
