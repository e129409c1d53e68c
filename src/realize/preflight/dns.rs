//! The nodes' DNS servers: each is asked for every name that the cluster needs.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use simple_dns::rdata::RData;
use simple_dns::{CLASS, Name, Packet, PacketFlag, Question, RCODE, TYPE};

use super::{Area, Outcome, PreflightCheck};
use crate::base::fs;
use crate::realize::timed_stream::TimedStream;
use crate::realize::{Realizer, needs};

/// How long a server may take for one answer, and how often it is asked.
const ANSWER: Duration = Duration::from_secs(2);
const ATTEMPTS: usize = 2;
const PORT: u16 = 53;
/// The label that stands for every route.
const ROUTE: &str = "tinderbox-preflight";

/// Why there is no answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoAnswer {
    Silent,
    /// It answers, and not with addresses.
    Refused(String),
}

/// What the cluster expects of a name.
struct Expected {
    /// As in messages; `*` stands for any name.
    name: String,
    addresses: BTreeSet<IpAddr>,
    /// What breaks without it.
    without: &'static str,
    is_required: bool,
}

pub(super) fn ask(realizer: &Realizer<'_>, servers: &[IpAddr]) -> Vec<PreflightCheck> {
    let Some(cluster) = realizer.cluster else { return Vec::new() };
    // Nodes that hold the VIPs answer for api-int themselves, and a node's own name is in its Ignition.
    let holds_vips = !realizer.desired.has_load_balancer() && !realizer.desired.is_in_place();
    let expected = needs::records(cluster).into_iter().map(|(name, addresses)| {
        let label = name.split('.').next().unwrap_or_default();
        let (without, is_required) = match label {
            "api-int" if holds_vips => ("nodes answer for it themselves, and nobody else finds it", false),
            "api-int" => ("nodes do not find the API", true),
            "api" => ("nobody finds the API", true),
            "*" => ("no route is found, the console and the login among them", true),
            _ => ("people and certificates know the node by this name", false),
        };
        Expected { name, addresses: addresses.into_iter().collect(), without, is_required }
    });
    let expected: Vec<Expected> = expected.collect();
    std::thread::scope(|scope| {
        let asked: Vec<_> =
            servers.iter().map(|server| scope.spawn(|| ask_one(*server, &expected))).collect();
        asked.into_iter().flat_map(|one| one.join().unwrap_or_default()).collect()
    })
}

/// One server, for all names; none of them if it does not answer for the first.
fn ask_one(server: IpAddr, expected: &[Expected]) -> Vec<PreflightCheck> {
    let mut checks = Vec::new();
    for one in expected {
        match lookup(server, &one.name.replacen('*', ROUTE, 1), &one.addresses) {
            Err(NoAnswer::Silent) => {
                let detail = format!("does not answer on port {PORT} within {} seconds", ANSWER.as_secs());
                let hint = "it is one of `network.dns` in cluster.yaml: start it, open its firewall, or name another";
                checks.push(
                    PreflightCheck::new(Area::Dns, &server.to_string(), Outcome::Failed, detail).hint(hint),
                );
                return checks;
            }
            found => checks.push(judge(server, one, found)),
        }
    }
    checks
}

fn judge(server: IpAddr, expected: &Expected, found: Result<BTreeSet<IpAddr>, NoAnswer>) -> PreflightCheck {
    let list = |all: &BTreeSet<IpAddr>| all.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let wanted = list(&expected.addresses);
    let bad = if expected.is_required { Outcome::Failed } else { Outcome::Warning };
    let check = |outcome, detail: String| PreflightCheck::new(Area::Dns, &expected.name, outcome, detail);
    let record = format!(
        "add a record for `{}` with {wanted}: `result/infra` has zone files and dnsmasq's",
        expected.name
    );
    match found {
        Ok(found) if found == expected.addresses => check(Outcome::Passed, format!("{server} says {wanted}")),
        Ok(found) if found.is_empty() => check(
            bad,
            format!("{server} has no address for it, and it should be {wanted}: {}", expected.without),
        )
        .hint(record),
        Ok(found) => {
            let detail =
                format!("{server} says {}, and it should be {wanted}: {}", list(&found), expected.without);
            check(bad, detail).hint("correct the record, or the address in cluster.yaml")
        }
        Err(NoAnswer::Refused(why)) => {
            check(bad, format!("{server} answers {why}: {}", expected.without)).hint(record)
        }
        Err(NoAnswer::Silent) => check(bad, format!("{server} does not answer")),
    }
}

/// The addresses of a name, of the families of these.
fn lookup(server: IpAddr, name: &str, like: &BTreeSet<IpAddr>) -> Result<BTreeSet<IpAddr>, NoAnswer> {
    let mut all = BTreeSet::new();
    for (kind, is_wanted) in
        [(TYPE::A, like.iter().any(IpAddr::is_ipv4)), (TYPE::AAAA, like.iter().any(IpAddr::is_ipv6))]
    {
        if is_wanted {
            all.extend(query(SocketAddr::new(server, PORT), name, kind)?);
        }
    }
    Ok(all)
}

/// All addresses of a name, of both families: of the first server that has one.
pub(super) fn addresses(servers: &[IpAddr], name: &str) -> Vec<IpAddr> {
    if let Ok(address) = name.parse() {
        return vec![address];
    }
    let both: BTreeSet<IpAddr> = [IpAddr::from([0; 4]), IpAddr::from([0; 16])].into();
    let found = servers.iter().filter_map(|server| lookup(*server, name, &both).ok());
    found
        .filter(|found| !found.is_empty())
        .map(|found| found.into_iter().collect())
        .next()
        .unwrap_or_default()
}

