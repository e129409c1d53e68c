//! The pager: text that does not fit on the terminal goes through the user's, else through `less`.

use std::io::Write as _;
use std::process::{Command, Stdio};

use super::output;

/// Prints a text, through a pager if it does not fit on the terminal.
pub(super) fn show(text: &str, no_pager: bool) {
    let fits = output::terminal().is_none_or(|(_, height)| text.lines().count() < height);
    // What a pager prints is on the terminal too.
    if no_pager || fits || !page(&output::visible(text)) {
        output::text(text);
    }
}

/// Whether a pager took the text: the user's, else `less`. As for git, an empty PAGER or `cat` means none, and so does
/// NO_PAGER.
#[expect(
    clippy::disallowed_methods,
    reason = "PAGER and the pager are about the terminal, which only cli knows"
)]
fn page(text: &str) -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let pager = std::env::var("PAGER").unwrap_or_else(|_| "less".to_owned());
    if is_set("NO_PAGER")
        || pager.trim() == "cat"
        || std::env::var_os("TERM").is_some_and(|term| term == "dumb")
    {
        return false;
    }
    let mut words = pager.split_whitespace();
    let Some(program) = words.next() else { return false };
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", "FRX");
    }
    let Ok(mut child) = command.spawn() else { return false };
    if let Some(mut input) = child.stdin.take() {
        // Quitting a pager early is not an error.
        let _ = input.write_all(text.as_bytes());
    }
    let _ = child.wait();
    true
}
