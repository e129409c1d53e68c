//! Requests for certificates, written byte by byte, so that they can be as wrong as somebody wants them to be.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use p256::ecdsa::SigningKey;
use p256::ecdsa::signature::Signer as _;

/// `2.5.4.x` of a subject.
pub(crate) const CN: u8 = 3;
pub(crate) const O: u8 = 10;
pub(crate) const OU: u8 = 11;

/// Tags of names, as RFC 5280 numbers them.
pub(crate) const EMAIL: u8 = 0x81;
pub(crate) const DNS: u8 = 0x82;
pub(crate) const URI: u8 = 0x86;
pub(crate) const IP: u8 = 0x87;

const UTF8: u8 = 0x0c;
const TELETEX: u8 = 0x14;

/// What is asked for.
#[derive(Clone, Default)]
pub(crate) struct Csr {
    pub(crate) subject: Vec<(u8, String)>,
    pub(crate) names: Vec<(u8, Vec<u8>)>,
    /// Another extension beside the names: its object identifier's bytes, and its value.
    pub(crate) extension: Option<(Vec<u8>, Vec<u8>)>,
    /// Asks with a password, as some authorities want.
    pub(crate) password: bool,
    /// The subject as the old text type that everyone reads differently.
    pub(crate) teletex: bool,
    /// Signed by somebody else.
    pub(crate) forged: bool,
    /// Which key; the same one for all by default.
    pub(crate) key: u8,
}

fn tlv(tag: u8, parts: &[Vec<u8>]) -> Vec<u8> {
    let body = parts.concat();
    let length = match body.len() {
        short @ 0..0x80 => vec![short as u8],
        middle @ 0x80..0x100 => vec![0x81, middle as u8],
        long => vec![0x82, (long >> 8) as u8, long as u8],
    };
    [vec![tag], length, body].concat()
}

fn oid(bytes: &[u8]) -> Vec<u8> {
    tlv(0x06, &[bytes.to_vec()])
}

fn sequence(parts: &[Vec<u8>]) -> Vec<u8> {
    tlv(0x30, parts)
}

impl Csr {
    /// For a node, as a kubelet asks for its client certificate.
    pub(crate) fn of(name: &str) -> Self {
        let subject = vec![(O, "system:nodes".to_owned()), (CN, format!("system:node:{name}"))];
        Self { subject, ..Self::default() }
    }

    /// The same, as it asks for its serving certificate.
    pub(crate) fn serving(name: &str, ip: [u8; 4]) -> Self {
        Self::of(name).name(DNS, name.as_bytes()).name(IP, &ip)
    }

    /// With a name more.
    pub(crate) fn name(mut self, tag: u8, value: &[u8]) -> Self {
        self.names.push((tag, value.to_vec()));
        self
    }

    /// With an attribute more in its subject.
    pub(crate) fn subject(mut self, attribute: u8, value: &str) -> Self {
        self.subject.push((attribute, value.to_owned()));
        self
    }

    fn attributes(&self) -> Vec<u8> {
        let mut extensions = Vec::new();
        if !self.names.is_empty() {
            let names: Vec<Vec<u8>> =
                self.names.iter().map(|(tag, value)| tlv(*tag, std::slice::from_ref(value))).collect();
            extensions.push(sequence(&[oid(&[0x55, 29, 17]), tlv(0x04, &[sequence(&names)])]));
        }
        if let Some((id, value)) = &self.extension {
            extensions.push(sequence(&[oid(id), tlv(0x04, std::slice::from_ref(value))]));
        }
        let mut attributes = Vec::new();
        if self.password {
            let challenge = oid(&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 7]);
            attributes.push(sequence(&[challenge, tlv(0x31, &[tlv(UTF8, &[b"please".to_vec()])])]));
        }
        if !extensions.is_empty() {
            let request = oid(&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 14]);
            attributes.push(sequence(&[request, tlv(0x31, &[sequence(&extensions)])]));
        }
        attributes.sort();
        tlv(0xa0, &attributes)
    }

    /// In PEM.
    pub(crate) fn pem(&self) -> String {
        let key = |byte: u8| SigningKey::from_slice(&[byte; 32]).unwrap();
        let (own, signer) = (key(7 + self.key), key(if self.forged { 99 } else { 7 + self.key }));
        let text = if self.teletex { TELETEX } else { UTF8 };
        let subject: Vec<Vec<u8>> = self
            .subject
            .iter()
            .map(|(attribute, value)| {
                let pair = sequence(&[oid(&[0x55, 4, *attribute]), tlv(text, &[value.clone().into_bytes()])]);
                tlv(0x31, &[pair])
            })
            .collect();
        let p256 =
            [oid(&[0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1]), oid(&[0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7])];
        let point = own.verifying_key().to_sec1_point(false).as_bytes().to_vec();
        let public = sequence(&[sequence(&p256), tlv(0x03, &[vec![0], point])]);
        let info = sequence(&[tlv(0x02, &[vec![0]]), sequence(&subject), public, self.attributes()]);
        let signature: p256::ecdsa::Signature = signer.sign(&info);
        let algorithm = sequence(&[oid(&[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2])]);
        let signature = signature.to_der().as_bytes().to_vec();
        let whole = sequence(&[info, algorithm, tlv(0x03, &[vec![0], signature])]);
        let body = STANDARD.encode(whole);
        let lines: Vec<&str> =
            body.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
        format!(
            "-----BEGIN CERTIFICATE REQUEST-----\n{}\n-----END CERTIFICATE REQUEST-----\n",
            lines.join("\n")
        )
    }
}
