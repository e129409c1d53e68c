//! A console's log, fit to be shown. When one of its stages fails, Ignition prints the whole config to the console: keys, the
//! pull secret, everything. Nothing else that a node writes there has a secret in it.
//!
//! ```text
//! files failed
//! Full config:
//! {                                                  from here
//!   "ignition": { … "source": "data:,…" … }
//! }                                                  to here
//! CRITICAL : Ignition failed: failed to create files: …
//! ```
//!
//! Where the end is not found, nothing is shown up to the next boot. A log that begins in the middle of a config is
//! recognised by its lines. Pure: bytes in, bytes out.

/// What begins a config, and what may come after it.
const BEGINS: &[u8] = b"Full config:";
const ENDS: [&[u8]; 3] = [b"Ignition failed: ", b"Linux version ", b"Stage: "];
/// A line of a config that may have a secret in it.
const SECRET: [&[u8]; 4] =
    [b"\"source\": \"", b"\"contents\": \"", b"\"passwordHash\": \"", b"\"value\": \""];
/// What is shown instead.
const INSTEAD: &[u8] = b"[the config, which has secrets in it, is left out]\n";

/// A line without an end is taken for one when it has become as long as this.
const LONGEST: usize = 64 << 10;

/// Lets a log through, piece by piece, but for configs.
#[derive(Debug, Default)]
pub struct Filter {
    inside: bool,
    told: bool,
    /// The beginning of a line whose end has not come.
    rest: Vec<u8>,
}

impl Filter {
    /// What can be shown of everything up to the last whole line.
    pub fn pass(&mut self, piece: &[u8]) -> Vec<u8> {
        self.rest.extend_from_slice(piece);
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

    /// What can be shown of the last line, which has no end.
    pub fn end(&mut self) -> Vec<u8> {
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
            self.told = false;
        } else if !self.told {
            shown.extend_from_slice(INSTEAD);
            self.told = true;
        }
    }
}

/// A whole log without any config.
pub fn without_config(log: &[u8]) -> Vec<u8> {
    let mut filter = Filter::default();
    let mut shown = filter.pass(log);
    shown.extend(filter.end());
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
        // As the journal and the kernel show it.
        let prefixed = FAILED.replace("\r\n", "\n[    5.1] ignition[901]: ");
        assert!(!shown(&prefixed).contains("secret\"") && shown(&prefixed).contains("Ignition failed"));
    }

    #[test]
    fn an_end_that_is_missing_hides_everything_up_to_the_next_boot() {
        let cut = FAILED.replace("Ignition failed: ", "");
        let log = format!("{cut}[    0.000000] Linux version 6.1.0\nnode: up\n");
        assert!(!shown(&log).contains("secret\"") && !shown(&log).contains("Power down"));
        assert!(shown(&log).ends_with("Linux version 6.1.0\nnode: up\n"));
        let from = FAILED.find("      \"source").unwrap();
        assert!(!shown(&FAILED[from..]).contains("secret\""));
    }

    /// However it is cut into pieces, in the middle of the words that matter too.
    #[test]
    fn pieces_do_not_matter() {
        for size in [1, 2, 3, 7, 40] {
            let mut filter = Filter::default();
            let mut told: Vec<u8> =
                FAILED.as_bytes().chunks(size).flat_map(|piece| filter.pass(piece)).collect();
            told.extend(filter.end());
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
