//! The nodes' time servers: those of `/etc/chrony.conf` in their Ignition configs, else those that the node OS brings.
//!
//! A node whose clock is before a certificate's first second, or after its last, trusts nobody.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{Area, Outcome, PreflightCheck, dns};
use crate::base::fs;
use crate::openshift::ignition::{Config, Contents};
use crate::realize::Realizer;

const CHRONY: &str = "/etc/chrony.conf";
/// What RHCOS asks if nobody says otherwise.
const DEFAULT: &str = "2.rhel.pool.ntp.org";
const PORT: u16 = 123;
const ANSWER: Duration = Duration::from_secs(2);
const ATTEMPTS: usize = 2;
/// Between the epoch of NTP, 1900, and that of Unix.
const NTP_EPOCH: u64 = 2_208_988_800;
/// How far this machine's clock may be off, in seconds. It decides nothing about nodes, and much about what we say.
const TOLERATED: f64 = 5.0;

pub(super) fn ask(realizer: &Realizer<'_>, resolvers: &[IpAddr]) -> Vec<PreflightCheck> {
    let configured = servers(realizer);
    let is_default = configured.is_empty();
    let names = if is_default { BTreeSet::from([DEFAULT.to_owned()]) } else { configured };
    std::thread::scope(|scope| {
        let asked: Vec<_> =
            names.iter().map(|name| scope.spawn(move || ask_one(name, resolvers, is_default))).collect();
        asked.into_iter().filter_map(|one| one.join().ok()).collect()
    })
}

/// The servers and pools of all nodes' chrony.conf.
fn servers(realizer: &Realizer<'_>) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for machine in realizer.desired.machines.iter().filter(|machine| !machine.is_bootstrap()) {
        let file = realizer.desired.closure.join("ignition").join(format!("{}.ign", machine.node));
        let Some(config) = fs::read_text(&file).ok().and_then(|text| Config::parse(&text).ok()) else {
            continue;
        };
        if let Some(Ok(Contents::Bytes(bytes))) = config.files.get(CHRONY).map(Contents::of) {
            all.extend(parse(&String::from_utf8_lossy(&bytes)));
        }
    }
    all
}

fn parse(chrony: &str) -> impl Iterator<Item = String> + '_ {
    chrony.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let is_source = matches!(words.next()?, "server" | "pool" | "peer");
        words.next().filter(|_| is_source).map(str::to_owned)
    })
}

fn ask_one(name: &str, resolvers: &[IpAddr], is_default: bool) -> PreflightCheck {
    let bad = if is_default { Outcome::Warning } else { Outcome::Failed };
    let check = |outcome, detail: String| PreflightCheck::new(Area::Ntp, name, outcome, detail);
    let hint = match is_default {
        true => {
            "the node OS asks it unless a MachineConfig brings another /etc/chrony.conf: nodes without a time server keep the clock of \
             their firmware"
        }
        false => "correct /etc/chrony.conf in your MachineConfig, or open UDP port 123 to it",
    };
    let addresses = dns::addresses(resolvers, name);
    if addresses.is_empty() {
        return check(bad, "the nodes' DNS servers have no address for it".to_owned()).hint(hint);
    }
    let mut seen = String::new();
    for address in addresses.iter().take(4) {
        match query(SocketAddr::new(*address, PORT)) {
            Ok(offset) if offset.abs() > TOLERATED => {
                let detail =
                    format!("{address} says that this machine's clock is off by {offset:.0} seconds");
                return check(Outcome::Warning, detail)
                    .hint("set this machine's clock: certificates are judged by it");
            }
            Ok(_) => {
                return check(
                    Outcome::Passed,
                    format!("{address} answers, and agrees with this machine's clock"),
                );
            }
            Err(why) => seen = format!("{address}: {why}"),
        }
    }
    check(bad, seen).hint(hint)
}

