//! A passphrase from the user: from a file, or from the terminal, which does not show it. Never an argument, which `ps` shows.

use std::io::{BufRead as _, IsTerminal as _};
use std::path::Path;

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use zeroize::Zeroizing;

use super::output::visible;
use super::{Error, Result};
use crate::base::fs;
use crate::base::secret::Secret;

/// Shorter ones are guessed by a few machines in a few weeks.
const SHORTEST: usize = 12;

/// The passphrase in a file, or twice the same one from the terminal.
pub(super) fn new(file: Option<&Path>, what: &str) -> Result<Secret> {
    let passphrase = match file {
        Some(path) => first_line(fs::read_stream(path)?),
        None if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() => {
            let first = ask(&format!("Passphrase for {what}: "))?;
            if first != ask("Once more: ")? {
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
fn ask(question: &str) -> Result<Secret> {
    eprint!("{}", visible(question));
    let _hidden = Hidden::start();
    let mut line = Zeroizing::new(Vec::new());
    let read = std::io::stdin().lock().read_until(b'\n', &mut line);
    eprintln!();
    read.map_err(|source| fs::Error::new("read", "the terminal", source))?;
    Ok(first_line(line.to_vec()))
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
