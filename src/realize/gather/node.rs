//! What one node says over SSH: one script runs there once, and its output is split again.
//!
//! A node is not trusted: it chooses neither where its text goes nor how much of it is kept. Parts begin and end with a
//! random word, and the names that it sends are sanitised and put below its own directory.

use std::ops::ControlFlow;
use std::time::Duration;

use super::spool::{Spool, Writer};
use crate::base::fs;
use crate::realize::logs::{PODS, UNITS, for_newest};
use crate::realize::ssh::{self, SshRoute};
use crate::realize::{Realizer, Result};

/// For everything on a node.
const LIMIT: Duration = Duration::from_secs(180);
/// The most that is kept of one part.
const PART: u64 = 32 << 20;
/// The most that is kept of a node.
const WHOLE: u64 = 256 << 20;
/// The most parts that are kept of a node.
const PARTS: usize = 500;
/// Longer lines are split.
const LINE: usize = 64 << 10;
/// The last lines of a log that are kept.
const LINES: u32 = 20_000;

/// Parts with the commands that print them, small ones first.
const COMMANDS: [(&str, &str); 11] = [
    ("units.txt", "systemctl list-units --all --no-pager --plain"),
    ("failed-units.txt", "systemctl list-units --failed --no-pager --plain"),
    ("containers.txt", "crictl ps -a"),
    ("pods.txt", "crictl pods"),
    ("addresses.txt", "ip address"),
    ("routes.txt", "ip route"),
    ("disks.txt", "df -h"),
    ("resolv.conf", "cat /etc/resolv.conf"),
    ("journal-ignition.txt", "journalctl --no-pager --lines=LINES --identifier=ignition"),
    ("journal.txt", "journalctl --no-pager --lines=LINES"),
    ("uptime.txt", "uptime"),
];

/// `marker` is a word that nothing on the node can know.
fn script(marker: &str) -> String {
    let mut script = format!(
        "part() {{\n\
         \x20 name=$1; shift\n\
         \x20 printf '{marker} begin %s\\n' \"$name\"\n\
         \x20 timeout 30 \"$@\" </dev/null 2>&1\n\
         \x20 printf '\\n{marker} end %s\\n' \"$?\"\n\
         }}\n"
    );
    for (name, command) in COMMANDS {
        script.push_str(&format!("part {name} {}\n", command.replace("LINES", &LINES.to_string())));
    }
    for unit in UNITS {
        script.push_str(&format!(
            "part journal-{unit}.txt journalctl --no-pager --lines={LINES} --unit={unit}.service\n"
        ));
    }
    for pod in PODS {
        let take = format!("part \"pods/${{log#/var/log/pods/}}\" tail -n {LINES} \"$log\"");
        script.push_str(&for_newest(pod, &take));
    }
    script
}

/// Asks a node for everything. What it does not say is recorded as missing; only our own disk is an error.
pub(super) fn gather(realizer: &Realizer<'_>, spool: &Spool<'_>, route: &SshRoute) -> Result<bool> {
    let marker = fs::random_name() + &fs::random_name();
    let below = format!("nodes/{}", route.node);
    let mut parts = Parts::new(spool, &below, &marker);
    let asked = ssh::run_script(realizer, route, LIMIT, &script(&marker), &mut |chunk| parts.push(chunk));
    let reached = parts.count > 0;
    parts.finish()?;
    if let Err(error) = asked {
        spool.miss(&format!("{below}/"), &crate::base::hint::chain(&error));
    }
    Ok(reached)
}

/// Splits a node's output as it comes.
struct Parts<'s, 'v> {
    spool: &'s Spool<'v>,
    below: &'s str,
    marker: &'s str,
    /// The current, incomplete line.
    line: Vec<u8>,
    /// Whether a part of that line was already written.
    within: bool,
    part: Option<Part<'v>>,
    whole: u64,
    count: usize,
    failure: Option<fs::Error>,
}

/// The part that is being written.
struct Part<'v> {
    name: String,
    writer: Writer<'v>,
    size: u64,
    /// Whether nothing was written yet.
    first: bool,
}

impl<'s, 'v> Parts<'s, 'v> {
    fn new(spool: &'s Spool<'v>, below: &'s str, marker: &'s str) -> Self {
        let (line, part, failure) = (Vec::new(), None, None);
        Self { spool, below, marker, line, within: false, part, whole: 0, count: 0, failure }
    }

    fn push(&mut self, piece: &[u8]) -> ControlFlow<()> {
        self.whole += piece.len() as u64;
        if self.whole > WHOLE {
            self.spool.miss(
                &format!("{}/", self.below),
                &format!("more than {} MiB: the rest was dropped", WHOLE >> 20),
            );
            return ControlFlow::Break(());
        }
        match self.lines(piece) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.failure = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    fn lines(&mut self, piece: &[u8]) -> fs::Result<()> {
        for chunk in piece.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(chunk.strip_suffix(b"\n").unwrap_or(chunk));
            let ended = chunk.ends_with(b"\n");
            if ended || self.line.len() > LINE {
                let line = std::mem::take(&mut self.line);
                let word = std::str::from_utf8(&line).ok().filter(|_| !self.within && ended);
                match word.and_then(|line| line.strip_prefix(self.marker)?.strip_prefix(' ')) {
                    Some(word) => self.control(word)?,
                    None => self.content(&line)?,
                }
                self.within = !ended;
            }
        }
        Ok(())
    }

