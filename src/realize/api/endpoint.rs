//! Where an API is: a host and a port. Its name, which TLS verifies, comes from the kubeconfig.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// The port of every API server.
const PORT: u16 = 6443;

/// A host (an address, or a name that this machine can resolve) and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    host: String,
    port: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not HOST:PORT")]
pub struct NotAnEndpoint {
    text: String,
}

impl Endpoint {
    /// An address, with the default port.
    pub fn of(address: IpAddr) -> Self {
        Self { host: address.to_string(), port: PORT }
    }
}

/// `host`, `host:port`, `address:port`, `[address]:port`.
impl FromStr for Endpoint {
    type Err = NotAnEndpoint;

    fn from_str(text: &str) -> Result<Self, NotAnEndpoint> {
        let wrong = || NotAnEndpoint { text: text.to_owned() };
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Self::of(address));
        }
        let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, port)) => (host, port.strip_prefix(':').or(port.is_empty().then_some(""))),
            None => text.split_once(':').map_or((text, Some("")), |(host, port)| (host, Some(port))),
        };
        let port = match port.ok_or_else(wrong)? {
            "" => PORT,
            port => port.parse().ok().filter(|port| *port > 0).ok_or_else(wrong)?,
        };
        let letter = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
        let is_name =
            !text.starts_with('[') && !host.is_empty() && host.chars().all(letter) && !text.ends_with(':');
        let is_address = text.starts_with('[') && host.parse::<IpAddr>().is_ok();
        if is_name || is_address { Ok(Self { host: host.to_owned(), port }) } else { Err(wrong()) }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_read_and_shown() {
        let read = |text: &str| text.parse::<Endpoint>().map(|found| found.to_string()).ok();
        let good = [
            ("192.168.126.10", "192.168.126.10:6443"),
            ("127.0.0.1:1", "127.0.0.1:1"),
            ("fd00::10", "[fd00::10]:6443"),
            ("[fd00::10]:7443", "[fd00::10]:7443"),
            ("[fd00::10]", "[fd00::10]:6443"),
            ("api.ocp4.example.com", "api.ocp4.example.com:6443"),
            ("localhost:16443", "localhost:16443"),
        ];
        for (text, shown) in good {
            assert_eq!(read(text).as_deref(), Some(shown), "{text}");
        }
        for bad in
            ["", ":", "a:", "a:0", "a:65536", "a b", "https://a", "a/b", "[a]:1", "[::1]x", "u@a:1", "a:1:2"]
        {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
