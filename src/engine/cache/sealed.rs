//! Secret outputs, encrypted for age recipients. A registry sees how many blobs there are and roughly how large they are: no name,
//! no size, and no plain digest of anything.
//!
//! ```text
//! content   length (u64, little endian) | its statement, JSON | tar of the object, modes included
//! blobs     the content in pieces of 16 MiB; each is an age file of its own:
//!             length (u64, little endian) | the piece, zstd | zeros up to a padded size
//! ```
//!
//! The outer statement names the sealed blobs in order, so nobody can swap, drop or reorder them; the inner one says what the
//! content is. Encryption is randomized: equal files are not recognisable, and a second push finds its own by the object's keyed id.

use std::fmt;
use std::io::{self, Read, Write};
use std::sync::Arc;

use age::x25519::Recipient;
use age::{Decryptor, Encryptor};
use ruzstd::decoding::StreamingDecoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::base::digest::{DrvId, KeyId, ObjectId};
use crate::base::secret::IdKey;

pub(super) const PREDICATE: &str = "urn:tinderbox:sealed:v1";

/// Bytes of the content in one blob.
const PIECE: usize = 16 << 20;

/// What a blob may have more than its piece: what cannot be compressed grows, padding, and age's header and tags.
pub(super) const LIMIT: u64 = (PIECE as u64) * 5 / 4;

/// Far more than a statement needs.
const STATEMENT_LIMIT: u64 = 1 << 20;

/// Keys and passwords are all of this size.
const SMALLEST: u64 = 16 << 10;

/// What a signature says of a sealed output, for everybody to see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SealedPredicate {
    pub(super) drv: DrvId,
    /// Keyed, as every id of a secret.
    pub(super) object: ObjectId,
    /// For whom it is sealed: keyed, so that it can only be compared by who has the seed.
    pub(super) recipients: KeyId,
}

/// Who may read secret outputs of a cache.
#[derive(Clone, Default)]
pub(crate) struct Recipients(Vec<Recipient>);

impl fmt::Debug for Recipients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(ToString::to_string)).finish()
    }
}

impl FromIterator<Recipient> for Recipients {
    /// Sorted, and each once.
    fn from_iter<I: IntoIterator<Item = Recipient>>(all: I) -> Self {
        let mut all: Vec<Recipient> = all.into_iter().collect();
        all.sort_by_key(ToString::to_string);
        all.dedup_by_key(|recipient| recipient.to_string());
        Self(all)
    }
}

impl Recipients {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// With those of somebody else.
    pub(crate) fn and(&self, others: &Self) -> Self {
        self.0.iter().chain(&others.0).cloned().collect()
    }

    pub(super) fn fingerprint(&self, key: &IdKey) -> KeyId {
        let mut hasher = key.hasher("tinderbox 2026-11-19 recipients of a sealed output v1");
        for recipient in &self.0 {
            let text = recipient.to_string();
            hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
        }
        KeyId(hasher.finalize().into())
    }

    fn seal(&self, plain: &[u8]) -> io::Result<Vec<u8>> {
        let all = self.0.iter().map(|recipient| recipient as &dyn age::Recipient);
        let encryptor = Encryptor::with_recipients(all).map_err(io::Error::other)?;
        let mut writer = encryptor.wrap_output(Vec::with_capacity(plain.len() + 4096))?;
        writer.write_all(plain)?;
        writer.finish()
    }
}

/// What opens sealed outputs.
#[derive(Clone)]
pub(crate) struct Identities(Arc<[Box<dyn age::Identity + Send + Sync>]>);

impl fmt::Debug for Identities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identities({})", self.0.len())
    }
}

impl Identities {
    pub(crate) fn new(all: Vec<Box<dyn age::Identity + Send + Sync>>) -> Self {
        Self(all.into())
    }