    /// A part begins or ends.
    fn control(&mut self, word: &str) -> fs::Result<()> {
        match word.split_once(' ') {
            Some(("begin", name)) => {
                self.end_part(None)?;
                self.count += 1;
                if self.count <= PARTS {
                    let name = format!("{}/{}", self.below, sanitised(name));
                    let writer = self.spool.create(&name)?;
                    self.part = Some(Part { name, writer, size: 0, first: true });
                }
                Ok(())
            }
            Some(("end", status)) => self.end_part(Some(status)),
            _ => Ok(()),
        }
    }

    /// A line of a part. Its newline is written with the next line: the last one belongs to the marker.
    fn content(&mut self, line: &[u8]) -> fs::Result<()> {
        let Some(part) = self.part.as_mut() else { return Ok(()) };
        let (before, size) = (part.size, line.len() as u64 + 1);
        part.size += size;
        if part.size > PART {
            if before <= PART {
                let why = format!("more than {} MiB: the rest was dropped", PART >> 20);
                self.spool.miss(&part.name, &why);
            }
            return Ok(());
        }
        if !part.first && !self.within {
            self.spool.write(&mut part.writer, b"\n")?;
        }
        part.first = false;
        self.spool.write(&mut part.writer, line)
    }

    fn end_part(&mut self, status: Option<&str>) -> fs::Result<()> {
        let Some(part) = self.part.take() else { return Ok(()) };
        match status {
            Some("0") => {}
            Some("124") => self.spool.miss(&part.name, "it did not finish within 30 seconds"),
            Some(status) => self.spool.miss(&part.name, &format!("exit status {status}: see the file")),
            None => self.spool.miss(&part.name, "it was cut off"),
        }
        self.spool.finish(part.writer)
    }

    /// At the end of the output.
    fn finish(mut self) -> Result<()> {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.content(&line)?;
        }
        self.end_part(None)?;
        self.failure.take().map_or(Ok(()), |error| Err(error.into()))
    }
}

/// Sanitises a name that a node sent.
fn sanitised(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let parts = name.split('/').filter(|part| !part.trim_matches('.').is_empty());
    let parts = parts.map(|part| part.chars().take(120).map(|c| if is_plain(c) { c } else { '_' }).collect());
    let parts: Vec<String> = parts.take(6).collect();
    if parts.is_empty() { "unnamed".to_owned() } else { parts.join("/") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::redact::Redactor;

    #[test]
    fn names_stay_below_the_node() {
        for (name, expected) in [
            ("pods/a_b-c_1/etcd/0.log", "pods/a_b-c_1/etcd/0.log"),
            ("../../etc/passwd", "etc/passwd"),
            ("/etc/x y", "etc/x_y"),
            ("./..", "unnamed"),
            ("a/\u{1b}[2J", "a/__2J"),
        ] {
            assert_eq!(sanitised(name), expected, "{name}");
        }
    }

    /// Wherever chunks end, and whatever text looks like a marker.
    #[test]
    fn output_is_split_wherever_chunks_end() {
        let text = b"noise\nM begin a.txt\none\n M end 0\nX end 0\ntwo\n\nM end 0\nM begin b.txt\nno newline\nM end 3\nM begin c.txt\n\nM end 0\nM begin d.txt\ncut";
        let redactor = Redactor::new(Vec::new());
        for size in 1..text.len() {
            let temp = tempfile::tempdir().unwrap();
            let spool = Spool::make(temp.path().join("spool"), &redactor).unwrap();
            let mut parts = Parts::new(&spool, "nodes/n", "M");
            text.chunks(size).for_each(|piece| assert!(parts.push(piece).is_continue()));
            parts.finish().unwrap();
            spool.archive("x", &temp.path().join("archive")).unwrap();
            let packed = flate2::read::GzDecoder::new(fs::open(&temp.path().join("archive")).unwrap());
            let mut tar = tar::Archive::new(packed);
            let mut found = Vec::new();
            for entry in tar.entries().unwrap() {
                let mut entry = entry.unwrap();
                let name = entry.path().unwrap().display().to_string();
                let mut text = String::new();
                std::io::Read::read_to_string(&mut entry, &mut text).unwrap();
                found.push((name, text));
            }
            let expected = [
                ("x/nodes/n/a.txt", "one\n M end 0\nX end 0\ntwo\n"),
                ("x/nodes/n/b.txt", "no newline"),
                ("x/nodes/n/c.txt", ""),
                ("x/nodes/n/d.txt", "cut"),
            ];
            assert_eq!(found, expected.map(|(name, text)| (name.to_owned(), text.to_owned())), "{size}");
            let missed: Vec<String> =
                spool.missed().into_iter().map(|one| format!("{}: {}", one.what, one.why)).collect();
            assert_eq!(
                missed,
                ["nodes/n/b.txt: exit status 3: see the file", "nodes/n/d.txt: it was cut off"]
            );
        }
    }
}
