//! Private keys: derived from the seed or read from a user's file, written as PEM, used to sign.

use std::fmt;

use der::asn1::ObjectIdentifier;
use der::{Decode as _, Encode as _};
use pkcs1::RsaPrivateKeyRef;
use pkcs8::PrivateKeyInfoRef;
use ring::signature::RsaKeyPair;
use sec1::EcPrivateKey;
use zeroize::Zeroizing;

use super::der::{self as write, OCTET_STRING, SEQUENCE, bit_string, element, explicit, integer};
use super::{PkiError, pem, rsa};
use crate::base::secret::{MASK, Seed};

/// Key type and size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Algorithm {
    /// ECDSA on P-256; signs with SHA-256.
    EcdsaP256,
    /// ECDSA on P-384; signs with SHA-384.
    EcdsaP384,
    /// RSA of 2048 bits; all RSA keys sign with PKCS#1 v1.5 and SHA-256.
    Rsa2048,
    Rsa3072,
    Rsa4096,
}

impl Algorithm {
    /// All algorithms, in the order in which users see them.
    pub const ALL: [Self; 5] =
        [Self::EcdsaP256, Self::EcdsaP384, Self::Rsa2048, Self::Rsa3072, Self::Rsa4096];

    pub fn read(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.as_str() == name)
    }

    /// The name used in cluster.yaml. Part of the definition of a key.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::EcdsaP256 => "ecdsa-p256",
            Self::EcdsaP384 => "ecdsa-p384",
            Self::Rsa2048 => "rsa-2048",
            Self::Rsa3072 => "rsa-3072",
            Self::Rsa4096 => "rsa-4096",
        }
    }

    /// OpenShift's operators only sign with RSA.
    pub fn is_rsa(self) -> bool {
        matches!(self, Self::Rsa2048 | Self::Rsa3072 | Self::Rsa4096)
    }

    /// The contents of an `AlgorithmIdentifier`.
    fn identifier(self) -> Zeroizing<Vec<u8>> {
        let curve = match self {
            Self::EcdsaP256 => CURVE_P256,
            Self::EcdsaP384 => CURVE_P384,
            _ => return element(SEQUENCE, &[&oid(RSA), write::NULL]),
        };
        element(SEQUENCE, &[&oid(EC), &oid(curve)])
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

pub(super) const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
pub(super) const EC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
pub(super) const CURVE_P256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");
pub(super) const CURVE_P384: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.34");
pub(super) const CURVE_P521: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.35");
pub(super) const ED25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");

fn oid(id: ObjectIdentifier) -> Zeroizing<Vec<u8>> {
    element(write::OID, &[id.as_bytes()])
}

/// The encoding of a private key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `PRIVATE KEY`: the same for every algorithm.
    Pkcs8,
    /// The algorithm's own: `RSA PRIVATE KEY` (PKCS#1) or `EC PRIVATE KEY` (SEC1), as used by older programs and the
    /// installer.
    Own,
}

/// A private key. It has no `Display`, its `Debug` prints the mask, and it is wiped when dropped.
#[derive(Clone)]
pub struct PrivateKey(Kind);

#[derive(Clone)]
enum Kind {
    P256(p256::ecdsa::SigningKey),
    P384(p384::ecdsa::SigningKey),
    Rsa(Rsa),
}

#[derive(Clone)]
struct Rsa {
    algorithm: Algorithm,
    /// PKCS#1, as generated or read.
    private: Zeroizing<Vec<u8>>,
    /// PKCS#1.
    public: Vec<u8>,
}

impl PrivateKey {
    /// The key of a name in a domain: always the same, and unlike every other. A new generation is a new key.
    pub fn generate(seed: &Seed, domain: &str, name: &str, generation: u64, algorithm: Algorithm) -> Self {
        let name = [domain, name, &generation.to_string(), algorithm.as_str()];
        let mut stream = seed.stream("tinderbox 2026-11-16 private key v1", &name);
        // A scalar that is zero or too large is drawn again, so that all numbers are equally likely.
        let kind = match algorithm {
            Algorithm::EcdsaP256 => loop {
                if let Ok(key) = p256::ecdsa::SigningKey::from_slice(stream.take::<32>().as_slice()) {
                    break Kind::P256(key);
                }
            },
            Algorithm::EcdsaP384 => loop {
                if let Ok(key) = p384::ecdsa::SigningKey::from_slice(stream.take::<48>().as_slice()) {
                    break Kind::P384(key);
                }
            },
            Algorithm::Rsa2048 => Kind::Rsa(Rsa::new(algorithm, &rsa::generate(&mut stream, 2048))),
            Algorithm::Rsa3072 => Kind::Rsa(Rsa::new(algorithm, &rsa::generate(&mut stream, 3072))),
            Algorithm::Rsa4096 => Kind::Rsa(Rsa::new(algorithm, &rsa::generate(&mut stream, 4096))),
        };
        Self(kind)
    }

