//! Keeps the beginning and the end of a program's output.

use std::collections::VecDeque;

/// Bytes kept at the beginning and at the end.
const KEPT: usize = 32 * 1024;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Log {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl Log {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (first, rest) = bytes.split_at(bytes.len().min(KEPT - self.head.len()));
        self.head.extend_from_slice(first);
        let rest = &rest[rest.len().saturating_sub(KEPT)..];
        let over = (self.tail.len() + rest.len()).saturating_sub(KEPT);
        self.tail.drain(..over);
        self.tail.extend(rest);
    }

    /// The whole output, or its beginning and end with a line about the omission between them.
    pub fn text(&self) -> String {
        let mut text = String::from_utf8_lossy(&self.head).into_owned();
        let left_out = self.total - (self.head.len() + self.tail.len()) as u64;
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        if left_out > 0 {
            text.push_str(&format!("\n… {left_out} bytes omitted …\n"));
        }
        text.push_str(&String::from_utf8_lossy(&tail));
        text
    }

    /// The total number of bytes.
    pub fn total(&self) -> u64 {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_is_kept_whole() {
        let mut log = Log::default();
        log.add(b"one\n");
        log.add(b"two\n");
        assert_eq!(log.text(), "one\ntwo\n");
        let mut log = Log::default();
        log.add(&vec![b'a'; KEPT]);
        log.add(&vec![b'b'; KEPT]);
        assert_eq!(log.text(), "a".repeat(KEPT) + &"b".repeat(KEPT));
    }

    #[test]
    fn of_much_the_first_and_the_last_are_kept() {
        let mut log = Log::default();
        for n in 0..100_000 {
            log.add(format!("line {n}\n").as_bytes());
        }
        let text = log.text();
        assert!(text.starts_with("line 0\nline 1\n"), "{}", &text[..20]);
        assert!(text.ends_with("line 99998\nline 99999\n"));
        let kept = 2 * KEPT as u64;
        assert!(text.contains(&format!("… {} bytes omitted …", log.total() - kept)));
        // However it is split into pieces.
        let mut whole = Log::default();
        let all: String = (0..100_000).map(|n| format!("line {n}\n")).collect();
        whole.add(all.as_bytes());
        assert_eq!(whole, log);
    }
}
