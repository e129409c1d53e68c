//! The connection to libvirt: the only file that runs `virsh`, and that interprets its messages.

use std::time::Duration;

use super::LibvirtError;
use super::xml::Element;
use crate::base::process::{Invocation, ProcessError, ProcessOutput, ProgramRunner};
use crate::realize::{RealizeError, Result};

/// How long a query may take: over ssh, with a slow login.
const LIMIT: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy)]
pub(crate) struct Connection<'a> {
    runner: ProgramRunner<'a>,
    uri: &'a str,
    read_only: bool,
}

impl<'a> Connection<'a> {
    pub(crate) fn new(runner: ProgramRunner<'a>, uri: &'a str) -> Self {
        Self { runner, uri, read_only: false }
    }

    pub(crate) fn uri(&self) -> &'a str {
        self.uri
    }

    pub(super) fn runner(&self) -> ProgramRunner<'a> {
        self.runner
    }

    /// The same place, read-only: every user may look.
    pub(super) fn read_only<'b>(self, uri: &'b str) -> Connection<'b>
    where
        'a: 'b,
    {
        Connection { runner: self.runner, uri, read_only: true }
    }

    /// Whether libvirt runs on this machine.
    pub(crate) fn is_local(&self) -> bool {
        self.uri.split_once("://").is_some_and(|(_, rest)| rest.starts_with('/'))
    }

    /// Whether this is a user's own libvirt, which has no networks.
    pub(crate) fn is_session(&self) -> bool {
        self.uri.split('?').next().unwrap_or_default().ends_with("/session")
    }

    /// The host that libvirt runs on, if ssh reaches it: `qemu+ssh://user@host:port/system`.
    pub(super) fn ssh_host(&self) -> Option<String> {
        let (scheme, rest) = self.uri.split_once("://")?;
        let over_ssh = ["+ssh", "+libssh", "+libssh2"].iter().any(|transport| scheme.ends_with(transport));
        let host = rest.split(['/', '?']).next().unwrap_or_default();
        (over_ssh && !host.is_empty()).then(|| host.to_owned())
    }

    /// What virsh prints; a non-zero exit is an error.
    pub(super) fn query(&self, args: &[&str]) -> Result<String> {
        self.query_within(LIMIT, args)
    }

    pub(super) fn query_within(&self, limit: Duration, args: &[&str]) -> Result<String> {
        let output = self.run_within(limit, args)?;
        if output.is_success() { Ok(output.text()) } else { Err(self.failed(args, &output)) }
    }

    pub(super) fn failed(&self, args: &[&str], output: &ProcessOutput) -> RealizeError {
        LibvirtError::Command { command: args.join(" "), message: message(output) }.into()
    }

    /// The outcome for the caller to judge; only a failed connection is an error.
    pub(super) fn run(&self, args: &[&str]) -> Result<ProcessOutput> {
        self.run_within(LIMIT, args)
    }

    fn run_within(&self, limit: Duration, args: &[&str]) -> Result<ProcessOutput> {
        if let Some(driver) = foreign_driver(self.uri) {
            let message = format!("its driver is `{driver}`, and tinderbox creates machines of QEMU");
            return Err(LibvirtError::Unsupported { uri: self.uri.to_owned(), message }.into());
        }
        if has_foreign_path(self.uri) {
            let message = "a connection to QEMU ends in `/system` or `/session`".to_owned();
            return Err(LibvirtError::Unsupported { uri: self.uri.to_owned(), message }.into());
        }
        let connection: &[&str] = if self.read_only { &["-q", "-r", "-c"] } else { &["-q", "-c"] };
        let args = [connection, &[self.uri], args].concat();
        let output =
            self.runner.run(Invocation::new("virsh", &args, limit)).map_err(|error| match error {
                ProcessError::Missing { .. } => RealizeError::from(LibvirtError::NoClient),
                error => error.into(),
            })?;
        if !output.is_success() && output.stderr.contains("failed to connect to the hypervisor") {
            return Err(refused(self.uri, &message(&output)).into());
        }
        Ok(output)
    }

    pub(super) fn uuids(&self, list: &[&str]) -> Result<Vec<String>> {
        let text = self.query(&[list, &["--uuid"]].concat())?;
        Ok(text.split_whitespace().map(str::to_owned).collect())
    }

    /// The XML of one object, if libvirt has it.
    pub(super) fn find(
        &self,
        what: &'static str,
        [list, verb, root]: [&str; 3],
        uuid: &String,
    ) -> Result<Option<Element>> {
        match self.uuids(&[list, "--all"])?.contains(uuid) {
            true => Ok(self.describe(what, verb, root, std::slice::from_ref(uuid))?.pop()),
            false => Ok(None),
        }
    }

    /// The XML of many objects in one call: over ssh each call takes a second.
    pub(super) fn describe(
        &self,
        what: &'static str,
        verb: &str,
        root: &str,
        uuids: &[String],
    ) -> Result<Vec<Element>> {
        if uuids.is_empty() {
            return Ok(Vec::new());
        }
        let batch: Vec<String> = uuids.iter().map(|uuid| format!("{verb} --inactive {uuid}")).collect();
        let text = self.run(&[&batch.join("; ")])?.text();
        let end = format!("</{root}>");
        let documents = text.split_inclusive(&end).filter(|one| one.trim_end().ends_with(&end));
        let found: Vec<Element> =
            documents.map(|one| Element::parse(what, one.trim())).collect::<Result<_, _>>()?;
        if found.len() == uuids.len() { Ok(found) } else { Err(LibvirtError::Changed { what }.into()) }
    }
}