    /// Reads the only key of a PEM text: PKCS#8, PKCS#1 or SEC1, unencrypted.
    pub fn from_pem(text: &str) -> Result<Self, PkiError> {
        let blocks = pem::read(text)?;
        let keys: Vec<&pem::Block> =
            blocks.iter().filter(|block| block.label.ends_with("PRIVATE KEY")).collect();
        let block = match keys.as_slice() {
            [block] => block,
            [] => {
                let found = blocks.first().map(|block| block.label.clone());
                return Err(PkiError::Missing { what: "private key", found });
            }
            more => return Err(PkiError::Several { what: "private key", count: more.len() }),
        };
        match block.label.as_str() {
            "ENCRYPTED PRIVATE KEY" => Err(PkiError::Encrypted),
            _ if block.headers => Err(PkiError::Encrypted),
            "PRIVATE KEY" => from_pkcs8(&block.der),
            "RSA PRIVATE KEY" => from_pkcs1(&block.der),
            "EC PRIVATE KEY" => from_sec1(&block.der, None),
            other => Err(PkiError::Unsupported { kind: other.to_owned() }),
        }
    }

    /// The key in PEM form, byte for byte as Go and OpenSSL write it.
    pub fn to_pem(&self, form: Form) -> Zeroizing<String> {
        match (form, &self.0) {
            (Form::Pkcs8, _) => {
                let inner = element(OCTET_STRING, &[&self.own(false)]);
                let whole = element(SEQUENCE, &[&integer(&[]), &self.algorithm().identifier(), &inner]);
                pem::write("PRIVATE KEY", &whole)
            }
            (Form::Own, Kind::Rsa(_)) => pem::write("RSA PRIVATE KEY", &self.own(true)),
            (Form::Own, _) => pem::write("EC PRIVATE KEY", &self.own(true)),
        }
    }

    /// PKCS#1 or SEC1; the latter names its curve if `named`.
    fn own(&self, named: bool) -> Zeroizing<Vec<u8>> {
        let (scalar, curve) = match &self.0 {
            Kind::Rsa(key) => return key.private.clone(),
            Kind::P256(key) => (Zeroizing::new(key.to_bytes().to_vec()), CURVE_P256),
            Kind::P384(key) => (Zeroizing::new(key.to_bytes().to_vec()), CURVE_P384),
        };
        let scalar = element(OCTET_STRING, &[&scalar]);
        let curve = element(explicit(0), &[&oid(curve)]);
        let public = element(explicit(1), &[&bit_string(&self.public_bits())]);
        let curve: &[u8] = if named { &curve } else { &[] };
        element(SEQUENCE, &[&integer(&[1]), &scalar, curve, &public])
    }

    /// The public key as PEM: `PUBLIC KEY`.
    pub fn public_pem(&self) -> String {
        let whole = element(SEQUENCE, &[&self.algorithm().identifier(), &bit_string(&self.public_bits())]);
        pem::write("PUBLIC KEY", &whole).to_string()
    }

    pub fn algorithm(&self) -> Algorithm {
        match &self.0 {
            Kind::P256(_) => Algorithm::EcdsaP256,
            Kind::P384(_) => Algorithm::EcdsaP384,
            Kind::Rsa(key) => key.algorithm,
        }
    }

    /// The bit string of the public key: a PKCS#1 structure or an uncompressed point.
    pub(super) fn public_bits(&self) -> Vec<u8> {
        match &self.0 {
            Kind::P256(key) => key.verifying_key().to_sec1_bytes().into(),
            Kind::P384(key) => key.verifying_key().to_sec1_bytes().into(),
            Kind::Rsa(key) => key.public.clone(),
        }
    }

    /// Signs a message with the hash that goes with the algorithm. Deterministic: RSA's padding is not random, and
    /// ECDSA's nonce is derived from the key and the message (RFC 6979).
    pub fn sign(&self, message: &[u8]) -> Result<Vec<u8>, String> {
        use p256::ecdsa::signature::Signer as _;
        match &self.0 {
            Kind::P256(key) => {
                let signature: p256::ecdsa::DerSignature = key.sign(message);
                Ok(signature.as_bytes().to_vec())
            }
            Kind::P384(key) => {
                let signature: p384::ecdsa::DerSignature = key.sign(message);
                Ok(signature.as_bytes().to_vec())
            }
            Kind::Rsa(key) => {
                let pair = RsaKeyPair::from_der(&key.private).map_err(|error| error.to_string())?;
                let mut signature = vec![0; pair.public().modulus_len()];
                // ring requires a source of randomness for paddings that need one; this padding does not.
                let random = ring::rand::SystemRandom::new();
                pair.sign(&ring::signature::RSA_PKCS1_SHA256, &random, message, &mut signature)
                    .map_err(|_| "the key cannot sign".to_owned())?;
                Ok(signature)
            }
        }
    }
}

