//! A passphrase from the user: from a file, or from the terminal, which does not show it. Never an argument, which `ps` shows.

use std::io::{IsTerminal as _, Read as _};
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use zeroize::Zeroizing;

use super::output::visible;
use super::{Error, Result};
use crate::base::cancel::{Cancel, GLANCE};
use crate::base::fs::{self, At as _};
use crate::base::secret::Secret;

/// Shorter ones are guessed by a few machines in a few weeks.
const SHORTEST: usize = 12;

/// No line is longer.
const LONGEST: u64 = 64 << 10;

/// The passphrase in a file, or twice the same one from the terminal.
pub(super) fn new(file: Option<&Path>, what: &str, cancel: &Cancel) -> Result<Secret> {
    let passphrase = match file {
        Some(path) => {
            let mut bytes = Vec::new();
            fs::open_stream(path)?.take(LONGEST).read_to_end(&mut bytes).at("read", path)?;
            first_line(bytes)
        }
        None if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() => {
            let first = ask(&format!("Passphrase for {what}: "), cancel)?;
            if first != ask("Once more: ", cancel)? {
                return Err(Error::usage("the two passphrases differ", "try again"));
            }
            first
        }
        None => {
            let advice = "name a file with it: `--passphrase-file FILE`";
            return Err(Error::usage("there is no terminal to ask for the passphrase", advice));
        }
    };
    let text = passphrase.reveal_text().unwrap_or_default();
    if text.chars().count() < SHORTEST {
        let advice = "six random words are easy to type at a console, and hard to guess";
        return Err(Error::usage(format!("the passphrase has less than {SHORTEST} characters"), advice));
    }
    if text.chars().any(char::is_control) {
        return Err(Error::usage(
            "the passphrase has control characters",
            "they cannot be typed at a console",
        ));
    }
    Ok(passphrase)
}

/// What is before the first line feed.
fn first_line(bytes: Vec<u8>) -> Secret {
    let bytes = Zeroizing::new(bytes);
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    Secret::new(line.strip_suffix(b"\r").unwrap_or(line).to_vec())
}

#[expect(clippy::print_stderr, reason = "a question is not data")]
fn ask(question: &str, cancel: &Cancel) -> Result<Secret> {
    eprint!("{}", visible(question));
    let hidden = Hidden::start();
    let line = line(cancel);
    drop(hidden);
    eprintln!();
    line.map_err(|source| fs::Error::new("read", "the terminal", source).into())
}

/// A line from the terminal, as long as nobody cancels: whoever does gets the terminal back as it was.
fn line(cancel: &Cancel) -> std::io::Result<Secret> {
    let stdin = std::io::stdin();
    let glance = Timespec { tv_sec: 0, tv_nsec: GLANCE.subsec_nanos().into() };
    let mut line = Zeroizing::new(Vec::with_capacity(LONGEST as usize));
    loop {
        if cancel.is_set() {
            return Err(std::io::ErrorKind::Interrupted.into());
        }
        match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&glance)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => continue,
            found => found?,
        };
        // A terminal gives a line at a time.
        let mut some = Zeroizing::new([0; 1024]);
        let count = rustix::io::read(&stdin, some.as_mut_slice())?;
        line.extend_from_slice(&some[..count]);
        if count == 0 || line.contains(&b'\n') || line.len() as u64 >= LONGEST {
            return Ok(first_line(line.to_vec()));
        }
    }
}

/// While it lives, the terminal does not show what is typed.
struct Hidden(Option<Termios>);

impl Hidden {
    fn start() -> Self {
        let before = tcgetattr(std::io::stdin()).ok();
        if let Some(mut modes) = before.clone() {
            modes.local_modes.remove(LocalModes::ECHO);
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Flush, &modes); // else it is shown
        }
        Self(before)
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, before); // nothing more can be done
        }
    }
}
