//! A registry on loopback, for a program that asks registries about images: it serves manifests and configs that the build
//! has pinned by digest, and nothing else. Still no byte leaves the sandbox, so the program's answer depends only on inputs.
//!
//! It runs inside of the sandbox, with tinderbox as the interpreter ([`super::interpreter`]): the program is its child, and its
//! exit code becomes ours. Plain HTTP: TLS would need an authority that the program trusts, and there is nobody to protect from.
//!
//! ```text
//! listen            addresses with ports, one a line; without this file nothing is served
//! sha256/<hex>      manifests and blobs
//! ```

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::base::fs;
use crate::engine::registry::{Sha256, media_type_of};

/// The first word of the interpreter's argument.
pub(super) const VERB: &str = "registry";

/// The name of the file that lists addresses.
const LISTEN: &str = "listen";

/// Maximum size of a request's head.
const HEAD: usize = 16 << 10;

/// Maximum time for a request.
const PATIENCE: Duration = Duration::from_secs(30);

/// The addresses that a directory is to be served at; none if it is not to be served.
pub(crate) fn addresses(directory: &Path) -> Result<Vec<SocketAddr>, fs::Error> {
    let Some(text) = fs::optional(fs::read_text(&directory.join(LISTEN)))? else { return Ok(Vec::new()) };
    Ok(text.lines().filter_map(|line| line.trim().parse().ok()).collect())
}

/// Serves a directory while a program runs; returns the program's exit code. `argument` is that of the interpreter.
pub(crate) fn run(argument: &str, argv: &[String]) -> Option<u8> {
    let directory = Path::new(argument.strip_prefix(VERB)?.strip_prefix(' ')?);
    Some(serve(directory).and_then(|()| program(argv)).unwrap_or_else(|problem| {
        let _ = writeln!(std::io::stderr(), "tinderbox: cannot serve images: {problem}"); // nobody else to tell
        125
    }))
}

fn program(argv: &[String]) -> Result<u8, String> {
    let (program, arguments) = argv.split_first().ok_or("there is no program to run")?;
    #[expect(clippy::disallowed_methods, reason = "the program of the sandbox, inside of it")]
    let status =
        Command::new(program).args(arguments).status().map_err(|error| format!("{program}: {error}"))?;
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    // As shells say it.
    let code = status.code().unwrap_or_else(|| 128 + signal.unwrap_or_default());
    Ok(u8::try_from(code).unwrap_or(u8::MAX))
}

/// Starts serving, in threads that end with this process.
fn serve(directory: &Path) -> Result<(), String> {
    for address in addresses(directory).map_err(|error| error.to_string())? {
        let listener = TcpListener::bind(address).map_err(|error| format!("{address}: {error}"))?;
        let directory = directory.to_owned();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let directory = directory.clone();
                std::thread::spawn(move || answer(stream, &directory));
            }
        });
    }
    Ok(())
}

/// Answers one request. A client that is gone needs no answer.
fn answer(mut stream: TcpStream, directory: &Path) {
    let _ = stream.set_read_timeout(Some(PATIENCE));
    let _ = stream.set_write_timeout(Some(PATIENCE));
    let Some(head) = head(&mut stream) else { return };
    let response = Response::of(&head, directory);
    let _ = stream.write_all(&response.bytes(head.starts_with("HEAD ")));
}

/// The request line and the headers. Not those of a TLS client: it tries again without.
fn head(stream: &mut TcpStream) -> Option<String> {
    let (mut read, mut buffer) = (Vec::new(), [0; 4096]);
    while !read.windows(4).any(|four| four == b"\r\n\r\n") {
        let count = stream.read(&mut buffer).ok().filter(|count| *count > 0)?;
        read.extend_from_slice(&buffer[..count]);
        if read.len() > HEAD || !read[0].is_ascii_uppercase() {
            return Some(String::new());
        }
    }
    Some(String::from_utf8_lossy(&read).into_owned())
}

