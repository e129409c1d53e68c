//! The serial console of a node: its log, filtered. The config that a failed Ignition prints to it is left out.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use super::console_filter::ConsoleFilter;
use super::desired::DesiredMachine;
use super::provider::{Consoles, log_of, read_console};
use super::{RealizeError, Realizer, Result};
use crate::base::fs::{self, At as _};
use crate::base::process::Sink;

/// How often a followed console is polled.
const POLL: Duration = Duration::from_millis(500);
/// Bytes read at once.
const CHUNK: usize = 64 << 10;

/// Streams a console: its last lines, or all of it. Returns its size; none if there is no log yet.
pub(crate) fn stream(
    realizer: &Realizer<'_>,
    machine: &DesiredMachine,
    lines: Option<u64>,
    sink: Sink<'_>,
) -> Result<Option<u64>> {
    let (source, name, mut filter) = (source(realizer)?, log_of(&machine.node), ConsoleFilter::default());
    if !source.files()?.contains(&name) {
        return Ok(None);
    }
    let read = read_console(&*source, &name, 0, |path, _| {
        let start = lines.map_or(Ok(0), |lines| last_lines(path, lines))?;
        read_from(path, start, &mut |chunk| pass(sink, &filter.push(chunk)))
    })?;
    let _ = pass(sink, &filter.finish()); // nothing comes after it
    Ok(Some(read.unwrap_or(0)))
}

/// Streams what a node writes from byte `from` on, until the user cancels or the sink has seen enough.
pub(crate) fn follow(
    realizer: &Realizer<'_>,
    machine: &DesiredMachine,
    from: u64,
    sink: Sink<'_>,
) -> Result<()> {
    let (source, name, mut filter) = (source(realizer)?, log_of(&machine.node), ConsoleFilter::default());
    let mut at = from;
    while !realizer.runner.is_cancelled() {
        let size = source.size(&name)?;
        if size < at {
            at = 0; // the log was rotated, or the machine was created again
        }
        if size > at {
            let mut enough = false;
            let read = read_console(&*source, &name, at, |path, start| {
                let end = read_from(path, start, &mut |chunk| {
                    let flow = pass(sink, &filter.push(chunk));
                    enough = flow.is_break();
                    flow
                })?;
                Ok(end - start)
            })?;
            at += read.unwrap_or(0);
            if enough {
                return Ok(());
            }
        }
        std::thread::sleep(POLL); // nothing tells us that the file has grown
    }
    Ok(())
}

fn source<'a>(realizer: &Realizer<'a>) -> Result<Box<dyn Consoles + 'a>> {
    realizer.provider.consoles(true, realizer.access).ok_or(RealizeError::NoConsoles)
}

/// Passes on what is left after filtering.
fn pass(sink: Sink<'_>, shown: &[u8]) -> ControlFlow<()> {
    if shown.is_empty() { ControlFlow::Continue(()) } else { sink(shown) }
}

/// Streams a file from a byte on. Returns where it ended.
pub(super) fn read_from(path: &Path, start: u64, sink: Sink<'_>) -> Result<u64> {
    let mut file = fs::open(path)?;
    let mut at = file.seek(SeekFrom::Start(start)).at("read", path)?;
    let mut chunk = vec![0; CHUNK];
    loop {
        let read = file.read(&mut chunk).at("read", path)?;
        at += read as u64;
        if read == 0 || sink(&chunk[..read]) == ControlFlow::Break(()) {
            return Ok(at);
        }
    }
}

/// The offset where the last lines of a file begin.
fn last_lines(path: &Path, lines: u64) -> Result<u64> {
    let ends = |file: &mut File, seen: &mut dyn FnMut(u64) -> bool| -> fs::Result<u64> {
        let (mut at, mut chunk) = (0, vec![0; CHUNK]);
        loop {
            let read = file.read(&mut chunk).at("read", path)?;
            for end in memchr::memchr_iter(b'\n', &chunk[..read]) {
                let next = at + end as u64 + 1;
                if !seen(next) {
                    return Ok(next);
                }
            }
            at += read as u64;
            if read == 0 {
                return Ok(at);
            }
        }
    };
    let mut file = fs::open(path)?;
    let (mut count, mut last) = (0, 0);
    let size = ends(&mut file, &mut |at| {
        (count, last) = (count + 1, at);
        true
    })?;
    let all = count + u64::from(last < size); // the last line may be incomplete
    let mut skip = all.saturating_sub(lines);
    if skip == 0 {
        return Ok(0);
    }
    file.seek(SeekFrom::Start(0)).at("read", path)?;
    Ok(ends(&mut file, &mut |_| {
        skip -= 1;
        skip > 0
    })?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_lines_are_found() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("log");
        for (text, lines, expected) in [
            ("a\nb\nc\n", 1, "c\n"),
            ("a\nb\nc", 2, "b\nc"),
            ("a\nb\n", 5, "a\nb\n"),
            ("a\nb\n", 0, ""),
            ("", 3, ""),
        ] {
            fs::replace(&path, text.as_bytes(), 0o600).unwrap();
            let start = last_lines(&path, lines).unwrap();
            assert_eq!(&text[usize::try_from(start).unwrap()..], expected, "{text:?} {lines}");
        }
    }
}
