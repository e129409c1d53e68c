//! Makes a console log safe to show. When a stage of Ignition fails, it prints the whole config to the console: keys, the
//! pull secret, everything. Nothing else that a node writes there is secret.
//!
//! ```text
//! files failed
//! Full config:
//! {                                                  left out from here
//!   "ignition": { … "source": "data:,…" … }
//! }                                                  to here
//! CRITICAL : Ignition failed: failed to create files: …
//! ```
//!
//! If the end of a config is missing, everything up to the next boot is left out. A log that starts in the middle of a config
//! is recognised by its lines. Pure: bytes in, bytes out.

/// What precedes a config, and what may follow it.
const BEGINS: &[u8] = b"Full config:";
const ENDS: [&[u8]; 3] = [b"Ignition failed: ", b"Linux version ", b"Stage: "];
/// A line of a config that may have a secret in it.
const SECRET: [&[u8]; 4] =
    [b"\"source\": \"", b"\"contents\": \"", b"\"passwordHash\": \"", b"\"value\": \""];
/// What is shown in its place.
const INSTEAD: &[u8] = b"[the config, which has secrets in it, is left out]\n";

/// A longer line is split.
const LONGEST: usize = 64 << 10;

/// Passes a log chunk by chunk, without configs.
#[derive(Debug, Default)]
pub struct ConsoleFilter {
    inside: bool,
    /// Whether the replacement was already shown.
    replaced: bool,
    /// The beginning of an incomplete line.
    rest: Vec<u8>,
}

impl ConsoleFilter {
    /// Returns what can be shown, up to the last complete line.
    pub fn push(&mut self, chunk: &[u8]) -> Vec<u8> {
        self.rest.extend_from_slice(chunk);
        let rest = std::mem::take(&mut self.rest);
        let end = match memchr::memrchr(b'\n', &rest) {
            Some(at) => at + 1,
            None if rest.len() >= LONGEST => rest.len(),
            None => 0,
        };
        let mut shown = Vec::with_capacity(end);
        for line in rest[..end].split_inclusive(|byte| *byte == b'\n') {
            self.line(line, &mut shown);
        }
        self.rest = rest[end..].to_vec();
        shown
    }

    /// Returns what can be shown of the last, incomplete line.
    pub fn finish(&mut self) -> Vec<u8> {
        let (rest, mut shown) = (std::mem::take(&mut self.rest), Vec::new());
        if !rest.is_empty() {
            self.line(&rest, &mut shown);
        }
        shown
    }

    fn line(&mut self, line: &[u8], shown: &mut Vec<u8>) {
        let has = |words: &[u8]| memchr::memmem::find(line, words).is_some();
        self.inside = (self.inside || has(BEGINS)) && !ENDS.iter().any(|end| has(end));
        if !self.inside && !SECRET.iter().any(|secret| has(secret)) {
            shown.extend_from_slice(line);
            self.replaced = false;
        } else if !self.replaced {
            shown.extend_from_slice(INSTEAD);
            self.replaced = true;
        }
    }
}

/// A whole log, without configs.
pub fn without_config(log: &[u8]) -> Vec<u8> {
    let mut filter = ConsoleFilter::default();
    let mut shown = filter.push(log);
    shown.extend(filter.finish());
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(log: &str) -> String {
        String::from_utf8(without_config(log.as_bytes())).unwrap()
    }

    const FAILED: &str = "INFO     : Stage: files\r
files failed\r
Full config:\r
{\r
  \"ignition\": {\r
    \"version\": \"3.4.0-experimental\"\r
  },\r
          \"source\": \"data:,secret\",\r
}\r
CRITICAL : Ignition failed: failed to create files: not a directory\r
[    7.1] reboot: Power down\r
";

    #[test]
    fn the_config_of_a_failed_run_is_left_out() {
        insta::assert_snapshot!(shown(FAILED).replace('\r', ""), @r"
        INFO     : Stage: files
        files failed
        [the config, which has secrets in it, is left out]
        CRITICAL : Ignition failed: failed to create files: not a directory
        [    7.1] reboot: Power down
        ");
        // With the prefixes of kernel and journal.
        let prefixed = FAILED.replace("\r\n", "\n[    5.1] ignition[901]: ");
        assert!(!shown(&prefixed).contains("secret\"") && shown(&prefixed).contains("Ignition failed"));
    }

    #[test]
    fn a_missing_end_hides_everything_up_to_the_next_boot() {
        let cut = FAILED.replace("Ignition failed: ", "");
        let log = format!("{cut}[    0.000000] Linux version 6.1.0\nnode: up\n");
        assert!(!shown(&log).contains("secret\"") && !shown(&log).contains("Power down"));
        assert!(shown(&log).ends_with("Linux version 6.1.0\nnode: up\n"));
        let from = FAILED.find("      \"source").unwrap();
        assert!(!shown(&FAILED[from..]).contains("secret\""));
    }

    /// Even when chunks end within a keyword.
    #[test]
    fn chunks_do_not_matter() {
        for size in [1, 2, 3, 7, 40] {
            let mut filter = ConsoleFilter::default();
            let mut told: Vec<u8> =
                FAILED.as_bytes().chunks(size).flat_map(|piece| filter.push(piece)).collect();
            told.extend(filter.finish());
            assert_eq!(String::from_utf8(told).unwrap(), shown(FAILED), "{size}");
        }
    }

    #[test]
    fn everything_else_stays_as_it_is() {
        for log in ["", "\n", "no end of line", "\x1b[0;32m  OK  \r\n[    1.0] sda: sda1\r\n"] {
            assert_eq!(shown(log), log);
        }
    }
}
