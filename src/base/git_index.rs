//! The names in a git index, read without git: versions 2 to 4 of the format (gitformat-index(5)).
//!
//! ```text
//! DIRC version count                                   12 bytes, big-endian
//! entry: stat (40) hash flags (2) [more flags (2)]     bit 0x4000 of the flags announces more
//!        version 2, 3: name, NUL up to a multiple of 8
//!        version 4:    how much of the last name to cut (a varint), what to append, NUL
//! extensions                                           not read
//! ```

/// Every tracked path; none if this is not an index. `hash` is the length of an object's name, 20 or 32.
pub(crate) fn paths(index: &[u8], hash: usize) -> Option<Vec<String>> {
    let number = |at: usize| Some(u32::from_be_bytes(index.get(at..at + 4)?.try_into().ok()?));
    let version = number(4)?;
    if !index.starts_with(b"DIRC") || !(2..=4).contains(&version) {
        return None;
    }
    let (mut at, mut name, mut found) = (12, Vec::new(), Vec::new());
    for _ in 0..number(8)? {
        let start = at;
        let flags = index.get(at + 40 + hash..at + 42 + hash)?;
        at += 42 + hash + if flags[0] & 0x40 == 0 { 0 } else { 2 };
        if version == 4 {
            let (cut, length) = varint(index.get(at..)?)?;
            name.truncate(name.len().checked_sub(cut)?);
            at += length;
        } else {
            name.clear();
        }
        let rest = index.get(at..)?;
        let end = memchr::memchr(0, rest)?;
        name.extend_from_slice(&rest[..end]);
        found.push(String::from_utf8_lossy(&name).into_owned());
        at += end + 1;
        if version < 4 {
            at = start + (at - start).next_multiple_of(8);
        }
    }
    Some(found)
}

/// git's variable-width number: seven bits a byte, the highest first, each continuation adds one.
fn varint(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value = 0_usize;
    for (at, byte) in bytes.iter().enumerate().take(9) {
        value = (value << 7) | usize::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((value, at + 1));
        }
        value += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An index as git writes it.
    fn index(version: u32, hash: usize, names: &[&str]) -> Vec<u8> {
        let mut bytes =
            [b"DIRC".as_slice(), &version.to_be_bytes(), &(names.len() as u32).to_be_bytes()].concat();
        let mut last = "";
        for name in names {
            let start = bytes.len();
            bytes.extend(vec![0x5a; 40 + hash]);
            bytes.extend(if version == 3 { vec![0x40, 9, 0x20, 0] } else { vec![0, 9] });
            if version == 4 {
                let same = last.bytes().zip(name.bytes()).take_while(|(one, other)| one == other).count();
                match last.len() - same {
                    cut @ 0..128 => bytes.push(cut as u8),
                    cut => bytes.extend([0x80 | ((cut - 128) >> 7) as u8, ((cut - 128) & 0x7f) as u8]),
                }
                bytes.extend([&name.as_bytes()[same..], b"\0"].concat());
            } else {
                bytes.extend([name.as_bytes(), b"\0"].concat());
                bytes.resize(start + (bytes.len() - start).next_multiple_of(8), 0);
            }
            last = name;
        }
        bytes.extend([b"TREE".as_slice(), &[0; 24]].concat());
        bytes
    }

    #[test]
    fn every_version_and_hash() {
        let long = format!("a/{}", "long/".repeat(80));
        let names = ["a", long.as_str(), "a/b.yaml", "ocp4/cluster.seed", "ü"];
        for version in 2..=4 {
            for hash in [20, 32] {
                let bytes = index(version, hash, &names);
                assert_eq!(paths(&bytes, hash).unwrap(), names, "{version} {hash}");
                // Cut short, it is no index; never a panic.
                (0..bytes.len() - 36).for_each(|end| assert_eq!(paths(&bytes[..end], hash), None));
            }
        }
        assert_eq!(paths(b"DIRC\0\0\0\x05\0\0\0\0", 20), None);
    }
}
