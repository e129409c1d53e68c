//! What blobs are called. The server decides: every one knows SHA-256, some offer BLAKE3.

use std::io::{self, Read};

use data_encoding::HEXLOWER;
use sha2::Digest as _;

use super::proto;

/// How a server names blobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DigestFunction {
    Sha256,
    Blake3,
}

/// A blob's name and size.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Blob {
    /// Lower-case hexadecimal.
    pub(crate) hash: String,
    pub(crate) size: u64,
}

impl DigestFunction {
    pub(super) fn number(self) -> i32 {
        match self {
            Self::Sha256 => proto::digest_function::Value::Sha256.into(),
            Self::Blake3 => proto::digest_function::Value::Blake3.into(),
        }
    }

    /// Part of a stream's name; the older functions are left out there.
    pub(super) fn segment(self) -> &'static str {
        match self {
            Self::Sha256 => "",
            Self::Blake3 => "blake3/",
        }
    }

    pub(crate) fn of(self, bytes: &[u8]) -> Blob {
        let hash = match self {
            Self::Sha256 => HEXLOWER.encode(&sha2::Sha256::digest(bytes)),
            Self::Blake3 => blake3::hash(bytes).to_hex().to_string(),
        };
        Blob { hash, size: bytes.len() as u64 }
    }

    /// The same for what is not in memory.
    pub(crate) fn of_reader(self, from: &mut dyn Read) -> io::Result<Blob> {
        let mut hasher = self.hasher();
        let mut buffer = vec![0; 64 << 10];
        loop {
            match from.read(&mut buffer)? {
                0 => return Ok(hasher.finish()),
                count => hasher.update(&buffer[..count]),
            }
        }
    }

    /// The same for what passes by.
    pub(crate) fn hasher(self) -> BlobHasher {
        let state = match self {
            Self::Sha256 => State::Sha256(sha2::Sha256::new()),
            Self::Blake3 => State::Blake3(Box::default()),
        };
        BlobHasher { state, size: 0 }
    }
}

/// Names a blob whose bytes come in pieces.
#[derive(Debug)]
pub(crate) struct BlobHasher {
    state: State,
    size: u64,
}

#[derive(Debug)]
enum State {
    Sha256(sha2::Sha256),
    Blake3(Box<blake3::Hasher>),
}

impl BlobHasher {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        match &mut self.state {
            State::Sha256(state) => state.update(bytes),
            State::Blake3(state) => drop(state.update(bytes)),
        }
        self.size += bytes.len() as u64;
    }

    /// Bytes so far.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    pub(crate) fn finish(&self) -> Blob {
        let hash = match &self.state {
            State::Sha256(state) => HEXLOWER.encode(&state.clone().finalize()),
            State::Blake3(state) => state.finalize().to_hex().to_string(),
        };
        Blob { hash, size: self.size }
    }
}

impl Blob {
    pub(crate) fn to_proto(&self) -> proto::Digest {
        proto::Digest { hash: self.hash.clone(), size_bytes: self.size as i64 }
    }

    /// Reads what a server says. Whatever is no digest is refused: it becomes part of names.
    pub(crate) fn from_proto(digest: Option<&proto::Digest>) -> Option<Self> {
        let proto::Digest { hash, size_bytes } = digest?;
        let is_hash = hash.len() == 64 && hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        Some(Self { hash: hash.clone(), size: u64::try_from(*size_bytes).ok()? }).filter(|_| is_hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_functions_agree_with_themselves() {
        for function in [DigestFunction::Sha256, DigestFunction::Blake3] {
            let bytes = vec![7; 200_000];
            assert_eq!(function.of(&bytes), function.of_reader(&mut &bytes[..]).unwrap());
            let blob = function.of(b"");
            assert_eq!(Blob::from_proto(Some(&blob.to_proto())), Some(blob));
        }
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(DigestFunction::Sha256.of(b"").hash, empty);
        for (hash, size) in [("", 0), ("../../../etc", 0), (&*empty.to_uppercase(), 0), (empty, -1)] {
            let digest = proto::Digest { hash: hash.to_owned(), size_bytes: size };
            assert_eq!(Blob::from_proto(Some(&digest)), None, "{hash}");
        }
    }
}
