//! A registry in memory with TLS, which does as it is told: for what a real one does only on bad days.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use time::Duration;
use time::macros::datetime;
use tinderbox::internals::pki::{Algorithm, Form, Name, PrivateKey, Request as Asked, issue};
use tinderbox::internals::registry::Sha256;
use tinderbox::internals::secret::Seed;

use crate::registry::server::{Answer, Request};

/// When its certificate is valid.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Valid {
    /// Whatever day it is.
    Always,
    /// Not any more.
    Expired,
    /// Not yet: this machine's clock is behind.
    Later,
}

type Rule = dyn Fn(&Request) -> Option<Answer> + Send + Sync;

#[derive(Default)]
struct State {
    blobs: BTreeMap<String, Vec<u8>>,
    /// By tag and by digest.
    manifests: BTreeMap<String, Vec<u8>>,
    uploads: usize,
}

/// Runs until the test's process ends.
pub(crate) struct Memory {
    pub(crate) address: String,
    /// Its certificate, PEM.
    pub(crate) ca: String,
    state: Arc<Mutex<State>>,
    rule: Arc<Mutex<Arc<Rule>>>,
    log: Arc<Mutex<Vec<String>>>,
}

impl Memory {
    pub(crate) fn start() -> Self {
        Self::with(Valid::Always)
    }

    pub(crate) fn with(valid: Valid) -> Self {
        let (ca, config) = tls(valid);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let nothing: Arc<Rule> = Arc::new(|_| None);
        let memory = Self {
            address,
            ca,
            state: Arc::default(),
            rule: Arc::new(Mutex::new(nothing)),
            log: Arc::default(),
        };
        let (state, rule, log) = (memory.state.clone(), memory.rule.clone(), memory.log.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (config, state, rule, log) = (config.clone(), state.clone(), rule.clone(), log.clone());
                std::thread::spawn(move || serve(stream.unwrap(), config, &state, &rule, &log));
            }
        });
        memory
    }

    /// What `rule` does not answer is answered as usual.
    pub(crate) fn rule(&self, rule: impl Fn(&Request) -> Option<Answer> + Send + Sync + 'static) {
        *self.rule.lock().unwrap() = Arc::new(rule);
    }

    /// How many requests since the last call had this in their line.
    pub(crate) fn count(&self, part: &str) -> usize {
        std::mem::take(&mut *self.log.lock().unwrap()).iter().filter(|line| line.contains(part)).count()
    }

    /// Changes what it has: blobs and manifests, each with its name.
    pub(crate) fn change(&self, change: impl Fn(&str, &mut Vec<u8>)) {
        let State { blobs, manifests, .. } = &mut *self.state.lock().unwrap();
        blobs.iter_mut().for_each(|(digest, bytes)| change(&format!("blobs/{digest}"), bytes));
        manifests.iter_mut().for_each(|(name, bytes)| change(&format!("manifests/{name}"), bytes));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.state.lock().unwrap().manifests.is_empty()
    }
}

