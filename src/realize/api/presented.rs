//! The certificates that an API server presents, as a client with this kubeconfig sees them.

use std::net::ToSocketAddrs as _;
use std::sync::Arc;

use super::{ApiError, CONNECT, Endpoint, config};
use crate::base::pki::Certificate;
use crate::realize::timed_stream::TimedStream;

/// Connects, and returns what was presented: the server's own certificate first. The kubeconfig's authorities decide whether it
/// is trusted.
pub(crate) fn presented(kubeconfig: &str, at: &Endpoint) -> Result<Vec<Certificate>, ApiError> {
    // Once per process; a provider that is already installed is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (tls, name) = config::tls(kubeconfig)?;
    let server = at.to_string();
    let failed = |error: &(dyn std::error::Error + 'static)| ApiError::of_transport(server.clone(), error);
    let mut address = server.to_socket_addrs().map_err(|error| failed(&error))?;
    let Some(address) = address.next() else {
        return Err(ApiError::Unreachable { server, message: "its name has no address".to_owned() });
    };
    let mut stream = TimedStream::connect(&address, CONNECT).map_err(|error| failed(&error))?;
    let mut connection =
        rustls::ClientConnection::new(Arc::new(tls), name).map_err(|error| failed(&error))?;
    while connection.is_handshaking() {
        connection.complete_io(&mut stream).map_err(|error| failed(&error))?;
    }
    let chain = connection.peer_certificates().unwrap_or_default();
    let read = |der: &rustls::pki_types::CertificateDer<'_>| Certificate::from_der(der);
    let answer = |_| ApiError::Answer {
        server: server.clone(),
        message: "a certificate that cannot be read".to_owned(),
    };
    chain.iter().map(read).collect::<Result<_, _>>().map_err(answer)
}
