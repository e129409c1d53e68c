//! Verifies certificate signatures with `ring`.

use der::asn1::ObjectIdentifier;
use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA384_ASN1, ECDSA_P384_SHA256_ASN1, ECDSA_P384_SHA384_ASN1, ED25519,
    RSA_PKCS1_1024_8192_SHA1_FOR_LEGACY_USE_ONLY, RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, UnparsedPublicKey, VerificationAlgorithm,
};

/// The name of a signature algorithm, or its object identifier if we have no name for it.
pub(super) fn name(algorithm: ObjectIdentifier) -> String {
    match algorithm.to_string().as_str() {
        "1.2.840.113549.1.1.5" => "rsa-sha1".into(),
        "1.2.840.113549.1.1.11" => "rsa-sha256".into(),
        "1.2.840.113549.1.1.12" => "rsa-sha384".into(),
        "1.2.840.113549.1.1.13" => "rsa-sha512".into(),
        "1.2.840.113549.1.1.10" => "rsa-pss".into(),
        "1.2.840.10045.4.3.2" => "ecdsa-sha256".into(),
        "1.2.840.10045.4.3.3" => "ecdsa-sha384".into(),
        "1.2.840.10045.4.3.4" => "ecdsa-sha512".into(),
        "1.3.101.112" => "ed25519".into(),
        other => other.into(),
    }
}

/// Whether a signature is valid. One that cannot be checked (RSA-PSS, P-521, MD5) is not.
///
/// SHA-1 and short RSA keys are accepted: this asks whether an authority signed, not whether it is strong enough.
pub(super) fn is_good(
    algorithm: ObjectIdentifier,
    key: &str,
    public: &[u8],
    message: &[u8],
    signature: &[u8],
) -> bool {
    let algorithm: &dyn VerificationAlgorithm = match (name(algorithm).as_str(), key) {
        ("rsa-sha1", _) => &RSA_PKCS1_1024_8192_SHA1_FOR_LEGACY_USE_ONLY,
        ("rsa-sha256", _) => &RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY,
        ("rsa-sha384", _) => &RSA_PKCS1_2048_8192_SHA384,
        ("rsa-sha512", _) => &RSA_PKCS1_2048_8192_SHA512,
        ("ecdsa-sha256", "ecdsa-p256") => &ECDSA_P256_SHA256_ASN1,
        ("ecdsa-sha384", "ecdsa-p256") => &ECDSA_P256_SHA384_ASN1,
        ("ecdsa-sha256", "ecdsa-p384") => &ECDSA_P384_SHA256_ASN1,
        ("ecdsa-sha384", "ecdsa-p384") => &ECDSA_P384_SHA384_ASN1,
        ("ed25519", _) => &ED25519,
        _ => return false,
    };
    UnparsedPublicKey::new(algorithm, public).verify(message, signature).is_ok()
}