/// How many seconds a server's clock is before ours.
fn query(server: SocketAddr) -> Result<f64, String> {
    let mut last = String::new();
    for _ in 0..ATTEMPTS {
        match exchange(server) {
            Ok(answer) => return offset(&answer),
            Err(error) => {
                last = match error.kind() {
                    std::io::ErrorKind::TimedOut | std::io::ErrorKind::WouldBlock => {
                        format!("no answer within {} seconds", ANSWER.as_secs())
                    }
                    std::io::ErrorKind::ConnectionRefused => "nobody listens".to_owned(),
                    _ => error.to_string(),
                };
            }
        }
    }
    Err(last)
}

/// SNTP: 48 bytes each way, of which a client fills the first.
fn exchange(server: SocketAddr) -> std::io::Result<[u8; 48]> {
    let any: IpAddr = if server.is_ipv4() { [0; 4].into() } else { [0; 16].into() };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(server)?;
    socket.set_read_timeout(Some(ANSWER))?;
    let mut packet = [0; 48];
    packet[0] = 0b00_100_011; // version 4, client
    socket.send(&packet)?;
    let mut answer = [0; 48];
    match socket.recv(&mut answer)? {
        48 => Ok(answer),
        _ => Err(std::io::ErrorKind::InvalidData.into()),
    }
}

fn offset(answer: &[u8; 48]) -> Result<f64, String> {
    let (mode, stratum) = (answer[0] & 0b111, answer[1]);
    if mode != 4 {
        return Err("what answers is not a time server".to_owned());
    }
    match stratum {
        0 => return Err("it refuses (kiss of death)".to_owned()),
        1..=15 => {}
        _ => return Err("it is not synchronised itself".to_owned()),
    }
    let seconds = u32::from_be_bytes([answer[40], answer[41], answer[42], answer[43]]);
    Ok(u64::from(seconds).saturating_sub(NTP_EPOCH) as f64 - now())
}

#[expect(clippy::disallowed_methods, reason = "a clock is compared with this one")]
fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_of_chrony_are_found() {
        let text = "# server commented.example.com\npool a.example.com iburst\n server 10.0.0.1 prefer\ndriftfile /var/lib/chrony/drift\n";
        assert_eq!(parse(text).collect::<Vec<_>>(), ["a.example.com", "10.0.0.1"]);
    }

    /// A server on loopback: asked as SNTP is, believed if it answers, and not waited for if it does not.
    #[test]
    fn a_server_is_asked() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let at = server.local_addr().unwrap();
        let asked = std::thread::spawn(move || {
            let mut question = [0; 64];
            let (size, from) = server.recv_from(&mut question).unwrap();
            let mut answer = [0; 48];
            (answer[0], answer[1]) = (0b00_100_100, 2);
            let seconds = u32::try_from(now() as u64 + NTP_EPOCH).unwrap();
            answer[40..44].copy_from_slice(&seconds.to_be_bytes());
            server.send_to(&answer, from).unwrap();
            (size, question[0])
        });
        assert!(query(at).unwrap().abs() <= TOLERATED);
        assert_eq!(asked.join().unwrap(), (48, 0b00_100_011), "48 bytes, of a client that speaks version 4");
        assert_eq!(query(at).unwrap_err(), "nobody listens");
    }

    #[test]
    fn an_answer_must_be_of_a_synchronised_server() {
        let mut answer = [0; 48];
        assert_eq!(offset(&answer).unwrap_err(), "what answers is not a time server");
        answer[0] = 0b00_100_100;
        assert_eq!(offset(&answer).unwrap_err(), "it refuses (kiss of death)");
        answer[1] = 16;
        assert_eq!(offset(&answer).unwrap_err(), "it is not synchronised itself");
        answer[1] = 3;
        let seconds = u32::try_from(now() as u64 + NTP_EPOCH + 100).unwrap();
        answer[40..44].copy_from_slice(&seconds.to_be_bytes());
        assert!((offset(&answer).unwrap() - 100.0).abs() < 3.0);
    }
}
