//! Events for people: a live view on a terminal, problems without one, JSON lines for machines.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::output::{Colour, size, stderr, stderr_line, stderr_lines, stderr_paint};
use crate::base::event::{Event, Events};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    /// Errors only.
    Quiet,
    /// On a terminal what is going on, else problems only.
    Normal,
    /// A line for every derivation.
    Verbose,
}

/// Redraw interval of the live view.
const FRAME: Duration = Duration::from_millis(100);
/// How often a download is reported without a terminal.
const REPORTED: Duration = Duration::from_secs(10);
/// Maximum number of running derivations to show.
const SHOWN: usize = 8;

/// Receives events and shows them. Dropping it ends the view.
pub(super) struct Progress {
    level: Level,
    /// Whether somebody watches.
    terminal: bool,
    /// Warnings so far: whatever reads the directory again would repeat them.
    warnings: Mutex<BTreeSet<String>>,
    live: Mutex<Option<Live>>,
    log: Option<Mutex<File>>,
    /// When a download was last reported, and its stage.
    reported: Mutex<Option<(Instant, &'static str)>>,
}

/// The drawing thread.
struct Live {
    events: Sender<Event>,
    view: JoinHandle<()>,
}

impl Progress {
    pub(super) fn new(level: Level, log: Option<File>) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let live = (terminal && level == Level::Normal).then(|| {
            let (sender, events) = mpsc::channel();
            let view = std::thread::spawn(move || View::default().run(&events));
            Live { events: sender, view }
        });
        let (live, log) = (Mutex::new(live), log.map(Mutex::new));
        Self { level, terminal, warnings: Mutex::default(), live, log, reported: Mutex::default() }
    }

    pub(super) fn is_verbose(&self) -> bool {
        self.level == Level::Verbose
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.level == Level::Quiet
    }

    /// Shows how it ended, made from the number of warnings. A pipe gets that only if it asks for more.
    pub(super) fn conclude(&self, text: impl FnOnce(usize) -> String) {
        self.settle();
        if self.level == Level::Verbose || (self.terminal && self.level == Level::Normal) {
            let warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner).len();
            stderr_lines(&text(warnings));
        }
    }

    /// Whether this is the next report of a download. Every other event is due.
    fn is_due(&self, event: &Event) -> bool {
        let Event::Fetching { stage, .. } = event else { return true };
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        let due = reported.is_none_or(|(last, then)| then != *stage || last.elapsed() >= REPORTED);
        if due {
            *reported = Some((Instant::now(), *stage));
        }
        due
    }
}

impl Events for Progress {
    fn emit(&self, event: Event) {
        if let Some(log) = &self.log {
            let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
            if let Ok(line) = serde_json::to_string(&event) {
                let _ = writeln!(log, "{line}"); // a full disk must not stop the build
            }
        }
        if let Event::Warning { text } = &event
            && !self.warnings.lock().unwrap_or_else(PoisonError::into_inner).insert(text.clone())
        {
            return;
        }
        match &*self.live.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(live) => drop(live.events.send(event)),
            None => {
                if let Some(line) = plain(&event, self.level).filter(|_| self.is_due(&event)) {
                    stderr_line(line);
                }
            }
        }
    }

    fn settle(&self) {
        let live = self.live.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Live { events, view }) = live {
            drop(events);
            let _ = view.join(); // a view that panicked has nothing more to show
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.settle();
    }
}

/// One line for an event, if this level includes it.
fn plain(event: &Event, level: Level) -> Option<String> {
    match event {
        _ if level == Level::Quiet => None,
        Event::Warning { text } => Some(format!("{} {text}", stderr_paint("warning:", Colour::Yellow))),
        Event::Notice { text } => Some(format!("{} {text}", stderr_paint("note:", Colour::Cyan))),
        Event::Built { name, milliseconds, .. } if level == Level::Verbose => {
            Some(format!("{} {name} ({milliseconds} ms)", stderr_paint("built", Colour::Green)))
        }
        Event::Substituted { name, cache, bytes, .. } if level == Level::Verbose => {
            Some(format!("{} {name}: {} from {cache}", stderr_paint("took", Colour::Green), size(*bytes)))
        }
        Event::Pushed { name, bytes, new } if level == Level::Verbose => Some(match new {
            true => format!("{} {name}: {}", stderr_paint("pushed", Colour::Green), size(*bytes)),
            false => format!("there already {name}"),
        }),
        Event::Fetching { name, stage, bytes, total } => {
            let of = total.map(|total| format!(" of {}", size(total))).unwrap_or_default();
            Some(format!("{stage} {name}: {}{of}", size(*bytes)))
        }
        Event::Fetched { name, bytes, milliseconds } => Some(format!(
            "{} {name}: {}, verified ({milliseconds} ms)",
            stderr_paint("fetched", Colour::Green),
            size(*bytes)
        )),
        Event::Step { phase, action, resource, name, milliseconds } => {
            let done = stderr_paint(&format!("{phase}:"), Colour::Green);
            let name = if name.is_empty() { String::new() } else { format!(" {name}") };
            Some(format!("{done} {action} {resource}{name} ({milliseconds} ms)"))
        }
        Event::Approved { request, node, certificate } => Some(format!(
            "{} {request}: {certificate} certificate of {node}",
            stderr_paint("approved", Colour::Green)
        )),
        Event::LeftAlone { request, reason } => {
            Some(format!("{} {request}: {reason}", stderr_paint("left alone", Colour::Yellow)))
        }
        Event::Joined { node } => Some(format!("{} {node}", stderr_paint("joined", Colour::Green))),
        Event::Awaiting { what, seen } => Some(format!("waiting for {what}: {seen}")),
        Event::Operator { name, state, message } => {
            let told = if message.is_empty() { String::new() } else { format!(": {message}") };
            Some(format!("{} {name} {state}{told}", stderr_paint("operator:", Colour::Cyan)))
        }
        Event::Checked { name, passed, detail } => {
            let word =
                if *passed { stderr_paint("ok", Colour::Green) } else { stderr_paint("failed", Colour::Red) };
            Some(format!("verify: {name} {word}: {detail}"))
        }
        Event::Failed { name, .. } => Some(format!("{} {name}", stderr_paint("failed", Colour::Red))),
        Event::FailedAlike { name, first } if level == Level::Verbose => {
            Some(format!("{} {name}, as {first}", stderr_paint("failed", Colour::Red)))
        }
        Event::Waiting { name } => Some(format!("waiting for another process to build {name}")),
        Event::Cached { name, .. } if level == Level::Verbose => Some(format!("cached {name}")),
        Event::Skipped { name, because } if level == Level::Verbose => {
            Some(format!("skipped {name}: {because} failed"))
        }
        _ => None,
    }
}