/// One question, over UDP, and over TCP if the answer was too long for that.
fn query(server: SocketAddr, name: &str, kind: TYPE) -> Result<Vec<IpAddr>, NoAnswer> {
    let refused = |why: &str| NoAnswer::Refused(why.to_owned());
    let id = u16::from_str_radix(fs::random_name().get(..4).unwrap_or_default(), 16).unwrap_or(0x7164);
    let mut packet = Packet::new_query(id);
    packet.set_flags(PacketFlag::RECURSION_DESIRED);
    let question = Name::new(name).map_err(|_| refused("nothing: it is not a name"))?;
    packet.questions.push(Question::new(question, kind.into(), CLASS::IN.into(), false));
    let bytes = packet.build_bytes_vec().map_err(|_| refused("nothing: it is not a name"))?;
    for _ in 0..ATTEMPTS {
        let Ok(answer) = over_udp(server, id, &bytes) else { continue };
        let (is_whole, found) = parse(&answer)?;
        if is_whole {
            return found;
        }
        let answer = over_tcp(server, &bytes).map_err(|_| refused("too long for UDP, and not over TCP"))?;
        return parse(&answer)?.1;
    }
    Err(NoAnswer::Silent)
}

/// The answer to this question, whoever else sends something.
fn over_udp(server: SocketAddr, id: u16, question: &[u8]) -> std::io::Result<Vec<u8>> {
    let any: IpAddr = if server.is_ipv4() { [0; 4].into() } else { [0; 16].into() };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(server)?;
    socket.send(question)?;
    let end = Instant::now() + ANSWER;
    let mut buffer = vec![0; 4096];
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(std::io::ErrorKind::TimedOut.into());
        }
        socket.set_read_timeout(Some(left))?;
        let size = socket.recv(&mut buffer)?;
        if size > 2 && buffer[..2] == id.to_be_bytes() {
            buffer.truncate(size);
            return Ok(buffer);
        }
    }
}

/// With its length before it, both ways.
fn over_tcp(server: SocketAddr, question: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut stream = TimedStream::connect(&server, ANSWER)?;
    let length = u16::try_from(question.len()).unwrap_or(u16::MAX);
    stream.write_all(&[&length.to_be_bytes()[..], question].concat())?;
    let mut length = [0; 2];
    stream.read_exact(&mut length)?;
    let mut answer = vec![0; u16::from_be_bytes(length).into()];
    stream.read_exact(&mut answer)?;
    Ok(answer)
}

/// What an answer says, and whether it is whole.
pub(super) fn parse(answer: &[u8]) -> Result<(bool, Result<Vec<IpAddr>, NoAnswer>), NoAnswer> {
    let packet =
        Packet::parse(answer).map_err(|_| NoAnswer::Refused("with something that is not DNS".to_owned()))?;
    Ok((!packet.has_flags(PacketFlag::TRUNCATION), read(&packet)))
}

fn read(packet: &Packet<'_>) -> Result<Vec<IpAddr>, NoAnswer> {
    match packet.rcode() {
        // A name that does not exist has no addresses.
        RCODE::NoError | RCODE::NameError => {}
        RCODE::Refused => return Err(NoAnswer::Refused("that it refuses to".to_owned())),
        RCODE::ServerFailure => return Err(NoAnswer::Refused("that it failed".to_owned())),
        other => return Err(NoAnswer::Refused(format!("`{other:?}`"))),
    }
    let address = |data: &RData<'_>| match data {
        RData::A(found) => Some(IpAddr::from(found.address.to_be_bytes())),
        RData::AAAA(found) => Some(IpAddr::from(found.address.to_be_bytes())),
        _ => None,
    };
    Ok(packet.answers.iter().filter_map(|answer| address(&answer.rdata)).collect())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// A byte now and then never runs into the timeout between two bytes.
    #[test]
    fn an_answer_over_tcp_has_one_deadline() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let drip = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut sent = 0;
            while sent < 100 && stream.write_all(&[0xff]).is_ok() {
                sent += 1;
                std::thread::sleep(ANSWER / 10);
            }
            sent
        });
        assert_eq!(over_tcp(at, b"question").unwrap_err().kind(), std::io::ErrorKind::TimedOut);
        assert!(drip.join().unwrap() < 100);
    }

    #[test]
    fn an_answer_is_judged_by_what_the_cluster_needs() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let set = |all: &[&str]| all.iter().map(|text| ip(text)).collect::<BTreeSet<_>>();
        let expected = |is_required| Expected {
            name: "api.ocp4.example.com".to_owned(),
            addresses: set(&["192.168.1.10"]),
            without: "nobody finds the API",
            is_required,
        };
        let outcome = |is_required, found| judge(ip("192.168.1.1"), &expected(is_required), found).outcome;
        assert_eq!(outcome(true, Ok(set(&["192.168.1.10"]))), Outcome::Passed);
        assert_eq!(outcome(true, Ok(set(&["192.168.1.10", "192.168.1.9"]))), Outcome::Failed, "one too many");
        assert_eq!(outcome(true, Ok(set(&[]))), Outcome::Failed);
        assert_eq!(outcome(false, Ok(set(&[]))), Outcome::Warning);
        assert_eq!(outcome(true, Err(NoAnswer::Refused("x".into()))), Outcome::Failed);
    }
}
