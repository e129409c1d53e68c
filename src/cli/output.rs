//! Results: text or JSON; colours, sizes.

use std::borrow::Cow;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Mutex, OnceLock, PoisonError};

use serde::Serialize;

use super::progress::Progress;
pub(super) use super::table::table;
use crate::base::event::Events as _;
use crate::base::fs;
use crate::base::redact::controls_terminal;
use crate::base::text::{fold, indented};
use crate::openshift::workspace::Env;

/// What is printed while `-o` names a file for it.
static CAPTURED: Mutex<Option<Vec<u8>>> = Mutex::new(None);

/// Keeps what is printed from now on, for a file.
pub(super) fn capture() {
    *CAPTURED.lock().unwrap_or_else(PoisonError::into_inner) = Some(Vec::new());
}

/// What was kept; printing continues on stdout.
pub(super) fn take_captured() -> Option<Vec<u8>> {
    CAPTURED.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Whether results go to a terminal.
pub(super) fn is_terminal() -> bool {
    CAPTURED.lock().unwrap_or_else(PoisonError::into_inner).is_none() && std::io::stdout().is_terminal()
}

/// A page or a picture goes into a file or a pipe: on a terminal it would be thousands of lines of markup.
pub(super) fn refuse_on_terminal(what: &str, advice: &str) -> super::Result<()> {
    match is_terminal() {
        true => Err(super::Error::usage(format!("a terminal cannot show a {what}"), advice)),
        false => Ok(()),
    }
}

/// How a verb prints its result: as one JSON document, or as text for people.
#[derive(Clone, Copy)]
pub(super) struct Printer<'a> {
    /// The file that the result goes to, if not stdout.
    pub(super) output: Option<&'a Path>,
    pub(super) json: bool,
    pub(super) events: &'a Progress,
}

impl Printer<'_> {
    /// Prints the result after removing the progress display. The verb is done then.
    pub(super) fn answer(self, document: &impl Serialize, text: impl FnOnce()) -> ExitCode {
        self.events.settle();
        if self.json {
            json(document)
        } else {
            text()
        }
        ExitCode::SUCCESS
    }
}

/// A command for the user to run on the same directory.
pub(super) fn command_line(env: Env<'_>, rest: &str) -> String {
    let site = env.site.map(|site| format!("--site {} ", site.name)).unwrap_or_default();
    match env.directory.to_str() {
        Some(".") | None => format!("tinderbox {site}{rest}"),
        Some(directory) => format!("tinderbox -C {directory} {site}{rest}"),
    }
}

pub(super) fn exit_code(success: bool) -> ExitCode {
    if success { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Colours that are readable on light and dark backgrounds.
#[derive(Debug, Clone, Copy)]
pub(super) enum Colour {
    Red,
    Green,
    Yellow,
    Cyan,
    Dim,
}

impl Colour {
    fn code(self) -> &'static str {
        match self {
            Self::Red => "31;1",
            Self::Green => "32",
            Self::Yellow => "33",
            Self::Cyan => "36",
            Self::Dim => "2",
        }
    }
}

/// Whether stderr may have colours.
pub(super) fn stderr_is_colourful() -> bool {
    std::io::stderr().is_terminal() && wants_colour()
}

#[expect(
    clippy::disallowed_methods,
    reason = "NO_COLOR and TERM are about the terminal, which only cli knows"
)]
fn wants_colour() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Text for stderr, coloured if enabled.
pub(super) fn stderr_paint(text: &str, colour: Colour) -> String {
    paint(text, colour, stderr_is_colourful())
}

/// Text for stdout, coloured if enabled.
pub(super) fn stdout_paint(text: &str, colour: Colour) -> String {
    paint(text, colour, is_terminal() && wants_colour())
}

fn paint(text: &str, colour: Colour, wanted: bool) -> String {
    let mark = mark();
    if wanted { format!("{mark}[{}m{text}{mark}[0m", colour.code()) } else { text.to_owned() }
}

/// How our own sequences begin until they are printed: what others write cannot begin so, because it is chosen at random.
fn mark() -> &'static str {
    static MARK: OnceLock<String> = OnceLock::new();
    MARK.get_or_init(|| format!("\x1b{}", fs::random_name()))
}

/// Columns and rows of the terminal, if known.
pub(super) fn terminal() -> Option<(usize, usize)> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok().filter(|_| is_terminal())?;
    (size.ws_col > 0 && size.ws_row > 0).then(|| (size.ws_col.into(), size.ws_row.into()))
}

/// Prints text: verbatim into a file or pipe, [`visible`] on a terminal. A closed pipe is not an error.
pub(super) fn text(text: &str) {
    if is_terminal() { write(&visible(text)) } else { write(text) }
}

fn write(text: &str) {
    if let Some(captured) = &mut *CAPTURED.lock().unwrap_or_else(PoisonError::into_inner) {
        captured.extend(text.as_bytes());
        return;
    }
    let mut stdout = std::io::stdout().lock();
    if let Err(error) = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush())
        && error.kind() != std::io::ErrorKind::BrokenPipe
    {
        FAILURE.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
}

