//! What the host says: the provider, consoles, the load balancer, and versions of programs.

use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use super::spool::Spool;
use crate::base::fs;
use crate::base::hint::chain;
use crate::base::process::{Invocation, ProgramRunner};
use crate::realize::console::read_from;
use crate::realize::console_filter::ConsoleFilter;
use crate::realize::load_balancer::LoadBalancer;
use crate::realize::provider::{Consoles, Program, log_of, read_console};
use crate::realize::timed_stream::TimedStream;
use crate::realize::{Realizer, Result, firewall, status};

/// For one program.
const LIMIT: Duration = Duration::from_secs(30);
/// For the load balancer's statistics.
const ANSWER: Duration = Duration::from_secs(5);
/// The most that is kept of the statistics.
const PAGE: u64 = 4 << 20;
/// The most that is kept of a console: its end.
const CONSOLE: u64 = 64 << 20;

/// Programs of every host, with their arguments.
const PROGRAMS: &[Program] = &[
    ("host/addresses.json", "ip", &["-json", "address"]),
    ("host/routes.json", "ip", &["-json", "route"]),
    ("host/disks.txt", "df", &["-h"]),
    ("host/kernel.txt", "uname", &["-a"]),
    ("host/version-haproxy.txt", "haproxy", &["-v"]),
    ("host/version-ssh.txt", "ssh", &["-V"]),
];

/// Asks the host for everything. What it does not say is recorded as missing; only our own disk is an error.
pub(super) fn gather(realizer: &Realizer<'_>, spool: &Spool<'_>) -> Result<()> {
    document(spool, "journal.json", &realizer.state.journal())?;
    for (name, program, args) in PROGRAMS.iter().chain(realizer.provider.programs()).copied() {
        self::program(realizer.runner, spool, name, program, args)?;
    }
    if realizer.access.local {
        load_balancer(realizer, spool)?;
        match firewall::run(realizer.runner, realizer.desired, "check") {
            _ if !realizer.desired.has_firewall() => {}
            Ok(output) if output.stdout.is_empty() => {
                spool.put("host/firewall.txt", b"everything is open\n")?
            }
            Ok(output) => spool.put("host/firewall.txt", &output.stdout)?,
            Err(error) => spool.miss("host/firewall.txt", &chain(&error)),
        }
    } else {
        spool.miss("balancer/, host/firewall.txt", "the host is another machine");
    }
    let Realizer { provider, access, .. } = *realizer;
    let version = provider.version();
    let is_answering = !matches!(&version, Some((_, Err(_))));
    match version {
        Some((name, Err(error))) => {
            let directory = name.split_once('/').map_or(name.as_str(), |(directory, _)| directory);
            spool.miss(&format!("plan.json, status.json, {directory}/"), &chain(&error));
        }
        version => {
            if let Some((name, Ok(text))) = version {
                spool.put(&name, text.as_bytes())?;
            }
            document(spool, "plan.json", &realizer.plan())?;
            document(spool, "status.json", &status(realizer))?;
            for (name, text) in provider.documents() {
                match text {
                    Ok(text) => spool.put(&name, text.as_bytes())?,
                    Err(error) => spool.miss(&name, &chain(&error)),
                }
            }
        }
    }
    match provider.consoles(is_answering, access) {
        Some(source) => consoles(realizer, &*source, spool),
        None => spool.miss("consoles/", "they are on another machine"),
    }
    Ok(())
}

/// A value of ours, as JSON.
fn document<T: Serialize>(spool: &Spool<'_>, name: &str, value: &Result<T>) -> Result<()> {
    match value {
        Ok(value) => {
            let text = serde_json::to_string_pretty(value).unwrap_or_default() + "\n";
            spool.put(name, text.as_bytes())?;
        }
        Err(error) => spool.miss(name, &chain(error)),
    }
    Ok(())
}

fn program(
    runner: ProgramRunner<'_>,
    spool: &Spool<'_>,
    name: &str,
    program: &str,
    args: &[&str],
) -> Result<()> {
    match runner.run(Invocation::new(program, args, LIMIT)) {
        Ok(output) if output.is_success() => {
            let empty = output.stdout.is_empty();
            spool.put(name, if empty { output.stderr.as_bytes() } else { &output.stdout })?;
        }
        Ok(output) => spool.miss(name, &format!("`{program}` failed: {}", output.stderr)),
        Err(error) => spool.miss(name, &chain(&error)),
    }
    Ok(())
}

/// Every console log, rotated ones included.
fn consoles(realizer: &Realizer<'_>, source: &dyn Consoles, spool: &Spool<'_>) {
    let files = match source.files() {
        Ok(files) => files,
        Err(error) => return spool.miss("consoles/", &chain(&error)),
    };
    for machine in &realizer.desired.machines {
        let log = log_of(&machine.node);
        let rotated = format!("{log}.");
        let logs: Vec<&String> =
            files.iter().filter(|name| **name == log || name.starts_with(&rotated)).collect();
        if logs.is_empty() {
            spool.miss(&format!("consoles/{log}"), "the node has not written to its console");
        }
        for name in logs {
            let kept = format!("consoles/{name}");
            let done = source.size(name).and_then(|size| {
                let from = tail(spool, &kept, size);
                read_console(source, name, from, |path, at| console(spool, &kept, path, at))
            });
            if let Err(error) = done {
                spool.miss(&kept, &chain(&error));
            }
        }
    }
}