    /// The piece of the content that a blob holds.
    pub(super) fn open(&self, sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, &'static str> {
        let wrong = "it cannot be decrypted";
        let decryptor = Decryptor::new_buffered(sealed).map_err(|_| wrong)?;
        let all = self.0.iter().map(|identity| &**identity as &dyn age::Identity);
        let mut reader = decryptor.decrypt(all).map_err(|error| match error {
            age::DecryptError::NoMatchingKeys => "it is encrypted for others than the given identity",
            _ => wrong,
        })?;
        // As large as they can become: growing would leave copies behind.
        let mut padded = Zeroizing::new(Vec::with_capacity(sealed.len()));
        reader.read_to_end(&mut padded).map_err(|_| wrong)?;
        let (length, rest) = padded.split_first_chunk().ok_or(wrong)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| wrong)?;
        let packed = rest.get(..length).ok_or(wrong)?;
        let mut piece = Zeroizing::new(Vec::with_capacity(PIECE));
        let decoder = StreamingDecoder::new(packed).map_err(|_| wrong)?;
        decoder.take(PIECE as u64 + 1).read_to_end(&mut piece).map_err(|_| wrong)?;
        if piece.len() > PIECE { Err(wrong) } else { Ok(piece) }
    }
}

/// The size to which a piece is padded (Padmé): at most an eighth more, so that a size says little.
fn padded(length: u64) -> u64 {
    let length = length.max(SMALLEST);
    let exponent = u64::from(length.ilog2());
    let low = exponent - (u64::from(exponent.ilog2()) + 1);
    let mask = (1 << low) - 1;
    (length + mask) & !mask
}

/// Cuts content into pieces, and passes each on when it is sealed.
pub(super) struct Sealer<'a> {
    recipients: &'a Recipients,
    piece: Zeroizing<Vec<u8>>,
    pass: &'a mut dyn FnMut(Vec<u8>) -> io::Result<()>,
}

impl<'a> Sealer<'a> {
    /// Begins with the statement.
    pub(super) fn new(
        recipients: &'a Recipients,
        statement: &[u8],
        pass: &'a mut dyn FnMut(Vec<u8>) -> io::Result<()>,
    ) -> io::Result<Self> {
        let mut sealer = Self { recipients, piece: Zeroizing::new(Vec::new()), pass };
        sealer.write_all(&(statement.len() as u64).to_le_bytes())?;
        sealer.write_all(statement)?;
        Ok(sealer)
    }

    fn seal(&mut self) -> io::Result<()> {
        let packed = Zeroizing::new(compress_to_vec(&self.piece[..], CompressionLevel::Fastest));
        let length = padded(packed.len() as u64 + 8) as usize;
        let mut plain = Zeroizing::new(Vec::with_capacity(length));
        plain.extend_from_slice(&(packed.len() as u64).to_le_bytes());
        plain.extend_from_slice(&packed);
        plain.resize(length, 0);
        self.piece.clear();
        (self.pass)(self.recipients.seal(&plain)?)
    }

    /// Passes on what is left.
    pub(super) fn finish(mut self) -> io::Result<()> {
        if self.piece.is_empty() { Ok(()) } else { self.seal() }
    }
}

