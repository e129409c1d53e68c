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

/// The log without any config.
pub fn without_config(log: &[u8]) -> Vec<u8> {
    let mut shown = Vec::with_capacity(log.len());
    let (mut inside, mut told) = (false, false);
    for line in log.split_inclusive(|byte| *byte == b'\n') {
        let has = |words: &[u8]| line.windows(words.len()).any(|window| window == words);
        inside = (inside || has(BEGINS)) && !ENDS.iter().any(|end| has(end));
        if !inside && !SECRET.iter().any(|secret| has(secret)) {
            shown.extend_from_slice(line);
            told = false;
        } else if !told {
            shown.extend_from_slice(INSTEAD);
            told = true;
        }
    }
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

    #[test]
    fn everything_else_stays_as_it_is() {
        for log in ["", "\n", "no end of line", "\x1b[0;32m  OK  \r\n[    1.0] sda: sda1\r\n"] {
            assert_eq!(shown(log), log);
        }
    }
}