impl Rsa {
    fn new(algorithm: Algorithm, numbers: &rsa::Numbers) -> Self {
        let rsa::Numbers { n, e, d, p, q, dp, dq, inverse } = numbers;
        let all = [&[][..], n, e, d, p, q, dp, dq, inverse].map(integer);
        let private = element(SEQUENCE, &all.each_ref().map(|number| number.as_slice()));
        let public = element(SEQUENCE, &[&integer(n), &integer(e)]).to_vec();
        Self { algorithm, private, public }
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrivateKey({}, {MASK})", self.algorithm())
    }
}

fn damaged(reason: impl fmt::Display) -> PkiError {
    PkiError::Damaged { what: "private key", reason: reason.to_string() }
}

fn unsupported(kind: impl fmt::Display) -> PkiError {
    PkiError::Unsupported { kind: kind.to_string() }
}

fn from_pkcs8(der: &[u8]) -> Result<PrivateKey, PkiError> {
    let info = PrivateKeyInfoRef::from_der(der).map_err(|_| damaged("it is not PKCS#8"))?;
    match info.algorithm.oid {
        RSA => from_pkcs1(info.private_key.as_bytes()),
        EC => {
            let curve = info.algorithm.parameters_oid().map_err(|_| unsupported("unnamed curve"))?;
            from_sec1(info.private_key.as_bytes(), Some(curve))
        }
        other => Err(unsupported(kind_of_key(other, None))),
    }
}

fn from_pkcs1(der: &[u8]) -> Result<PrivateKey, PkiError> {
    let key = RsaPrivateKeyRef::from_der(der).map_err(|_| damaged("it is not PKCS#1"))?;
    let kind = format!("rsa-{}", bits_of(key.modulus.as_bytes()));
    let algorithm = Algorithm::read(&kind).ok_or_else(|| unsupported(kind))?;
    RsaKeyPair::from_der(der).map_err(|error| damaged(format!("its numbers are inconsistent ({error})")))?;
    let public =
        element(SEQUENCE, &[&integer(key.modulus.as_bytes()), &integer(key.public_exponent.as_bytes())]);
    let private = Zeroizing::new(key.to_der().map_err(|_| damaged("it is not PKCS#1"))?);
    Ok(PrivateKey(Kind::Rsa(Rsa { algorithm, private, public: public.to_vec() })))
}

fn from_sec1(der: &[u8], outside: Option<ObjectIdentifier>) -> Result<PrivateKey, PkiError> {
    let key = EcPrivateKey::from_der(der).map_err(|_| damaged("it is not SEC1"))?;
    let inside = key.parameters.and_then(|parameters| parameters.named_curve());
    if outside.is_some() && inside.is_some() && outside != inside {
        return Err(damaged("it names two curves"));
    }
    let read = |_| damaged("its number is not on the curve");
    let found = match outside.or(inside) {
        Some(CURVE_P256) => Kind::P256(p256::ecdsa::SigningKey::from_slice(key.private_key).map_err(read)?),
        Some(CURVE_P384) => Kind::P384(p384::ecdsa::SigningKey::from_slice(key.private_key).map_err(read)?),
        Some(other) => return Err(unsupported(kind_of_key(EC, Some(other)))),
        None => return Err(unsupported("unnamed curve")),
    };
    let found = PrivateKey(found);
    if key.public_key.is_some_and(|public| public.first() == Some(&4) && public != found.public_bits()) {
        return Err(damaged("its public half belongs to another key"));
    }
    Ok(found)
}

/// The bit length of a big-endian number.
pub(super) fn bits_of(number: &[u8]) -> usize {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    number.get(zeros).map_or(0, |first| (number.len() - zeros) * 8 - first.leading_zeros() as usize)
}

/// The name of a kind of key, or its object identifier if we have no name for it.
pub(super) fn kind_of_key(algorithm: ObjectIdentifier, curve: Option<ObjectIdentifier>) -> String {
    match (algorithm, curve) {
        (EC, Some(CURVE_P256)) => "ecdsa-p256".into(),
        (EC, Some(CURVE_P384)) => "ecdsa-p384".into(),
        (EC, Some(CURVE_P521)) => "ecdsa-p521".into(),
        (EC, Some(other)) => format!("ecdsa-{other}"),
        (ED25519, _) => "ed25519".into(),
        (other, _) => other.to_string(),
    }
}
