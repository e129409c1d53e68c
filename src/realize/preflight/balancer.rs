//! The load balancer's ports: whether somebody listens there, and whether what answers is this cluster. Addresses that the nodes hold:
//! whether nobody else has them.

use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;

use super::{Area, Outcome, PreflightCheck};
use crate::realize::api::{ApiError, Endpoint, presented};
use crate::realize::needs::{PORTS, Port};
use crate::realize::{ClusterAccess, Realizer};

/// How long a port may take.
const CONNECT: Duration = Duration::from_secs(3);
const API: u16 = 6443;
const ROUTES: u16 = 443;

pub(super) fn ask(realizer: &Realizer<'_>) -> Vec<PreflightCheck> {
    let Some(cluster) = realizer.cluster else { return Vec::new() };
    if !realizer.desired.has_load_balancer() {
        let detail = "this cluster has none: its nodes hold the addresses";
        let none = PreflightCheck::new(Area::LoadBalancer, "", Outcome::Skipped, detail);
        if realizer.desired.is_in_place() {
            return vec![none];
        }
        let held = [(&cluster.api_vips, API), (&cluster.ingress_vips, ROUTES)];
        let held =
            held.into_iter().flat_map(|(vips, port)| vips.iter().map(move |vip| SocketAddr::new(*vip, port)));
        return std::iter::once(none).chain(ask_all(held, |at| ask_holder(cluster, at))).collect();
    }
    let ports = PORTS.into_iter().flat_map(|port| {
        let vips = if port.is_control_plane { &cluster.api_vips } else { &cluster.ingress_vips };
        vips.iter().map(move |vip| (*vip, port))
    });
    ask_all(ports, |(vip, port)| ask_one(cluster, vip, port))
}

/// Asks all at once.
fn ask_all<T: Send>(
    all: impl Iterator<Item = T>,
    ask: impl Fn(T) -> PreflightCheck + Sync,
) -> Vec<PreflightCheck> {
    let (all, ask): (Vec<T>, _) = (all.collect(), &ask);
    std::thread::scope(|scope| {
        let asked: Vec<_> = all.into_iter().map(|one| scope.spawn(move || ask(one))).collect();
        asked.into_iter().filter_map(|one| one.join().ok()).collect()
    })
}

/// An address that the nodes hold once they run: before, nobody has it.
fn ask_holder(cluster: &ClusterAccess, at: SocketAddr) -> PreflightCheck {
    let check = |outcome, detail: &str| {
        PreflightCheck::new(Area::LoadBalancer, &at.ip().to_string(), outcome, detail)
    };
    let hint = "free the address, or choose others (`apiVIPs`, `ingressVIPs`); if it is a node of this cluster, all is well";
    let taken = || check(Outcome::Warning, "a machine has this address already").hint(hint);
    match TcpStream::connect_timeout(&at, CONNECT) {
        Ok(_) if at.port() == API => match presented(&cluster.kubeconfig, &Endpoint::of(at.ip())) {
            Ok(_) => check(Outcome::Passed, "this cluster's API answers"),
            Err(error @ ApiError::Untrusted { .. }) => {
                let detail = format!("something else than this cluster's API has this address: {error}");
                check(Outcome::Failed, &detail)
                    .hint("free the address, or choose others (`apiVIPs`, `ingressVIPs`)")
            }
            Err(_) => taken(),
        },
        Ok(_) => taken(),
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => taken(),
        Err(_) => check(Outcome::Passed, "nobody has this address yet; the nodes will hold it"),
    }
}

fn ask_one(cluster: &ClusterAccess, vip: IpAddr, port: Port) -> PreflightCheck {
    let at = SocketAddr::new(vip, port.port);
    let check =
        |outcome, detail: String| PreflightCheck::new(Area::LoadBalancer, &at.to_string(), outcome, detail);
    match TcpStream::connect_timeout(&at, CONNECT) {
        Ok(_) if port.port == API => match presented(&cluster.kubeconfig, &Endpoint::of(vip)) {
            Ok(_) => check(Outcome::Passed, "this cluster's API answers".to_owned()),
            Err(error @ ApiError::Untrusted { .. }) => {
                check(Outcome::Failed, format!("something else than this cluster's API answers: {error}")).hint(
                    "its TLS must end at the API servers, not at the load balancer (mode tcp); or another cluster has the address",
                )
            }
            // Nothing is behind it before the first machine boots.
            Err(_) => check(Outcome::Passed, format!("it listens, for {}; no API is behind it yet", port.why)),
        },
        Ok(_) => check(Outcome::Passed, format!("it listens, for {}", port.why)),
        Err(error) => {
            let why = match error.kind() {
                std::io::ErrorKind::TimedOut | std::io::ErrorKind::WouldBlock => {
                    format!("no answer within {} seconds", CONNECT.as_secs())
                }
                std::io::ErrorKind::ConnectionRefused => "nobody listens".to_owned(),
                _ => error.to_string().split(" (os error").next().unwrap_or_default().to_lowercase(),
            };
            let outcome = if port.is_optional { Outcome::Warning } else { Outcome::Failed };
            check(outcome, format!("{why}; it is for {}", port.why)).hint(
                "start the load balancer with `result/infra/haproxy.cfg`, or forward the port to the nodes that `tinderbox realize plan` lists",
            )
        }
    }
}