/// Where the end of a console starts that is kept.
fn tail(spool: &Spool<'_>, name: &str, size: u64) -> u64 {
    let from = size.saturating_sub(CONSOLE);
    if from > 0 {
        spool.miss(name, &format!("only its last {} MiB: there are {size} bytes", CONSOLE >> 20));
    }
    from
}

fn console(spool: &Spool<'_>, name: &str, path: &Path, from: u64) -> Result<()> {
    let mut writer = spool.create(name)?;
    let mut failure = None;
    let mut filter = ConsoleFilter::default();
    read_from(path, from, &mut |chunk| match spool.write(&mut writer, &filter.push(chunk)) {
        Ok(()) => std::ops::ControlFlow::Continue(()),
        Err(error) => {
            failure = Some(error);
            std::ops::ControlFlow::Break(())
        }
    })?;
    if let Some(error) = failure {
        return Err(error.into());
    }
    spool.write(&mut writer, &filter.finish())?;
    Ok(spool.finish(writer)?)
}

/// The load balancer's configuration, and the state of its servers.
fn load_balancer(realizer: &Realizer<'_>, spool: &Spool<'_>) -> Result<()> {
    let running = LoadBalancer::find(realizer.state).ok().flatten();
    if running.is_none() {
        let why = "the load balancer is not running: this is the configuration that it would have";
        spool.miss("balancer/", why);
    }
    let file: PathBuf =
        running.as_ref().map_or_else(|| realizer.desired.haproxy_config(false), |one| one.config.clone());
    let text = fs::read_text(&file);
    match &text {
        Ok(text) => spool.put("balancer/haproxy.cfg", text.as_bytes())?,
        Err(error) => spool.miss("balancer/haproxy.cfg", &chain(error)),
    }
    if let (Some(_), Ok(text)) = (running, text) {
        let page =
            stats(&text).ok_or_else(|| "its configuration has no `listen stats` with an address".to_owned());
        match page.and_then(|address| page_of(address).map_err(|error| error.to_string())) {
            Ok(page) => spool.put("balancer/stats.csv", &page)?,
            Err(why) => spool.miss("balancer/stats.csv", &why),
        }
    }
    Ok(())
}

/// The address of the statistics page.
fn stats(config: &str) -> Option<SocketAddr> {
    let mut lines = config.lines().map(str::trim).skip_while(|line| *line != "listen stats").skip(1);
    lines.find_map(|line| line.strip_prefix("bind "))?.split_whitespace().next()?.parse().ok()
}

fn page_of(address: SocketAddr) -> std::io::Result<Vec<u8>> {
    let mut stream = TimedStream::connect(&address, ANSWER)?;
    stream.write_all(b"GET /;csv HTTP/1.0\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.take(PAGE).read_to_end(&mut answer)?;
    Ok(body(&answer))
}

/// The body of an HTTP response. HAProxy sends it in chunks, even to HTTP/1.0.
fn body(answer: &[u8]) -> Vec<u8> {
    let end = memchr::memmem::find(answer, b"\r\n\r\n").map_or(0, |at| at + 4);
    let (head, mut rest) = answer.split_at(end);
    if !String::from_utf8_lossy(head).to_lowercase().contains("transfer-encoding: chunked") {
        return rest.to_vec();
    }
    let mut whole = Vec::new();
    while let Some(at) = memchr::memmem::find(rest, b"\r\n") {
        let size = std::str::from_utf8(&rest[..at]).ok().and_then(|hex| usize::from_str_radix(hex, 16).ok());
        let after = &rest[at + 2..];
        let size = size.unwrap_or(0).min(after.len());
        whole.extend_from_slice(&after[..size]);
        rest = after.get(size + 2..).unwrap_or_default();
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_has_the_address_of_the_stats_page() {
        let text = "defaults\n  mode tcp\nlisten stats\n  bind 127.0.0.1:9000\n  mode http\nlisten api\n  bind 10.0.0.1:6443\n";
        assert_eq!(stats(text), Some("127.0.0.1:9000".parse().unwrap()));
        assert_eq!(stats("listen api\n  bind 10.0.0.1:6443\n"), None);
    }

    #[test]
    fn a_body_comes_whole_or_in_chunks() {
        assert_eq!(body(b"HTTP/1.0 200 OK\r\nX: y\r\n\r\na,b\nc\n"), b"a,b\nc\n");
        let chunked =
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\na,b\r\nA\r\n0123456789\r\n0\r\n\r\n";
        assert_eq!(body(chunked), b"a,b0123456789");
        assert_eq!(body(&chunked[..chunked.len() - 12]), b"a,b01234");
        assert_eq!(body(b"nonsense"), b"nonsense");
    }
}