/// The driver of a URI, if it is not QEMU's: others connect, and have no machines that we can use. A name without `:` is
/// an alias of libvirt's configuration, or wrong; libvirt knows.
fn foreign_driver(uri: &str) -> Option<&str> {
    let (scheme, _) = uri.split_once(':')?;
    let driver = scheme.split('+').next()?;
    (driver != "qemu").then_some(driver)
}

/// Whether a URI names something else than QEMU's two daemons. libvirt takes any path to the socket first, so a typo there
/// would be a daemon that is not running.
fn has_foreign_path(uri: &str) -> bool {
    let Some((_, rest)) = uri.split_once("://") else { return false };
    let rest = rest.split(['?', '#']).next().unwrap_or(rest);
    let path = rest.find('/').map_or("", |at| &rest[at..]);
    !["/system", "/session"].contains(&path)
}

/// virsh's error lines without their prefix, without the generic first line, and without what polkit's agent says on a
/// terminal if there is no polkit: virsh starts that agent before it connects, whatever becomes of the connection.
pub(super) fn message(output: &ProcessOutput) -> String {
    let lines = output.stderr.lines().map(|line| line.trim_start_matches("error: ").trim());
    let noise =
        ["failed to connect to the hypervisor", "Authorization not available. Check if polkit service"];
    let told: Vec<&str> =
        lines.filter(|line| !line.is_empty() && !noise.iter().any(|noise| line.contains(noise))).collect();
    if told.is_empty() { "no error message".to_owned() } else { told.join("; ") }
}

/// Classifies a failed connection by libvirt's and ssh's own messages.
fn refused(uri: &str, message: &str) -> LibvirtError {
    let (uri, message) = (uri.to_owned(), message.to_owned());
    let says = |parts: &[&str]| parts.iter().any(|part| message.to_lowercase().contains(part));
    // The network first: ssh and TCP use some of the socket's phrases too.
    let of_network = [
        "(publickey",
        "host key verification",
        "could not resolve",
        "timed out",
        "no route",
        "ssh: connect to host",
        "unable to connect to server at",
        "certificate",
    ];
    let no_socket = ["no such file or directory", "connection refused", "cannot find libvirtd"];
    if says(&["no connection driver", "unable to parse uri", "unsupported configuration", "invalid uri"]) {
        LibvirtError::Unsupported { uri, message }
    } else if says(&of_network) {
        LibvirtError::Unreachable { uri, message }
    } else if says(&no_socket) && !says(&["polkit"]) {
        LibvirtError::NotRunning { uri, message }
    } else if says(&["permission denied", "access denied", "authentication", "authorization", "polkit"]) {
        LibvirtError::Forbidden { uri, message }
    } else {
        LibvirtError::Unreachable { uri, message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_are_qemus() {
        assert_eq!(foreign_driver("qemu+ssh://root@host:22/system"), None);
        assert_eq!(foreign_driver("qemu:///session"), None);
        assert_eq!(foreign_driver("lab"), None, "an alias");
        assert_eq!(foreign_driver("test:///default"), Some("test"));
        assert_eq!(foreign_driver("vbox+ssh://host/session"), Some("vbox"));
    }

    #[test]
    fn a_connection_ends_in_one_of_two_words() {
        for uri in
            ["qemu:///system", "qemu+ssh://me@[fd00::1]:22/system?socket=/run/x", "qemu:///session", "lab"]
        {
            assert!(!has_foreign_path(uri), "{uri}");
        }
        for uri in ["qemu:///sytem", "qemu+ssh://host", "qemu:///", "qemu:///system/x"] {
            assert!(has_foreign_path(uri), "{uri}");
        }
    }

    /// Messages of libvirt 9 and of ssh.
    #[test]
    fn connection_failures_are_classified() {
        let kind = |message: &str| match refused("qemu:///system", message) {
            LibvirtError::NotRunning { .. } => "not running",
            LibvirtError::Forbidden { .. } => "forbidden",
            LibvirtError::Unreachable { .. } => "unreachable",
            LibvirtError::Unsupported { .. } => "unsupported",
            _ => "?",
        };
        for (message, expected) in [
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
            (
                "Cannot recv data: ssh: connect to host lab port 22: Connection refused: Connection reset by peer",
                "unreachable",
            ),
            ("unable to connect to server at 'lab:16509': Connection refused", "unreachable"),
            ("Cannot read CA certificate '/etc/pki/CA/cacert.pem': No such file or directory", "unreachable"),
            ("no connection driver available for lxx:///", "unsupported"),
            ("internal error: Unable to parse URI qemu:system", "unsupported"),
        ] {
            assert_eq!(kind(message), expected, "{message}");
        }
    }

    #[test]
    fn nodes_are_behind_a_host_that_ssh_reaches() {
        let programs = crate::base::process::Programs::default();
        let cancel = std::sync::atomic::AtomicBool::new(false);
        for (uri, expected) in [
            ("qemu:///system", None),
            ("qemu:///session", None),
            ("qemu+ssh://lab/system", Some("lab")),
            ("qemu+ssh://me@lab.example.com:2222/system?socket=/run/x", Some("me@lab.example.com:2222")),
            ("qemu+ssh://root@[fd00::1]:22/system", Some("root@[fd00::1]:22")),
            ("qemu+libssh2://lab?known_hosts=/x", Some("lab")),
            ("qemu+tls://lab/system", None),
            ("qemu+ssh:///system", None),
        ] {
            let connection = Connection::new(ProgramRunner { programs: &programs, cancel: &cancel }, uri);
            assert_eq!(connection.ssh_host().as_deref(), expected, "{uri}");
        }
    }
}