struct Response {
    status: &'static str,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl Response {
    fn of(head: &str, directory: &Path) -> Self {
        let json = |status, body: &str| Self {
            status,
            headers: vec![("Content-Type", "application/json".to_owned())],
            body: body.as_bytes().to_vec(),
        };
        let mut words = head.lines().next().unwrap_or_default().split(' ');
        let (Some("GET" | "HEAD"), Some(target)) = (words.next(), words.next()) else {
            return json("400 Bad Request", "{}");
        };
        let path = path(target);
        if matches!(path, "/v2/" | "/v2") {
            return json("200 OK", "{}");
        }
        let wanted = path.rsplit_once('/').and_then(|(front, digest)| {
            let digest: Sha256 = digest.parse().ok()?;
            let (_, what) = front.strip_prefix("/v2/")?.rsplit_once('/')?;
            Some((file(directory, &digest), digest, what))
        });
        let found = wanted.and_then(|(file, digest, what)| Some((fs::read(&file).ok()?, digest, what)));
        match found {
            Some((body, digest, what @ ("manifests" | "blobs"))) => {
                let kind = match what {
                    "manifests" => media_type_of(&body),
                    _ => "application/octet-stream".to_owned(),
                };
                let headers = vec![("Content-Type", kind), ("Docker-Content-Digest", digest.to_string())];
                Self { status: "200 OK", headers, body }
            }
            _ => json(
                "404 Not Found",
                r#"{"errors":[{"code":"MANIFEST_UNKNOWN","message":"not an input of this build"}]}"#,
            ),
        }
    }

    fn bytes(&self, head_only: bool) -> Vec<u8> {
        let mut text = format!(
            "HTTP/1.1 {}\r\nContent-Length: {}\r\nConnection: close\r\n",
            self.status,
            self.body.len()
        );
        text.push_str("Docker-Distribution-Api-Version: registry/2.0\r\n");
        for (name, value) in &self.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str("\r\n");
        let body = if head_only { &[][..] } else { &self.body };
        [text.as_bytes(), body].concat()
    }
}

/// The path of a request's target, which a proxy is told with the server: `http://server:5000/v2/`.
fn path(target: &str) -> &str {
    match target.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("/", |slash| &rest[slash..]),
        None => target,
    }
}

/// Where a manifest or blob lies.
fn file(directory: &Path, digest: &Sha256) -> PathBuf {
    directory.join("sha256").join(digest.hex())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_serves_what_is_there_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let manifest = br#"{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json"}"#;
        let digest = Sha256::of(manifest);
        fs::create_dir(&dir.path().join("sha256"), 0o700).unwrap();
        fs::write_new(&file(dir.path(), &digest), manifest, 0o600).unwrap();
        fs::write_new(&dir.path().join("other"), b"not an image", 0o600).unwrap();
        let ask = |line: &str| {
            let bytes = Response::of(&format!("{line} HTTP/1.1\r\nHost: x\r\n\r\n"), dir.path())
                .bytes(line.starts_with("HEAD"));
            let text = String::from_utf8(bytes).unwrap();
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            (head.lines().next().unwrap()[9..12].to_owned(), head.to_owned(), body.len())
        };
        assert_eq!(ask("GET /v2/").0, "200");
        let (status, head, length) = ask(&format!("GET /v2/some/repository/manifests/{digest}"));
        assert_eq!((status.as_str(), length), ("200", manifest.len()));
        assert!(head.contains("\r\nContent-Type: application/vnd.oci.image.manifest.v1+json"), "{head}");
        let through_a_proxy = format!("GET http://127.0.0.1:5000/v2/a/b/blobs/{digest}");
        assert_eq!(ask(&through_a_proxy).0, "200");
        assert_eq!(
            (
                ask(&format!("HEAD /v2/a/manifests/{digest}")).0.as_str(),
                ask(&format!("HEAD /v2/a/manifests/{digest}")).2
            ),
            ("200", 0)
        );
        for line in [
            &format!("GET /v2/a/manifests/{}", Sha256::of(b"other")),
            &format!("GET /v2/a/tags/{digest}"),
            "GET /v2/a/manifests/latest",
            "GET /v2/a/manifests/../../other",
            "GET /other",
        ] {
            assert_eq!(ask(line).0, "404", "{line}");
        }
        assert_eq!(ask(&format!("PUT /v2/a/manifests/{digest}")).0, "400");
        assert_eq!(ask("CONNECT 127.0.0.1:5000").0, "400");
        assert_eq!(ask("").0, "400");
    }

    #[test]
    fn addresses_are_those_of_the_list() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(addresses(dir.path()).unwrap(), []);
        fs::write_new(&dir.path().join(LISTEN), b"127.0.0.1:5000\n[::1]:3128\n", 0o600).unwrap();
        let found: Vec<String> = addresses(dir.path()).unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(found, ["127.0.0.1:5000", "[::1]:3128"]);
    }
}
