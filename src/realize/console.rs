//! What a node writes to its serial console: a file in the pool that grows while the machine runs. What a
//! failed Ignition shows of its config is left out.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use super::RealizeError;
use super::apply::Hands;
use super::host::{number, volumes};
use super::shown::Filter;
use super::wanted::Machine;
use crate::base::fs::{self, At as _};
use crate::base::process::Take;

/// How often a console is looked at that is followed.
const TICK: Duration = Duration::from_millis(500);
/// How long a download may take.
const TRANSFER: Duration = Duration::from_secs(600);
/// As much is read at once.
const PIECE: usize = 64 << 10;

impl Hands<'_> {
    /// Hands on what a node wrote: its last lines, or all of it. Returns how much there is; none if it never wrote.
    pub(crate) fn console_text(
        &self,
        machine: &Machine,
        lines: Option<u64>,
        take: Take<'_>,
    ) -> Result<Option<u64>, RealizeError> {
        let (name, mut filter) = (machine.console(), Filter::default());
        if !volumes(self.virsh, &self.wanted.pool.uuid)?.contains(&name) {
            return Ok(None);
        }
        let read = self.with_download(&name, 0, |path| {
            let start = lines.map_or(Ok(0), |lines| last_lines(path, lines))?;
            read_from(path, start, &mut |piece| some(take, &filter.pass(piece)))
        })?;
        let _ = some(take, &filter.end()); // nothing comes after it
        Ok(Some(read))
    }

    /// Hands on what a node writes from now on, until the user or the receiver has enough.
    pub(crate) fn follow_console(
        &self,
        machine: &Machine,
        from: u64,
        take: Take<'_>,
    ) -> Result<(), RealizeError> {
        let (name, mut filter) = (machine.console(), Filter::default());
        let mut at = from;
        while !self.virsh.is_cancelled() {
            let size = self.console_size(&name)?;
            if size < at {
                at = 0; // a new machine, or a new file in place of a full one
            }
            if size > at {
                let mut enough = false;
                let read = self.with_download(&name, at, |path| {
                    read_from(path, 0, &mut |piece| {
                        let flow = some(take, &filter.pass(piece));
                        enough = flow.is_break();
                        flow
                    })
                })?;
                if enough {
                    return Ok(());
                }
                at += read;
            }
            std::thread::sleep(TICK); // libvirt tells nobody that a file grows
        }
        Ok(())
    }

    /// Bytes of a console; none yet is zero.
    pub(super) fn console_size(&self, name: &str) -> Result<u64, RealizeError> {
        let ended = self.virsh.run(&["vol-info", "--bytes", "--pool", &self.wanted.pool.uuid, name])?;
        Ok(if ended.is_success() { number(&ended.text(), "Capacity:").unwrap_or(0) } else { 0 })
    }

    /// Works on a file of the pool from some byte on, brought here and gone afterwards.
    pub(super) fn with_download<T>(
        &self,
        name: &str,
        from: u64,
        work: impl FnOnce(&Path) -> Result<T, RealizeError>,
    ) -> Result<T, RealizeError> {
        self.state.make()?;
        let (pool, to, from) = (&self.wanted.pool.uuid, self.state.scratch(), from.to_string());
        let shown = to.display().to_string();
        let args = ["vol-download", "--pool", pool, "--offset", &from, name, &shown];
        let done = fs::create_new(&to, 0o600)
            .map_err(RealizeError::from)
            .and_then(|_| self.virsh.ask_for(TRANSFER, &args))
            .and_then(|_| work(&to));
        fs::optional(fs::remove_file(&to))?;
        done
    }
}

/// Hands on what there is, if there is something.
fn some(take: Take<'_>, shown: &[u8]) -> ControlFlow<()> {
    if shown.is_empty() { ControlFlow::Continue(()) } else { take(shown) }
}

/// Hands on a file from some byte on. Returns its length.
pub(super) fn read_from(path: &Path, start: u64, take: Take<'_>) -> Result<u64, RealizeError> {
    let mut file = fs::open(path)?;
    let mut at = file.seek(SeekFrom::Start(start)).at("read", path)?;
    let mut piece = vec![0; PIECE];
    loop {
        let read = file.read(&mut piece).at("read", path)?;
        at += read as u64;
        if read == 0 || take(&piece[..read]) == ControlFlow::Break(()) {
            return Ok(at);
        }
    }
}

/// Where the last lines of a file begin.
fn last_lines(path: &Path, lines: u64) -> Result<u64, RealizeError> {
    let ends = |file: &mut File, seen: &mut dyn FnMut(u64) -> bool| -> fs::Result<u64> {
        let (mut at, mut piece) = (0, vec![0; PIECE]);
        loop {
            let read = file.read(&mut piece).at("read", path)?;
            for end in memchr::memchr_iter(b'\n', &piece[..read]) {
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
    let all = count + u64::from(last < size); // the last one may have no end yet
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
    fn last_lines_begin_where_they_should() {
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
