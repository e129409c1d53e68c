//! What the host says: libvirt, the consoles, the load balancer, and programs with their versions.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use super::spool::Spool;
use crate::base::fs;
use crate::base::hint::chain;
use crate::base::process::Run;
use crate::realize::balancer::Balancer;
use crate::realize::console::read_from;
use crate::realize::host::volumes;
use crate::realize::shown::Filter;
use crate::realize::{Hands, RealizeError, firewall};

/// How long one program may take.
const LIMIT: Duration = Duration::from_secs(30);
/// How long the load balancer may take.
const ANSWER: Duration = Duration::from_secs(5);
/// As much is taken of the load balancer's answer.
const PAGE: u64 = 4 << 20;
/// As much is taken of a console: its end.
const CONSOLE: u64 = 64 << 20;

/// Programs of the host, and what they are asked.
const PROGRAMS: [(&str, &str, &[&str]); 8] = [
    ("host/addresses.json", "ip", &["-json", "address"]),
    ("host/routes.json", "ip", &["-json", "route"]),
    ("host/disks.txt", "df", &["-h"]),
    ("host/kernel.txt", "uname", &["-a"]),
    ("host/version-qemu.txt", "qemu-system-x86_64", &["--version"]),
    ("host/version-haproxy.txt", "haproxy", &["-v"]),
    ("host/version-virsh.txt", "virsh", &["--version"]),
    ("host/version-ssh.txt", "ssh", &["-V"]),
];

/// Asks the host for everything. What it does not say is missed; only our own disk is an error.
pub(super) fn gather(hands: Hands<'_>, spool: &Spool<'_>) -> Result<(), RealizeError> {
    document(spool, "journal.json", &hands.state.journal())?;
    for (name, program, args) in PROGRAMS {
        self::program(hands, spool, name, program, args)?;
    }
    if hands.access.local {
        balancer(hands, spool)?;
        match firewall::run(hands.virsh, hands.wanted, "check") {
            Ok(ended) if ended.stdout.is_empty() => {
                spool.put("host/firewall.txt", b"everything is open\n")?
            }
            Ok(ended) => spool.put("host/firewall.txt", &ended.stdout)?,
            Err(error) => spool.miss("host/firewall.txt", &chain(&error)),
        }
    } else {
        spool.miss("balancer/, host/firewall.txt", "libvirt is on another machine");
    }
    let version = hands.virsh.ask(&["version"]);
    let there = version.is_ok();
    match version {
        Ok(text) => {
            spool.put("libvirt/version.txt", text.as_bytes())?;
            document(spool, "plan.json", &hands.plan())?;
            document(spool, "status.json", &hands.status())?;
            libvirt(hands, spool)?;
        }
        Err(error) => spool.miss("plan.json, status.json, libvirt/", &chain(&error)),
    }
    consoles(hands, spool, there)
}

/// Something of ours as JSON.
fn document<T: Serialize>(
    spool: &Spool<'_>,
    name: &str,
    value: &Result<T, RealizeError>,
) -> Result<(), RealizeError> {
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
    hands: Hands<'_>,
    spool: &Spool<'_>,
    name: &str,
    program: &str,
    args: &[&str],
) -> Result<(), RealizeError> {
    let run = Run { program, args, stdin: b"", limit: LIMIT, daemon: false, cancel: hands.virsh.cancel };
    match hands.virsh.programs.run(run) {
        Ok(ended) if ended.is_success() => {
            let said = if ended.stdout.is_empty() { ended.stderr.into_bytes() } else { ended.stdout };
            spool.put(name, &said)?;
        }
        Ok(ended) => spool.miss(name, &format!("`{program}` failed: {}", ended.stderr)),
        Err(error) => spool.miss(name, &chain(&error)),
    }
    Ok(())
}

/// Descriptions of what is ours, as libvirt has them now, and how machines stand.
fn libvirt(hands: Hands<'_>, spool: &Spool<'_>) -> Result<(), RealizeError> {
    let wanted = hands.wanted;
    let mut asked = vec![
        ("libvirt/network.xml".to_owned(), vec!["net-dumpxml", &wanted.network.uuid]),
        ("libvirt/network-info.txt".to_owned(), vec!["net-info", &wanted.network.uuid]),
        ("libvirt/network-leases.txt".to_owned(), vec!["net-dhcp-leases", &wanted.network.uuid]),
        ("libvirt/pool.xml".to_owned(), vec!["pool-dumpxml", &wanted.pool.uuid]),
        ("libvirt/pool-info.txt".to_owned(), vec!["pool-info", &wanted.pool.uuid]),
        ("libvirt/volumes.txt".to_owned(), vec!["vol-list", "--details", &wanted.pool.uuid]),
    ];
    for machine in &wanted.machines {
        let uuid = machine.object.uuid.as_str();
        asked.push((format!("libvirt/{}.xml", machine.node), vec!["dumpxml", uuid]));
        asked.push((format!("libvirt/{}-state.txt", machine.node), vec!["domstate", "--reason", uuid]));
    }
    for (name, args) in asked {
        match hands.virsh.ask(&args) {
            Ok(text) => spool.put(&name, text.as_bytes())?,
            Err(error) => spool.miss(&name, &chain(&error)),
        }
    }
    Ok(())
}

