//! Downloads over TLS, from a server whose authority openssl made.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use tinderbox::internals::download::{DownloadError, Wanted};
use tinderbox::internals::hint::Hint as _;
use tinderbox::internals::registry::{Access, Sha256};

use super::{Place, content, serve, server};
use crate::registry::host::have;
use crate::registry::server::{Answer, Request, hasty};

fn openssl(dir: &Path, args: &str) {
    let output = Command::new("openssl").args(args.split(' ')).current_dir(dir).output().unwrap();
    assert!(output.status.success(), "openssl {args}: {}", String::from_utf8_lossy(&output.stderr));
}

/// An authority `NAME.crt`, and a certificate `NAME-tls.crt` for 127.0.0.1 with its key.
fn authority(dir: &Path, name: &str) -> String {
    openssl(
        dir,
        &format!(
            "req -x509 -newkey rsa:2048 -nodes -subj /CN={name} -days 2 -keyout {name}.key -out {name}.crt"
        ),
    );
    openssl(dir, &format!("req -newkey rsa:2048 -nodes -subj /CN=x -keyout {name}-tls.key -out {name}.csr"));
    fs::write(dir.join("san"), "subjectAltName=IP:127.0.0.1\n").unwrap();
    let signed =
        format!("-CA {name}.crt -CAkey {name}.key -CAcreateserial -days 2 -extfile san -out {name}-tls.crt");
    openssl(dir, &format!("x509 -req -in {name}.csr {signed}"));
    fs::read_to_string(dir.join(format!("{name}.crt"))).unwrap()
}

/// One answer for each connection; its address. It ends with the test's process.
fn https(dir: &Path, name: &str, rule: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> String {
    let chain = CertificateDer::pem_file_iter(dir.join(format!("{name}-tls.crt"))).unwrap();
    let chain: Vec<_> = chain.map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_file(dir.join(format!("{name}-tls.key"))).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let config = Arc::new(config.with_single_cert(chain, key).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let rule = Arc::new(rule);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (config, rule) = (config.clone(), rule.clone());
            std::thread::spawn(move || answer(stream.unwrap(), config, &*rule));
        }
    });
    address
}