/// The live view: counts, and running derivations with their duration.
#[derive(Default)]
struct View {
    running: Vec<(String, Instant)>,
    total: usize,
    cached: usize,
    built: usize,
    /// From caches, and their bytes.
    substituted: usize,
    transferred: u64,
    /// At a cache now, sent or there before, and bytes that were sent.
    pushed: usize,
    there: usize,
    sent: u64,
    failed: usize,
    /// The state of the current download.
    download: Option<String>,
    /// Number of lines on the screen that are ours.
    drawn: usize,
}

impl View {
    fn run(mut self, events: &mpsc::Receiver<Event>) {
        let mut due = Instant::now() + FRAME;
        loop {
            match events.recv_timeout(due.saturating_duration_since(Instant::now())) {
                Ok(event) => self.take(event),
                Err(RecvTimeoutError::Timeout) => {
                    self.draw();
                    due = Instant::now() + FRAME;
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.clear();
    }

    fn take(&mut self, event: Event) {
        match &event {
            // A verb may build several graphs, one after another.
            Event::Planned { total, cached } => {
                (self.total, self.cached, self.built, self.failed) = (*total, *cached, 0, 0);
                (self.substituted, self.transferred) = (0, 0);
                self.running.clear();
            }
            Event::Cached { name, .. } => {
                self.cached += 1;
                self.running.retain(|(running, _)| running != name);
            }
            Event::Started { name, .. } => self.running.push((name.clone(), Instant::now())),
            Event::Built { name, .. } => {
                self.built += 1;
                self.running.retain(|(running, _)| running != name);
            }
            Event::Substituted { bytes, .. } => {
                self.substituted += 1;
                self.transferred += bytes;
            }
            Event::Pushed { bytes, new: true, .. } => {
                self.pushed += 1;
                self.sent += bytes;
            }
            Event::Pushed { .. } => self.there += 1,
            Event::Failed { name, .. } | Event::FailedAlike { name, .. } => {
                self.failed += 1;
                self.running.retain(|(running, _)| running != name);
            }
            Event::Fetching { .. } => self.download = plain(&event, Level::Normal),
            Event::Fetched { .. } => self.download = None,
            _ => {}
        }
        let lasting = matches!(
            event,
            Event::Warning { .. }
                | Event::Notice { .. }
                | Event::Failed { .. }
                | Event::Fetched { .. }
                | Event::Step { .. }
                | Event::Approved { .. }
                | Event::LeftAlone { .. }
                | Event::Joined { .. }
                | Event::Awaiting { .. }
                | Event::Operator { .. }
                | Event::Checked { .. }
                | Event::Waiting { .. }
        );
        if let Some(line) = plain(&event, Level::Normal).filter(|_| lasting) {
            self.clear();
            stderr_line(line);
        }
    }

    fn draw(&mut self) {
        if let Some(download) = &self.download {
            let text = format!("  {download}");
            self.clear();
            self.drawn = stderr_line(text);
            return;
        }
        self.clear();
        if self.pushed + self.there > 0 {
            let Self { pushed, there, sent, .. } = self;
            let text = format!("{pushed} pushed ({}), {there} already there", size(*sent));
            self.drawn = stderr_line(text);
            return;
        }
        if self.total == 0 {
            return;
        }
        // Everything is built, and another operation continues.
        if self.running.is_empty() && self.built + self.substituted + self.cached + self.failed >= self.total
        {
            return;
        }
        let mut lines: Vec<String> = self
            .running
            .iter()
            .take(SHOWN)
            .map(|(name, since)| {
                format!("  {} {:.1} s", stderr_paint(name, Colour::Yellow), since.elapsed().as_secs_f32())
            })
            .collect();
        if self.running.len() > SHOWN {
            lines.push(format!("  and {} more", self.running.len() - SHOWN));
        }
        let failed = if self.failed > 0 { format!(", {} failed", self.failed) } else { String::new() };
        let taken = match self.substituted {
            0 => String::new(),
            count => format!(", {count} from a cache ({})", size(self.transferred)),
        };
        let Self { built, cached, total, .. } = &self;
        lines.push(format!("{built} built{taken}, {cached} cached, of {total}{failed}"));
        self.drawn = stderr_lines(&lines.join("\n"));
    }

    /// Erases the view, so that permanent lines appear above it.
    fn clear(&mut self) {
        if self.drawn > 0 {
            // Line by line: tmux moves what "erase below" clears into its history if that is the whole screen.
            stderr(&"\x1b[A\x1b[2K".repeat(self.drawn));
            self.drawn = 0;
        }
    }
}