/// Why standard output is incomplete.
static FAILURE: Mutex<Option<std::io::Error>> = Mutex::new(None);

/// The first error of a write to standard output; a closed pipe is none.
pub(super) fn failure() -> Option<std::io::Error> {
    FAILURE.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Prints a line for people: on a terminal, folded between words. What is to be copied, such as a file or a command, is
/// [`text`]. If a value in it has line breaks, what follows them is [`indented`].
pub(super) fn line(line: impl std::fmt::Display) {
    print_folded(&indented(&format!("{line}\n")));
}

/// Prints lines for people, each where it begins: they are ours, or content that stands below its name.
pub(super) fn lines(text: &str) {
    text.lines().for_each(|line| print_folded(&format!("{line}\n")));
}

fn print_folded(text: &str) {
    match terminal() {
        Some((columns, _)) => write(&fold(&visible(text), columns)),
        None => self::text(text),
    }
}

/// Prints a message on stderr, which people read: always [`visible`], and folded on a terminal. Its first line is ours; if a
/// value in it has line breaks, what follows them is [`indented`]. Returns the number of rows.
pub(super) fn stderr_line(line: impl std::fmt::Display) -> usize {
    stderr_folded(&indented(&line.to_string()))
}

/// Prints lines on stderr, each of which is ours. Returns the number of rows.
pub(super) fn stderr_lines(text: &str) -> usize {
    text.split('\n').map(stderr_folded).sum()
}

fn stderr_folded(text: &str) -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stderr()).ok().filter(|size| size.ws_col > 0);
    let shown = visible(text);
    let shown = size.map_or_else(|| shown.to_string(), |size| fold(&shown, size.ws_col.into()));
    stderr(&format!("{shown}\n"));
    shown.split('\n').count()
}

/// Writes to stderr. Nobody may be reading it any more (`2>&1 | head`), which stops no build.
pub(super) fn stderr(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Writes to stdout, even while `-o` keeps what is printed: for errors, whose text no file gets.
pub(super) fn stdout_past_output(text: &str) {
    let text = if std::io::stdout().is_terminal() { visible(text) } else { text.into() };
    let _ = std::io::stdout().lock().write_all(text.as_bytes()); // the exit code tells too
}

/// The text with control characters escaped: what a config, an image or a program says must not move the cursor, hide
/// lines, colour or type. Line breaks, tabs and our own colours stay.
pub(super) fn visible(text: &str) -> Cow<'_, str> {
    let hidden = |c: char| controls_terminal(c) && c != '\n' && c != '\t';
    if !text.contains(hidden) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(at) = rest.find(hidden) {
        let (before, after) = rest.split_at(at);
        shown.push_str(before);
        match (after.strip_prefix(mark()), after.chars().next()) {
            (Some(ours), _) => {
                shown.push('\x1b');
                rest = ours;
            }
            (None, Some(c)) => {
                shown.extend(c.escape_default());
                rest = &after[c.len_utf8()..];
            }
            (None, None) => break,
        }
    }
    shown.push_str(rest);
    shown.into()
}

/// Prints one JSON document.
pub(super) fn json(value: &impl Serialize) {
    if let Ok(text) = serde_json::to_string_pretty(value) {
        self::text(&format!("{text}\n"));
    }
}

/// `1 object`, `2 objects`.
pub(super) fn count(number: usize, one: &str) -> String {
    let end = if number == 1 { "" } else { "s" };
    format!("{number} {one}{end}")
}

pub(super) fn size(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = (0..units.len() - 1).take_while(|unit| bytes >> (10 * (unit + 1)) > 0).count();
    match unit {
        0 => format!("{bytes} B"),
        unit => format!("{:.1} {}", bytes as f64 / (1u64 << (10 * unit)) as f64, units[unit]),
    }
}

#[cfg(test)]
mod tests {
    use super::{size, visible};

    #[test]
    fn what_others_say_moves_no_cursor() {
        assert_eq!(visible("plain\n\ttext ü"), "plain\n\ttext ü");
        assert_eq!(visible("a\u{1b}[2Jb\r\u{7}\u{202e}c"), "a\\u{1b}[2Jb\\r\\u{7}\\u{202e}c");
        // Colours are ours, or none.
        let red = super::paint("red\x1b[32m\u{8}", super::Colour::Red, true);
        assert_eq!(visible(&red), "\x1b[31;1mred\\u{1b}[32m\\u{8}\x1b[0m");
        assert_eq!(visible("\x1b[31;1mred\x1b[0m"), "\\u{1b}[31;1mred\\u{1b}[0m");
    }

    #[test]
    fn sizes_have_binary_units() {
        assert_eq!(
            [0, 1023, 1024, 1536, 1 << 30].map(size),
            ["0 B", "1023 B", "1.0 KiB", "1.5 KiB", "1.0 GiB"]
        );
    }
}