/// Every console, also the files that a full one became: through libvirt, else from the pool's directory.
fn consoles(hands: Hands<'_>, spool: &Spool<'_>, through_libvirt: bool) -> Result<(), RealizeError> {
    let directory = Path::new(&hands.wanted.directory);
    let names: Result<Vec<String>, String> = match (through_libvirt, hands.access.local) {
        (true, _) => volumes(hands.virsh, &hands.wanted.pool.uuid)
            .map(|names| names.into_iter().collect())
            .map_err(|error| chain(&error)),
        (_, true) => fs::list(directory)
            .map(|names| names.into_iter().filter_map(|name| name.into_string().ok()).collect())
            .map_err(|error| chain(&error)),
        _ => Err("they are on another machine".to_owned()),
    };
    let names = match names {
        Ok(names) => names,
        Err(why) => {
            spool.miss("consoles/", &why);
            return Ok(());
        }
    };
    for machine in &hands.wanted.machines {
        let first = format!("{}.log", machine.node);
        let further = format!("{first}.");
        let own: Vec<&String> =
            names.iter().filter(|name| **name == first || name.starts_with(&further)).collect();
        if own.is_empty() {
            spool.miss(&format!("consoles/{first}"), "it has written nothing to its console");
        }
        for name in own {
            let kept = format!("consoles/{name}");
            let done = match through_libvirt {
                true => hands.console_size(name).and_then(|size| {
                    let from = beginning(spool, &kept, size);
                    hands.with_download(name, from, |path| console(spool, &kept, path, 0))
                }),
                false => {
                    let path = directory.join(name);
                    let size = fs::metadata(&path).map(|found| found.len()).map_err(RealizeError::from);
                    size.and_then(|size| console(spool, &kept, &path, beginning(spool, &kept, size)))
                }
            };
            if let Err(error) = done {
                spool.miss(&kept, &chain(&error));
            }
        }
    }
    Ok(())
}

/// Where to begin with a console of some size.
fn beginning(spool: &Spool<'_>, name: &str, size: u64) -> u64 {
    let from = size.saturating_sub(CONSOLE);
    if from > 0 {
        spool.miss(name, &format!("only its last {} MiB: there are {size} bytes", CONSOLE >> 20));
    }
    from
}

fn console(spool: &Spool<'_>, name: &str, path: &Path, from: u64) -> Result<(), RealizeError> {
    let mut writer = spool.create(name)?;
    let mut failure = None;
    let mut filter = Filter::default();
    read_from(path, from, &mut |piece| match spool.write(&mut writer, &filter.pass(piece)) {
        Ok(()) => std::ops::ControlFlow::Continue(()),
        Err(error) => {
            failure = Some(error);
            std::ops::ControlFlow::Break(())
        }
    })?;
    if let Some(error) = failure {
        return Err(error.into());
    }
    spool.write(&mut writer, &filter.end())?;
    Ok(spool.finish(writer)?)
}

/// The configuration that the load balancer runs, and what it thinks of its servers.
fn balancer(hands: Hands<'_>, spool: &Spool<'_>) -> Result<(), RealizeError> {
    let running = Balancer::look(hands.state).ok().flatten();
    if running.is_none() {
        spool
            .miss("balancer/", "no load balancer of ours runs: this is the configuration that it would have");
    }
    let file: PathBuf =
        running.as_ref().map_or_else(|| hands.wanted.balancer(false), |one| one.configuration.clone());
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

/// Where the load balancer shows how its servers are.
fn stats(configuration: &str) -> Option<SocketAddr> {
    let mut lines = configuration.lines().map(str::trim).skip_while(|line| *line != "listen stats").skip(1);
    lines.find_map(|line| line.strip_prefix("bind "))?.split_whitespace().next()?.parse().ok()
}

fn page_of(address: SocketAddr) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect_timeout(&address, ANSWER)?;
    stream.set_read_timeout(Some(ANSWER))?;
    stream.set_write_timeout(Some(ANSWER))?;
    stream.write_all(b"GET /;csv HTTP/1.0\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.take(PAGE).read_to_end(&mut answer)?;
    Ok(body(&answer))
}

/// What an HTTP answer says, without its head. HAProxy sends it in chunks, whatever it was asked for.
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
    fn the_stats_page_is_where_the_configuration_says() {
        let text = "defaults\n  mode tcp\nlisten stats\n  bind 127.0.0.1:9000\n  mode http\nlisten api\n  bind 10.0.0.1:6443\n";
        assert_eq!(stats(text), Some("127.0.0.1:9000".parse().unwrap()));
        assert_eq!(stats("listen api\n  bind 10.0.0.1:6443\n"), None);
    }

    #[test]
    fn answers_come_whole_or_in_chunks() {
        assert_eq!(body(b"HTTP/1.0 200 OK\r\nX: y\r\n\r\na,b\nc\n"), b"a,b\nc\n");
        let chunked =
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\na,b\r\nA\r\n0123456789\r\n0\r\n\r\n";
        assert_eq!(body(chunked), b"a,b0123456789");
        assert_eq!(body(&chunked[..chunked.len() - 12]), b"a,b01234");
        assert_eq!(body(b"nonsense"), b"nonsense");
    }
}
