//! A registry of a hundred lines that does as it is told, on a loopback port.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tinderbox::internals::registry::{Access, ImageName, Patience, Remote};

use crate::registry::sample::{OCI_INDEX, Sample, TAG, name};

/// What was asked: `GET /v2/…`, and headers by lower-case name.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) line: String,
    pub(crate) headers: BTreeMap<String, String>,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

/// What is answered.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
    /// Hangs up after so many bytes of the body.
    pub(crate) stop: Option<usize>,
    /// Says that the body has so many bytes.
    pub(crate) announced: Option<u64>,
    /// Sends so many bytes at a time, with this pause between them.
    pub(crate) drip: Option<(usize, Duration)>,
}

impl Answer {
    pub(crate) fn status(status: u16) -> Self {
        Self { status, ..Self::default() }
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

type Rule = dyn Fn(&Request, usize) -> Option<Answer> + Send + Sync;

/// Runs until it is dropped. What its rule does not answer, it answers as a registry with the sample would.
pub(crate) struct Server {
    pub(crate) address: String,
    pub(crate) log: Arc<Mutex<Vec<Request>>>,
    stop: Arc<Mutex<bool>>,
}

impl Drop for Server {
    fn drop(&mut self) {
        *self.stop.lock().unwrap() = true;
        let _ = TcpStream::connect(&self.address);
    }
}

impl Server {
    pub(crate) fn of(sample: &Sample) -> Self {
        Self::with(sample, |_, _| None)
    }

    /// `rule` sees the request and how often its line was seen before.
    pub(crate) fn with(
        sample: &Sample,
        rule: impl Fn(&Request, usize) -> Option<Answer> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (log, stop) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(false)));
        let content = Arc::new(content(sample));
        let rule: Arc<Rule> = Arc::new(rule);
        let (seen, ended) = (log.clone(), stop.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if *ended.lock().unwrap() {
                    return;
                }
                let (content, rule, seen) = (content.clone(), rule.clone(), seen.clone());
                std::thread::spawn(move || serve(stream.unwrap(), &content, &*rule, &seen));
            }
        });
        Self { address, log, stop }
    }

    pub(crate) fn name(&self) -> ImageName {
        name(&format!("{}/ocp/release", self.address))
    }

    pub(crate) fn access(&self) -> Access {
        Access { plain_http: vec![self.address.clone()], patience: hasty(), ..Access::default() }
    }

    pub(crate) fn remote(&self) -> Remote {
        Remote::new(self.access()).unwrap()
    }

    /// How many requests had this in their line.
    pub(crate) fn count(&self, part: &str) -> usize {
        self.log.lock().unwrap().iter().filter(|request| request.line.contains(part)).count()
    }
}

/// Three more tries, without waiting for them.
pub(crate) fn hasty() -> Patience {
    Patience {
        delays: vec![Duration::from_millis(5); 3],
        idle: Duration::from_secs(5),
        ..Patience::default()
    }
}

/// Path (below the repository) to content type and bytes.
fn content(sample: &Sample) -> BTreeMap<String, (String, Vec<u8>)> {
    let mut all = BTreeMap::new();
    for (blob, bytes) in &sample.blobs {
        all.insert(format!("blobs/{}", blob.digest), ("application/octet-stream".into(), bytes.clone()));
    }
    for (media_type, bytes) in &sample.manifests {
        let digest = tinderbox::internals::registry::Sha256::of(bytes);
        all.insert(format!("manifests/{digest}"), (media_type.clone(), bytes.clone()));
        if media_type == OCI_INDEX {
            all.insert(format!("manifests/{TAG}"), (media_type.clone(), bytes.clone()));
        }
    }
    all
}

fn serve(
    stream: TcpStream,
    content: &BTreeMap<String, (String, Vec<u8>)>,
    rule: &Rule,
    log: &Mutex<Vec<Request>>,
) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut line = String::new();
    match reader.read_line(&mut line) {
        Ok(0) => return,
        Ok(_) => {}
        Err(_) => {
            // TLS, for example: answered as other servers of plain http do.
            let _ = (&stream).write_all(b"HTTP/1.0 400 Bad Request\r\n\r\n");
            return;
        }
    }
    let line = line.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
    let mut headers = BTreeMap::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).unwrap();
        let Some((name, value)) = header.trim_end().split_once(": ") else { break };
        headers.insert(name.to_lowercase(), value.to_owned());
    }
    let request = Request { line, headers };
    let before = {
        let mut log = log.lock().unwrap();
        log.push(request.clone());
        log.iter().filter(|other| other.line == request.line).count() - 1
    };
    let answer = rule(&request, before).unwrap_or_else(|| usual(&request, content));
    let mut out = stream;
    let mut head = format!("HTTP/1.1 {} X\r\nConnection: close\r\n", answer.status);
    for (name, value) in &answer.headers {
        head += &format!("{name}: {value}\r\n");
    }
    let announced = answer.announced.unwrap_or(answer.body.len() as u64);
    head += &format!("Content-Length: {announced}\r\n\r\n");
    let body = &answer.body[..answer.stop.unwrap_or(answer.body.len()).min(answer.body.len())];
    let (size, pause) = answer.drip.unwrap_or((usize::MAX, Duration::ZERO));
    // The client may have gone.
    let _ = out.write_all(head.as_bytes()).and_then(|()| {
        body.chunks(size.min(body.len()).max(1)).try_for_each(|chunk| {
            out.write_all(chunk)?;
            std::thread::sleep(pause);
            Ok(())
        })
    });
    let _ = out.shutdown(Shutdown::Both);
}

/// As a good registry would: Range included.
pub(crate) fn usual(request: &Request, content: &BTreeMap<String, (String, Vec<u8>)>) -> Answer {
    let path = request.line.split_once("/release/").map(|(_, path)| path).unwrap_or_default();
    let Some((media_type, bytes)) = content.get(path) else { return Answer::status(404) };
    let answer = Answer::status(200).with("Content-Type", media_type.clone());
    let Some(range) = request.header("range") else { return Answer { body: bytes.clone(), ..answer } };
    let from: usize = range.trim_start_matches("bytes=").trim_end_matches('-').parse().unwrap();
    let range = format!("bytes {from}-{}/{}", bytes.len() - 1, bytes.len());
    Answer { status: 206, body: bytes[from..].to_vec(), ..answer }.with("Content-Range", range)
}
