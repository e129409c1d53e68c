//! The load balancer's ports: whether somebody listens there, and whether what answers is this cluster.

use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;

use super::{Area, Outcome, PreflightCheck};
use crate::realize::api::{ApiError, Endpoint, presented};
use crate::realize::needs::{PORTS, Port};
use crate::realize::{ClusterAccess, Realizer};

/// How long a port may take.
const CONNECT: Duration = Duration::from_secs(3);
const API: u16 = 6443;

pub(super) fn ask(realizer: &Realizer<'_>) -> Vec<PreflightCheck> {
    let Some(cluster) = realizer.cluster else { return Vec::new() };
    if !realizer.desired.has_load_balancer() {
        let detail = "this cluster has none: its nodes hold the addresses";
        return vec![PreflightCheck::new(Area::LoadBalancer, "", Outcome::Skipped, detail)];
    }
    let ports = PORTS.into_iter().flat_map(|port| {
        let vips = if port.is_control_plane { &cluster.api_vips } else { &cluster.ingress_vips };
        vips.iter().map(move |vip| (*vip, port))
    });
    let ports: Vec<(IpAddr, Port)> = ports.collect();
    std::thread::scope(|scope| {
        let asked: Vec<_> =
            ports.into_iter().map(|(vip, port)| scope.spawn(move || ask_one(cluster, vip, port))).collect();
        asked.into_iter().filter_map(|one| one.join().ok()).collect()
    })
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
