//! Sealing: encryption with a passphrase, as an OpenPGP message (RFC 4880) that `gpg --decrypt` opens.
//!
//! Why OpenPGP and not the alternatives: the live system has to open it with what it surely has. It has `gpg`, because the
//! installer itself verifies signatures with it; `openssl enc` authenticates nothing, and is not in every image; a LUKS
//! volume needs a loop device, the device mapper and their modules. The message is AES-256 in CFB mode, with a modification
//! detection code, so that a wrong passphrase or a damaged medium is noticed. The key is 65 million bytes of SHA-512 away
//! from the passphrase, the most that the format has: it slows guessing down, and is no substitute for a long passphrase.
//!
//! | packet | content |
//! |---|---|
//! | 3 | version 4, AES-256, iterated and salted S2K with SHA-512 |
//! | 18 | version 1, encrypted: 16 random bytes, the last two again, a literal packet (11), its SHA-1 (19) |

use aes::Aes256;
use aes::cipher::{BlockEncrypt as _, KeyInit as _};
use sha2::Digest as _;
use zeroize::Zeroizing;

use crate::base::secret::Secret;

/// Random bytes that a message needs: none of them may be used twice.
pub(crate) const RANDOM: usize = SALT + BLOCK;
const SALT: usize = 8;
const BLOCK: usize = 16;
/// The number of bytes that are hashed for the key, and its code.
const COUNT: (usize, u8) = (65_011_712, 0xff);
const AES_256: u8 = 9;
const SHA_512: u8 = 10;

/// The message with this content.
pub(crate) fn seal(content: &[u8], passphrase: &Secret, random: &[u8; RANDOM]) -> Vec<u8> {
    let (salt, prefix) = random.split_at(SALT);
    let mut session = vec![4, AES_256, 3, SHA_512];
    session.extend_from_slice(salt);
    session.push(COUNT.1);
    let mut message = packet(3, &session);

    let literal = [&[b'b', 0, 0, 0, 0, 0], content].concat();
    let mut body =
        Zeroizing::new([prefix, &prefix[BLOCK - 2..], &packet(11, &literal), &[0xd3, 20]].concat());
    let code = sha1::Sha1::digest(body.as_slice());
    body.extend_from_slice(&code);
    encrypt(&mut body, &key(passphrase, salt));
    let mut encrypted = vec![1];
    encrypted.extend_from_slice(&body);
    message.extend(packet(18, &encrypted));
    message
}

/// A packet with its tag and its length, which has five bytes.
fn packet(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = body.len() as u32; // no medium has four gigabytes of configs
    [&[0xc0 | tag, 0xff], length.to_be_bytes().as_slice(), body].concat()
}

/// Iterated and salted: the hash of salt and passphrase, again and again up to the count.
fn key(passphrase: &Secret, salt: &[u8]) -> Zeroizing<[u8; 32]> {
    let unit = Zeroizing::new([salt, passphrase.reveal()].concat());
    // Many at once, because hashing a few bytes at a time is slow.
    let many = Zeroizing::new(unit.repeat(4096));
    let mut left = COUNT.0.max(unit.len());
    let mut hasher = sha2::Sha512::new();
    while left > 0 {
        let piece = &many[..left.min(many.len())];
        hasher.update(piece);
        left -= piece.len();
    }
    let mut key = Zeroizing::new([0; 32]);
    key.copy_from_slice(&hasher.finalize()[..32]);
    key
}

/// Cipher feedback from a block of zeros.
fn encrypt(bytes: &mut [u8], key: &[u8; 32]) {
    let cipher = Aes256::new(key.into());
    let mut previous = [0; BLOCK];
    for block in bytes.chunks_mut(BLOCK) {
        cipher.encrypt_block((&mut previous).into());
        block.iter_mut().zip(previous).for_each(|(byte, key)| *byte ^= key);
        previous[..block.len()].copy_from_slice(block);
    }
}