/// A certificate for 127.0.0.1, and a server's configuration with it.
fn tls(valid: Valid) -> (String, Arc<ServerConfig>) {
    let seed = Seed::new(zeroize::Zeroizing::new([9; 32]));
    let long = [datetime!(2000-01-01 00:00 UTC), datetime!(2099-01-01 00:00 UTC)];
    let [not_before, not_after] = match valid {
        Valid::Always => long,
        Valid::Expired => [long[0], long[0] + Duration::days(365)],
        Valid::Later => [long[1] - Duration::days(365), long[1]],
    };
    let key = PrivateKey::generate(&seed, "test", "memory", 1, Algorithm::EcdsaP256);
    let request = Asked {
        subject: Name::common("memory"),
        not_before,
        not_after,
        authority: None,
        key_usages: Vec::new(),
        server: true,
        client: false,
        dns: Vec::new(),
        ips: vec!["127.0.0.1".parse().unwrap()],
        key: &key,
    };
    // It vouches for itself: nothing else trusts it.
    let certificate = issue(&seed, "test", "memory", 1, &request, None).unwrap();
    let key = key.to_pem(Form::Pkcs8);
    let chain = vec![CertificateDer::from_pem_slice(certificate.to_pem().as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    (certificate.to_pem(), Arc::new(config.with_single_cert(chain, key).unwrap()))
}

type Connection = BufReader<StreamOwned<ServerConnection, TcpStream>>;

/// Requests of one connection. Who does not like the certificate is gone before it asks.
fn serve(
    stream: TcpStream,
    config: Arc<ServerConfig>,
    state: &Mutex<State>,
    rule: &Mutex<Arc<Rule>>,
    log: &Mutex<Vec<String>>,
) -> Option<()> {
    let connection = ServerConnection::new(config).ok()?;
    let mut connection = BufReader::new(StreamOwned::new(connection, stream));
    loop {
        let (request, body) = read(&mut connection)?;
        log.lock().unwrap().push(request.line.clone());
        let rule = rule.lock().unwrap().clone();
        let Answer { status, headers, body, stop, announced, .. } =
            rule(&request).unwrap_or_else(|| usual(&request, body, &mut state.lock().unwrap()));
        let announced = announced.unwrap_or(body.len() as u64);
        let mut head = format!("HTTP/1.1 {status} X\r\nContent-Length: {announced}\r\n");
        headers.iter().for_each(|(name, value)| head += &format!("{name}: {value}\r\n"));
        let is_head = request.line.starts_with("HEAD ");
        let sent = if is_head { &[][..] } else { &body[..stop.unwrap_or(body.len())] };
        let out = connection.get_mut();
        out.write_all(format!("{head}\r\n").as_bytes()).ok()?;
        out.write_all(sent).ok()?;
        out.flush().ok()?;
        if stop.is_some() {
            return None;
        }
    }
}

fn read(connection: &mut Connection) -> Option<(Request, Vec<u8>)> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        connection.read_line(&mut line).ok().filter(|read| *read > 0)?;
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let headers = lines[1..].iter().filter_map(|line| line.split_once(": "));
    let headers: BTreeMap<_, _> =
        headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
    let line = lines[0].trim_end_matches(" HTTP/1.1").to_owned();
    let request = Request { line, headers };
    let mut body = Vec::new();
    if request.header("transfer-encoding") == Some("chunked") {
        loop {
            let mut size = String::new();
            connection.read_line(&mut size).ok()?;
            let size = usize::from_str_radix(size.trim(), 16).ok()?;
            let mut chunk = vec![0; size + 2];
            connection.read_exact(&mut chunk).ok()?;
            if size == 0 {
                break;
            }
            body.extend_from_slice(&chunk[..size]);
        }
    } else {
        body = vec![0; request.header("content-length").map_or(0, |length| length.parse().unwrap())];
        connection.read_exact(&mut body).ok()?;
    }
    Some((request, body))
}

/// As a good registry would.
fn usual(request: &Request, body: Vec<u8>, state: &mut State) -> Answer {
    let (method, path) = request.line.split_once(' ').unwrap();
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let ok = |status| Answer::status(status);
    if let Some((_, name)) = path.split_once("/manifests/") {
        return match method {
            "PUT" => {
                let digest = Sha256::of(&body).to_string();
                state.manifests.insert(digest.clone(), body.clone());
                state.manifests.insert(name.to_owned(), body);
                ok(201).with("Docker-Content-Digest", digest).with("Location", path)
            }
            _ => content(state.manifests.get(name)),
        };
    }
    if let Some((base, _)) = path.split_once("/blobs/uploads/") {
        return match method {
            "POST" => {
                state.uploads += 1;
                ok(202).with("Location", format!("{base}/blobs/uploads/{}", state.uploads))
            }
            "PATCH" => {
                state.blobs.entry(path.to_owned()).or_default().extend(body);
                ok(202).with("Location", path)
            }
            _ => {
                let mut whole = state.blobs.remove(path).unwrap_or_default();
                whole.extend(body);
                let digest = query.split('&').find_map(|part| part.strip_prefix("digest="));
                let digest = digest.unwrap().replace("%3A", ":");
                if Sha256::of(&whole).to_string() != digest {
                    return ok(400);
                }
                state.blobs.insert(digest, whole);
                ok(201).with("Location", path)
            }
        };
    }
    if let Some((_, digest)) = path.split_once("/blobs/") {
        return content(state.blobs.get(digest));
    }
    if path.ends_with("/tags/list") {
        let tags: Vec<&String> = state.manifests.keys().filter(|name| !name.starts_with("sha256:")).collect();
        return Answer {
            body: serde_json::json!({"name": "x", "tags": tags}).to_string().into_bytes(),
            ..ok(200)
        };
    }
    ok(200)
}

fn content(found: Option<&Vec<u8>>) -> Answer {
    found.map_or_else(
        || Answer::status(404),
        |bytes| {
            Answer { body: bytes.clone(), ..Answer::status(200) }
                .with("Content-Type", "application/octet-stream")
        },
    )
}