impl Write for Sealer<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = bytes.len().min(PIECE - self.piece.len());
        self.piece.extend_from_slice(&bytes[..count]);
        if self.piece.len() == PIECE {
            self.seal()?;
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The content of opened pieces, one after another.
pub(super) struct Content<F> {
    /// The next piece; none after the last.
    next: F,
    piece: Zeroizing<Vec<u8>>,
    at: usize,
}

impl<F: FnMut() -> io::Result<Option<Zeroizing<Vec<u8>>>>> Content<F> {
    pub(super) fn new(next: F) -> Self {
        Self { next, piece: Zeroizing::default(), at: 0 }
    }

    /// The statement that it begins with.
    pub(super) fn statement(&mut self) -> io::Result<Zeroizing<Vec<u8>>> {
        let mut length = [0; 8];
        self.read_exact(&mut length)?;
        let length = u64::from_le_bytes(length);
        if length > STATEMENT_LIMIT {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut statement = Zeroizing::new(vec![0; length as usize]);
        self.read_exact(&mut statement)?;
        Ok(statement)
    }
}

impl<F: FnMut() -> io::Result<Option<Zeroizing<Vec<u8>>>>> Read for Content<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.piece.len() {
            match (self.next)()? {
                Some(piece) => (self.piece, self.at) = (piece, 0),
                None => return Ok(0),
            }
        }
        let count = buffer.len().min(self.piece.len() - self.at);
        buffer[..count].copy_from_slice(&self.piece[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(recipients: &Recipients, content: &[u8]) -> Vec<Vec<u8>> {
        let mut blobs = Vec::new();
        let mut pass = |blob| {
            blobs.push(blob);
            Ok(())
        };
        let mut sealer = Sealer::new(recipients, b"{}", &mut pass).unwrap();
        sealer.write_all(content).unwrap();
        sealer.finish().unwrap();
        blobs
    }

    fn opened(identities: &Identities, blobs: &[Vec<u8>]) -> Result<Vec<u8>, &'static str> {
        let pieces = blobs.iter().map(|blob| identities.open(blob)).collect::<Result<Vec<_>, _>>()?;
        let mut pieces = pieces.into_iter();
        let mut content = Content::new(|| Ok(pieces.next()));
        assert_eq!(&content.statement().unwrap()[..], b"{}");
        let mut all = Vec::new();
        content.read_to_end(&mut all).unwrap();
        Ok(all)
    }

    fn identity() -> (Recipients, Identities) {
        let identity = age::x25519::Identity::generate();
        ([identity.to_public()].into_iter().collect(), Identities::new(vec![Box::new(identity)]))
    }

    /// Around the size of a piece, and what compresses to nothing.
    #[test]
    fn content_of_any_size_comes_back_for_its_recipients_only() {
        let (recipients, identities) = identity();
        let noise = |length| {
            let mut bytes = vec![0; length];
            blake3::Hasher::new().finalize_xof().fill(&mut bytes);
            bytes
        };
        for content in [vec![], b"hunter2".to_vec(), vec![7; PIECE + 1], noise(1 << 20)] {
            let blobs = sealed(&recipients, &content);
            assert_eq!(blobs.len(), (content.len() + 10).div_ceil(PIECE));
            assert!(blobs.iter().all(|blob| blob.len() as u64 <= LIMIT));
            assert!(opened(&identities, &blobs).unwrap() == content);
            assert!(identity().1.open(&blobs[0]).unwrap_err().contains("for others"));
        }
    }

    #[test]
    fn every_changed_or_missing_byte_is_noticed() {
        let (recipients, identities) = identity();
        let blob = sealed(&recipients, b"hunter2").remove(0);
        for at in (0..blob.len()).step_by(37).chain([blob.len() - 1]) {
            let mut bytes = blob.clone();
            bytes[at] ^= 1;
            assert!(identities.open(&bytes).is_err(), "{at}");
            assert!(identities.open(&blob[..at]).is_err(), "{at}");
        }
    }

    /// What differs by little does not differ in size.
    #[test]
    fn sizes_say_little() {
        let (recipients, _) = identity();
        // age adds a header of random length, below 512 bytes.
        let size = |length: usize| sealed(&recipients, &vec![b'x'; length])[0].len() / 1024;
        assert_eq!(size(7), size(9000));
        let sizes: std::collections::BTreeSet<u64> = (0..1 << 20).step_by(100).map(padded).collect();
        assert!(sizes.len() < 200, "{}", sizes.len());
        for length in (SMALLEST..1 << 20).step_by(999) {
            assert!((length..=length + length / 8).contains(&padded(length)), "{length}");
        }
    }

    #[test]
    fn a_fingerprint_follows_recipients_and_seed() {
        let (one, other) = (identity().0, identity().0);
        let (key, another) = (IdKey::from_seed(&[7; 32]), IdKey::from_seed(&[8; 32]));
        assert_eq!(one.and(&other).fingerprint(&key), other.and(&one).and(&one).fingerprint(&key));
        assert_ne!(one.fingerprint(&key), other.fingerprint(&key));
        assert_ne!(one.fingerprint(&key), one.fingerprint(&another));
    }
}