/// Who does not like the certificate is gone before it asks.
fn answer(stream: TcpStream, config: Arc<ServerConfig>, rule: &dyn Fn(&Request) -> Answer) -> Option<()> {
    let connection = ServerConnection::new(config).ok()?;
    let mut connection = BufReader::new(StreamOwned::new(connection, stream));
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
    let headers = headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
    let Answer { status, headers, body, stop, .. } = rule(&Request { line: lines[0].clone(), headers });
    let mut head = format!("HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
    headers.iter().for_each(|(name, value)| head += &format!("{name}: {value}\r\n"));
    let out = connection.get_mut();
    out.write_all(format!("{head}\r\n").as_bytes()).ok()?;
    out.write_all(&body[..stop.unwrap_or(body.len())]).ok()?;
    if stop.is_none() {
        out.conn.send_close_notify();
    }
    out.flush().ok()
}

fn wanted(address: &str, bytes: &[u8]) -> Wanted {
    let url = format!("https://{address}/images/disk.img");
    Wanted { name: "disk.img".into(), url, sha256: Sha256::of(bytes), unpacked: None }
}

fn access(ca: Option<&str>) -> Access {
    Access { ca: ca.map(str::to_owned), patience: hasty(), ..Access::default() }
}

/// The authority of additionalTrustBundle is trusted, for a connection that breaks off too; no other is.
#[test]
fn the_authority_decides() {
    if !have("openssl", "openssl") {
        return;
    }
    let (place, bytes) = (Place::new(), content());
    let dir = place.temp.path();
    let (mine, other) = (authority(dir, "mine"), authority(dir, "other"));
    let body = bytes.clone();
    let address = https(dir, "mine", move |request| {
        let stop = request.header("range").is_none().then_some(200_000);
        Answer { stop, ..serve(request, &body) }
    });
    let wanted = wanted(&address, &bytes);
    for ca in [None, Some(other.as_str())] {
        let error = place.fetch_with(&wanted, access(ca)).unwrap_err();
        let said = error.to_string();
        assert!(said.contains("its certificate is signed by an unknown authority"), "{said}");
        assert!(error.hint().unwrap().contains("to the trust bundle"), "{:?}", error.hint());
        assert_eq!(place.suffixes().iter().filter(|name| *name != ".part").count(), 0, "nothing came");
    }
    let fetched = place.fetch_with(&wanted, access(Some(&mine))).unwrap();
    assert_eq!(fs::read(fetched.path).unwrap(), bytes);
}

/// What is wrong with a certificate is said in words, with what to do; openssl's own default is an authority's.
#[test]
fn what_is_wrong_with_a_certificate() {
    if !have("openssl", "openssl") {
        return;
    }
    let (place, bytes) = (Place::new(), content());
    let dir = place.temp.path();
    let made = |name: &str, more: &str| {
        let head = "req -x509 -newkey rsa:2048 -nodes -subj /CN=x -days 2";
        openssl(dir, &format!("{head} -keyout {name}-tls.key -out {name}-tls.crt {more}"));
        fs::read_to_string(dir.join(format!("{name}-tls.crt"))).unwrap()
    };
    let cases = [
        ("own", "-addext subjectAltName=IP:127.0.0.1", "is an authority's own (CA:TRUE)", "CA:FALSE"),
        (
            "named",
            "-addext subjectAltName=DNS:x.example -addext basicConstraints=CA:FALSE",
            "is for another name",
            "subjectAltName",
        ),
    ];
    for (name, more, wrong, advice) in cases {
        let ca = made(name, more);
        let body = bytes.clone();
        let address = https(dir, name, move |request| serve(request, &body));
        let error = place.fetch_with(&wanted(&address, &bytes), access(Some(&ca))).unwrap_err();
        assert!(
            error.to_string().contains(&format!("cannot be reached: its certificate {wrong}")),
            "{error}"
        );
        assert!(error.hint().unwrap().contains(advice), "{:?}", error.hint());
    }
    let ca = made("fine", "-addext subjectAltName=IP:127.0.0.1 -addext basicConstraints=CA:FALSE");
    let body = bytes.clone();
    let address = https(dir, "fine", move |request| serve(request, &body));
    place.fetch_with(&wanted(&address, &bytes), access(Some(&ca))).unwrap();
}

/// Who was promised TLS gets no plain http, though the digest would tell; a redirect to TLS is followed.
#[test]
fn no_way_from_tls_to_plain_http() {
    if !have("openssl", "openssl") {
        return;
    }
    let (place, bytes) = (Place::new(), content());
    let dir = place.temp.path();
    let ca = authority(dir, "mine");
    let body = bytes.clone();
    let plain = server(move |request, _| serve(request, &body));
    let to = format!("http://{}/images/disk.img", plain.address);
    let down = https(dir, "mine", move |_| Answer::status(302).with("Location", to.clone()));
    let error = place.fetch_with(&wanted(&down, &bytes), access(Some(&ca))).unwrap_err();
    assert!(error.to_string().contains("it redirects to plain http"), "{error}");
    assert!(matches!(error, DownloadError::Registry(_)), "{error:?}");
    assert_eq!(plain.count("/images/"), 0);

    let body = bytes.clone();
    let up = https(dir, "mine", move |request| serve(request, &body));
    let to = format!("https://{up}/images/disk.img");
    let plain = server(move |_, _| Answer::status(302).with("Location", to.clone()));
    let far = super::wanted(&plain, "disk.img", &bytes);
    assert_eq!(fs::read(place.fetch_with(&far, access(Some(&ca))).unwrap().path).unwrap(), bytes);
}
