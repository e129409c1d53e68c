//! libvirt through `virsh`: the one place that runs it, and that knows its words.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::RealizeError;
use super::xml::Element;
use crate::base::process::{Ended, Programs, Run};

/// How long a question may take: over ssh, with a slow login.
const LIMIT: Duration = Duration::from_secs(60);

/// A connection to libvirt.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Virsh<'a> {
    pub programs: &'a Programs,
    pub uri: &'a str,
    /// Only to look: everybody may.
    pub read_only: bool,
    /// Set when everything is to end.
    pub cancel: &'a AtomicBool,
}

impl Virsh<'_> {
    /// Whether libvirt is on this machine.
    pub(crate) fn is_local(&self) -> bool {
        self.uri.split_once("://").is_some_and(|(_, rest)| rest.starts_with('/'))
    }

    /// Whether this is a user's own libvirt, which has no networks.
    pub(crate) fn is_session(&self) -> bool {
        self.uri.split('?').next().unwrap_or_default().ends_with("/session")
    }

    /// Whether the user wants to stop.
    pub(super) fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// What it answers; a refusal is an error.
    pub(super) fn ask(&self, args: &[&str]) -> Result<String, RealizeError> {
        self.ask_for(LIMIT, args)
    }

    /// The same for what takes longer.
    pub(super) fn ask_for(&self, limit: Duration, args: &[&str]) -> Result<String, RealizeError> {
        let ended = self.run_for(limit, args)?;
        if ended.is_success() { Ok(ended.text()) } else { Err(self.failed(args, &ended)) }
    }

    /// The error of something that it did not do.
    pub(super) fn failed(&self, args: &[&str], ended: &Ended) -> RealizeError {
        RealizeError::Failed { command: args.join(" "), words: words(ended) }
    }

    /// How it ended; only a libvirt that cannot be talked to is an error.
    pub(super) fn run(&self, args: &[&str]) -> Result<Ended, RealizeError> {
        self.run_for(LIMIT, args)
    }

    fn run_for(&self, limit: Duration, args: &[&str]) -> Result<Ended, RealizeError> {
        let connection: &[&str] = if self.read_only { &["-q", "-r", "-c"] } else { &["-q", "-c"] };
        let args = [connection, &[self.uri], args].concat();
        let run =
            Run { program: "virsh", args: &args, stdin: b"", limit, daemon: false, cancel: self.cancel };
        let ended = self.programs.run(run)?;
        if !ended.is_success() && ended.stderr.contains("failed to connect to the hypervisor") {
            return Err(refused(self.uri, &words(&ended)));
        }
        Ok(ended)
    }

    /// The UUIDs that a list has.
    pub(super) fn uuids(&self, list: &[&str]) -> Result<Vec<String>, RealizeError> {
        let text = self.ask(&[list, &["--uuid"]].concat())?;
        Ok(text.split_whitespace().map(str::to_owned).collect())
    }

    /// The description of one object, if it is there.
    pub(super) fn find(
        &self,
        what: &'static str,
        [list, verb, root]: [&str; 3],
        uuid: &String,
    ) -> Result<Option<Element>, RealizeError> {
        match self.uuids(&[list, "--all"])?.contains(uuid) {
            true => Ok(self.describe(what, verb, root, std::slice::from_ref(uuid))?.pop()),
            false => Ok(None),
        }
    }

    /// Descriptions of many objects, in one go: over ssh each go takes a second.
    pub(super) fn describe(
        &self,
        what: &'static str,
        verb: &str,
        root: &str,
        uuids: &[String],
    ) -> Result<Vec<Element>, RealizeError> {
        if uuids.is_empty() {
            return Ok(Vec::new());
        }
        let batch: Vec<String> = uuids.iter().map(|uuid| format!("{verb} --inactive {uuid}")).collect();
        let text = self.run(&[&batch.join("; ")])?.text();
        let end = format!("</{root}>");
        let documents = text.split_inclusive(&end).filter(|one| one.trim_end().ends_with(&end));
        let found: Vec<Element> =
            documents.map(|one| Element::parse(what, one.trim())).collect::<Result<_, _>>()?;
        if found.len() == uuids.len() { Ok(found) } else { Err(RealizeError::Moving { what }) }
    }
}

/// The lines that say something.
pub(super) fn words(ended: &Ended) -> String {
    let lines = ended.stderr.lines().map(|line| line.trim_start_matches("error: ").trim());
    let told: Vec<&str> = lines
        .filter(|line| !line.is_empty() && !line.contains("failed to connect to the hypervisor"))
        .collect();
    if told.is_empty() { "it said nothing".to_owned() } else { told.join("; ") }
}

/// Which kind of refusal this is, by libvirt's and ssh's own words.
fn refused(uri: &str, words: &str) -> RealizeError {
    let (uri, words) = (uri.to_owned(), words.to_owned());
    let says = |parts: &[&str]| parts.iter().any(|part| words.to_lowercase().contains(part));
    // ssh refuses in the words that a socket uses too.
    if says(&["(publickey", "host key verification", "could not resolve", "timed out", "no route"]) {
        RealizeError::Unreachable { uri, words }
    } else if says(&["permission denied", "access denied", "authentication", "authorization", "polkit"]) {
        RealizeError::Forbidden { uri, words }
    } else if says(&["no such file or directory", "connection refused"]) {
        RealizeError::NotRunning { uri, words }
    } else {
        RealizeError::Unreachable { uri, words }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In libvirt 9's own words, and ssh's.
    #[test]
    fn refusals_are_told_apart() {
        let kind = |words: &str| match refused("qemu:///system", words) {
            RealizeError::NotRunning { .. } => "not running",
            RealizeError::Forbidden { .. } => "forbidden",
            RealizeError::Unreachable { .. } => "unreachable",
            _ => "?",
        };
        for (words, expected) in [
            (
                "Failed to connect socket to '/var/run/libvirt/libvirt-sock': No such file or directory",
                "not running",
            ),
            ("Failed to connect socket to '/run/libvirt/libvirt-sock': Connection refused", "not running"),
            ("Failed to connect socket to '/var/run/libvirt/libvirt-sock': Permission denied", "forbidden"),
            ("authentication unavailable: no polkit agent available to authenticate action", "forbidden"),
            (
                "Cannot recv data: core@lab: Permission denied (publickey).: Connection reset by peer",
                "unreachable",
            ),
            (
                "Cannot recv data: ssh: Could not resolve hostname lab: Name or service not known",
                "unreachable",
            ),
            ("no connection driver available for lxx:///", "unreachable"),
        ] {
            assert_eq!(kind(words), expected, "{words}");
        }
    }
}
