//! HTTPS on a loopback port, with the certificates that it is given, and with clients known by theirs.
//!
//! As a real API server does: a client without a certificate is nobody, one with a certificate that the authority has not
//! signed gets no connection. As etcd does, on request: nobody gets none either.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use tinderbox::internals::pki::Certificate;

/// Files in PEM.
pub(crate) struct Tls {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
    /// The authorities of clients.
    pub(crate) clients: PathBuf,
    /// Whether a client must have a certificate.
    pub(crate) required: bool,
}

/// Who asks, as the certificate says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) groups: Vec<String>,
}

/// What is asked.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: BTreeMap<String, String>,
    /// By lower-case name.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
    /// None for who has shown no certificate.
    pub(crate) user: Option<User>,
}

/// What is answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) media_type: &'static str,
    pub(crate) body: Vec<u8>,
}

/// Answers, or hangs up without a word.
type Answers = dyn Fn(&Request) -> Option<Answer> + Send + Sync;

/// Runs until it is stopped or dropped: from then on nobody listens at its port.
pub(crate) struct Https {
    pub(crate) port: u16,
    stopped: Arc<AtomicBool>,
}

impl Https {
    pub(crate) fn start(
        tls: &Tls,
        answers: impl Fn(&Request) -> Option<Answer> + Send + Sync + 'static,
    ) -> Self {
        Self::start_at(0, tls, answers)
    }

    /// At a port that was somebody's before.
    pub(crate) fn start_at(
        port: u16,
        tls: &Tls,
        answers: impl Fn(&Request) -> Option<Answer> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let stopped = Arc::new(AtomicBool::new(false));
        let (config, answers, ended) = (config(tls), Arc::new(answers) as Arc<Answers>, stopped.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if ended.load(Ordering::SeqCst) {
                    return;
                }
                let (config, answers, ended) = (config.clone(), answers.clone(), ended.clone());
                std::thread::spawn(move || serve(stream.unwrap(), config, &*answers, &ended));
            }
        });
        Self { port, stopped }
    }

    /// As the certificates of the API server and of etcd know this machine.
    pub(crate) fn url(&self) -> String {
        format!("https://localhost:{}", self.port)
    }

    /// How to stop it from anywhere.
    pub(crate) fn stopper(&self) -> Stopper {
        Stopper { port: self.port, stopped: self.stopped.clone() }
    }
}

impl Drop for Https {
    fn drop(&mut self) {
        self.stopper().stop();
    }
}

/// Ends one server.
#[derive(Clone)]
pub(crate) struct Stopper {
    port: u16,
    stopped: Arc<AtomicBool>,
}

impl Stopper {
    /// The port is closed when this returns.
    pub(crate) fn stop(&self) {
        if self.stopped.swap(true, Ordering::SeqCst) {
            return; // another server may have its port by now
        }
        // The first wakes the listener up, which ends; the others see that it has.
        for _ in 0..1000 {
            if TcpStream::connect(("127.0.0.1", self.port)).is_err() {
                return;
            }
            std::thread::yield_now();
        }
    }
}

/// The certificates of a file.
fn certificates(path: &Path) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_file_iter(path).unwrap().map(Result::unwrap).collect()
}

fn config(tls: &Tls) -> Arc<ServerConfig> {
    let provider = Arc::new(ring::default_provider());
    let mut roots = RootCertStore::empty();
    certificates(&tls.clients).into_iter().for_each(|one| roots.add(one).unwrap());
    let clients = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone());
    let clients = if tls.required { clients } else { clients.allow_unauthenticated() };
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let key = PrivateKeyDer::from_pem_file(&tls.key).unwrap();
    let config = config
        .with_client_cert_verifier(clients.build().unwrap())
        .with_single_cert(certificates(&tls.certificate), key);
    Arc::new(config.unwrap())
}

type Connection = BufReader<StreamOwned<ServerConnection, TcpStream>>;

/// One connection, request after request. What is no TLS, or no client that may connect, ends it.
fn serve(stream: TcpStream, config: Arc<ServerConfig>, answers: &Answers, ended: &AtomicBool) {
    // A client that is gone without a word does not keep the thread.
    stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    let connection = ServerConnection::new(config).unwrap();
    let mut connection = BufReader::new(StreamOwned::new(connection, stream));
    while let Some(request) = read(&mut connection) {
        if ended.load(Ordering::SeqCst) {
            return;
        }
        let Some(answer) = answers(&request) else { return };
        let head = format!(
            "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n\r\n",
            answer.status,
            reason(answer.status),
            answer.media_type,
            answer.body.len()
        );
        let out = connection.get_mut();
        if out.write_all(head.as_bytes()).and_then(|()| out.write_all(&answer.body)).is_err() {
            return;
        }
        let _ = out.flush(); // the client may have gone
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        409 => "Conflict",
        415 => "Unsupported Media Type",
        422 => "Unprocessable Entity",
        _ => "Internal Server Error",
    }
}

/// The next request; none if there is no more, or nothing that can be read.
fn read(connection: &mut Connection) -> Option<Request> {
    let line = read_line(connection)?;
    let mut words = line.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = BTreeMap::new();
    loop {
        let line = read_line(connection)?;
        let Some((name, value)) = line.split_once(':') else { break };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let mut body = vec![0; headers.get("content-length").map_or(0, |text| text.parse().unwrap())];
    connection.read_exact(&mut body).ok()?;
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let query = query.split('&').filter(|part| !part.is_empty()).map(|part| {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        (decode(name), decode(value))
    });
    let user = user(&connection.get_ref().conn);
    Some(Request { method, path: decode(path), query: query.collect(), headers, body, user })
}

fn read_line(connection: &mut Connection) -> Option<String> {
    let mut line = String::new();
    connection.read_line(&mut line).ok().filter(|read| *read > 0)?;
    Some(line.trim_end().to_owned())
}

/// The name and groups that the API server makes of a client's certificate.
fn user(connection: &ServerConnection) -> Option<User> {
    let shown = Certificate::from_der(connection.peer_certificates()?.first()?).unwrap();
    let name = shown.common_name().unwrap_or_default().to_owned();
    Some(User { name, groups: shown.organizations().to_vec() })
}

/// Percent signs and plus signs.
fn decode(text: &str) -> String {
    let mut out = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let hex = || u8::from_str_radix(std::str::from_utf8(after.get(..2)?).ok()?, 16).ok();
        let coded = if first == b'%' { hex() } else { None };
        rest = if coded.is_some() { &after[2..] } else { after };
        out.push(coded.unwrap_or(if first == b'+' { b' ' } else { first }));
    }
    String::from_utf8(out).unwrap()
}
