//! Ports of this machine that the load balancer needs and other programs use.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use crate::base::fs;

/// The kernel's code for a listening socket.
const LISTEN: &str = "0A";

/// The listening sockets of this machine; empty if the kernel does not tell.
pub(super) fn listening() -> Vec<SocketAddr> {
    let tables =
        ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| fs::read_text(Path::new(path)).unwrap_or_default());
    tables.iter().flat_map(|table| table.lines().filter_map(listener)).collect()
}

/// The address in a line of the kernel's table, if its socket is listening.
fn listener(line: &str) -> Option<SocketAddr> {
    let mut words = line.split_whitespace();
    let (local, state) = (words.nth(1)?, words.nth(1)?);
    let (address, port) = local.split_once(':').filter(|_| state == LISTEN)?;
    let port = u16::from_str_radix(port, 16).ok()?;
    // Words of 32 bits, each in native byte order.
    let word = |at: usize| Some(u32::from_str_radix(address.get(at..at + 8)?, 16).ok()?.to_ne_bytes());
    let address = match address.len() {
        8 => IpAddr::from(word(0)?),
        32 => {
            let all: Vec<u8> = [word(0)?, word(8)?, word(16)?, word(24)?].concat();
            IpAddr::from(Ipv6Addr::from(<[u8; 16]>::try_from(all).ok()?))
        }
        _ => return None,
    };
    Some(SocketAddr::new(address, port))
}

/// The addresses that an HAProxy configuration listens on.
pub(super) fn binds(config: &str) -> Vec<SocketAddr> {
    let bind = |line: &str| line.trim().strip_prefix("bind ")?.split_whitespace().next()?.parse().ok();
    config.lines().filter_map(bind).collect()
}

/// Those that another program listens on, there or on all addresses.
pub(super) fn taken(needed: &[SocketAddr], listening: &[SocketAddr]) -> Vec<SocketAddr> {
    let every = [IpAddr::from(Ipv4Addr::UNSPECIFIED), IpAddr::from(Ipv6Addr::UNSPECIFIED)];
    let clash = |one: &SocketAddr, other: &SocketAddr| {
        one.port() == other.port() && (one.ip() == other.ip() || every.contains(&other.ip()))
    };
    needed.iter().filter(|one| listening.iter().any(|other| clash(one, other))).copied().collect()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn listeners_clash_on_the_same_port() {
        let ours = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = ours.local_addr().unwrap();
        assert!(listening().contains(&at), "{at}");
        let [six, every] = ["[::1]:80", "0.0.0.0:443"].map(|text| text.parse().unwrap());
        let config =
            "listen a\n  bind 10.0.0.1:80\n  bind [::1]:80\n  server x 10.0.0.1:443\n  bind 10.0.0.1:443\n";
        let needed = binds(config);
        assert_eq!(needed.len(), 3);
        let told: Vec<String> = taken(&needed, &[six, every, at]).iter().map(ToString::to_string).collect();
        assert_eq!(told, ["[::1]:80", "10.0.0.1:443"]);
    }

    #[test]
    fn the_kernels_table_is_parsed() {
        let line = "  0: 0100007F:2328 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 1 1 0 100 0 0 10 0";
        if cfg!(target_endian = "little") {
            assert_eq!(listener(line), Some("127.0.0.1:9000".parse().unwrap()));
        }
        assert_eq!(listener(&line.replace(" 0A ", " 01 ")), None);
        assert_eq!(listener("sl local_address"), None);
    }
}
