//! What one node says of itself: a script that runs there once, and its output taken apart again.
//!
//! A node is not trusted: it cannot choose where its text goes, nor how much of it there is. Parts begin and end with a
//! word that it learns only now, and whose names it sends are taken as names below its own directory.

use std::ops::ControlFlow;
use std::time::Duration;

use super::spool::{Spool, Writer};
use crate::base::fs;
use crate::realize::logs::{PODS, UNITS, newest};
use crate::realize::ssh::Way;
use crate::realize::{Hands, RealizeError};

/// How long a node may take for everything.
const LIMIT: Duration = Duration::from_secs(180);
/// As much is taken of one part.
const PART: u64 = 32 << 20;
/// As much is taken of a node.
const WHOLE: u64 = 256 << 20;
/// As many parts are taken of a node.
const PARTS: usize = 500;
/// Longer lines are handed on in pieces.
const LINE: usize = 64 << 10;
/// Lines of a log.
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

/// The script. `mark` is a word that nothing on the node knows.
fn script(mark: &str) -> String {
    let mut script = format!(
        "part() {{\n\
         \x20 name=$1; shift\n\
         \x20 printf '{mark} begin %s\\n' \"$name\"\n\
         \x20 timeout 30 \"$@\" </dev/null 2>&1\n\
         \x20 printf '\\n{mark} end %s\\n' \"$?\"\n\
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
        script.push_str(&newest(pod, &take));
    }
    script
}

/// Asks a node for everything. What it does not say is missed; only our own disk is an error.
pub(super) fn gather(hands: Hands<'_>, spool: &Spool<'_>, way: &Way) -> Result<bool, RealizeError> {
    let mark = fs::random_name() + &fs::random_name();
    let below = format!("nodes/{}", way.node);
    let mut parts = Parts::new(spool, &below, &mark);
    let asked = hands.on_node(way, LIMIT, &script(&mark), &mut |piece| parts.take(piece));
    let reached = parts.count > 0;
    parts.end()?;
    if let Err(error) = asked {
        spool.miss(&format!("{below}/"), &crate::base::hint::chain(&error));
    }
    Ok(reached)
}

/// A node's output, taken apart as it comes.
struct Parts<'s, 'v> {
    spool: &'s Spool<'v>,
    below: &'s str,
    mark: &'s str,
    /// The line that has not ended yet.
    line: Vec<u8>,
    /// Whether pieces of that line were handed on already.
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
    /// Whether nothing came yet.
    first: bool,
}

impl<'s, 'v> Parts<'s, 'v> {
    fn new(spool: &'s Spool<'v>, below: &'s str, mark: &'s str) -> Self {
        let (line, part, failure) = (Vec::new(), None, None);
        Self { spool, below, mark, line, within: false, part, whole: 0, count: 0, failure }
    }

    /// Takes the next piece.
    fn take(&mut self, piece: &[u8]) -> ControlFlow<()> {
        self.whole += piece.len() as u64;
        if self.whole > WHOLE {
            self.spool.miss(
                &format!("{}/", self.below),
                &format!("more than {} MiB: the rest was left", WHOLE >> 20),
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
                match word.and_then(|line| line.strip_prefix(self.mark)?.strip_prefix(' ')) {
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
                self.finish(None)?;
                self.count += 1;
                if self.count <= PARTS {
                    let name = format!("{}/{}", self.below, safe(name));
                    let writer = self.spool.create(&name)?;
                    self.part = Some(Part { name, writer, size: 0, first: true });
                }
                Ok(())
            }
            Some(("end", status)) => self.finish(Some(status)),
            _ => Ok(()),
        }
    }

    /// More of a part. The end of a line is written with the next one: the last belongs to the word after it.
    fn content(&mut self, line: &[u8]) -> fs::Result<()> {
        let Some(part) = self.part.as_mut() else { return Ok(()) };
        let (before, size) = (part.size, line.len() as u64 + 1);
        part.size += size;
        if part.size > PART {
            if before <= PART {
                let why = format!("more than {} MiB: the rest was left", PART >> 20);
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

    fn finish(&mut self, status: Option<&str>) -> fs::Result<()> {
        let Some(part) = self.part.take() else { return Ok(()) };
        match status {
            Some("0") => {}
            Some("124") => self.spool.miss(&part.name, "it did not end within 30 seconds"),
            Some(status) => self.spool.miss(&part.name, &format!("it ended with {status}: see there")),
            None => self.spool.miss(&part.name, "it was cut off"),
        }
        self.spool.finish(part.writer)
    }

    /// The output has ended.
    fn end(mut self) -> Result<(), RealizeError> {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.content(&line)?;
        }
        self.finish(None)?;
        self.failure.take().map_or(Ok(()), |error| Err(error.into()))
    }
}

/// A name below the node's directory, whatever it sent.
fn safe(name: &str) -> String {
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
            assert_eq!(safe(name), expected, "{name}");
        }
    }

    /// Whatever the pieces, and whatever text looks like a mark.
    #[test]
    fn output_is_taken_apart_wherever_pieces_end() {
        let text = b"noise\nM begin a.txt\none\n M end 0\nX end 0\ntwo\n\nM end 0\nM begin b.txt\nno newline\nM end 3\nM begin c.txt\n\nM end 0\nM begin d.txt\ncut";
        let redactor = Redactor::new(Vec::new());
        for size in 1..text.len() {
            let temp = tempfile::tempdir().unwrap();
            let spool = Spool::make(temp.path().join("spool"), &redactor).unwrap();
            let mut parts = Parts::new(&spool, "nodes/n", "M");
            text.chunks(size).for_each(|piece| assert!(parts.take(piece).is_continue()));
            parts.end().unwrap();
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
                ["nodes/n/b.txt: it ended with 3: see there", "nodes/n/d.txt: it was cut off"]
            );
        }
    }
}
