//! A real etcd on our certificates: three members on loopback, and clients that it lets in or not.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use super::super::built;
use crate::harness::{Workspace, left_out};

/// One running member; gone with the test.
struct Member {
    child: Child,
    client: String,
    log: PathBuf,
}

impl Drop for Member {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Ports that nobody has: all are held until the last is known.
fn ports<const N: usize>() -> [u16; N] {
    let held: [TcpListener; N] = std::array::from_fn(|_| TcpListener::bind("127.0.0.1:0").unwrap());
    held.map(|listener| listener.local_addr().unwrap().port())
}

/// Starts three members, each with its own peer certificate. None, and a word about it, without etcd.
fn start(pki: &Path, data: &Path) -> Option<Vec<Member>> {
    let ports = ports::<6>();
    let peer = |at: usize| format!("https://127.0.0.1:{}", ports[at + 3]);
    let cluster: Vec<String> = (0..3).map(|at| format!("master-{at}={}", peer(at))).collect();
    let mut members = Vec::new();
    for (at, port) in ports[..3].iter().enumerate() {
        let client = format!("https://127.0.0.1:{port}");
        let log = data.join(format!("{at}.log"));
        let file = |name: &str| pki.join(name).display().to_string();
        let flags = [
            ("name", format!("master-{at}")),
            ("data-dir", data.join(at.to_string()).display().to_string()),
            ("listen-client-urls", client.clone()),
            ("advertise-client-urls", client.clone()),
            ("listen-peer-urls", peer(at)),
            ("initial-advertise-peer-urls", peer(at)),
            ("initial-cluster", cluster.join(",")),
            ("initial-cluster-state", "new".to_owned()),
            ("initial-cluster-token", "tinderbox-test".to_owned()),
            ("client-cert-auth", "true".to_owned()),
            // The authority alone: with the root beside it, whoever has a certificate of any other authority could
            // present that chain.
            ("trusted-ca-file", file("etcd-ca.crt")),
            ("cert-file", file("etcd-server.crt")),
            ("key-file", file("etcd-server.key")),
            ("peer-client-cert-auth", "true".to_owned()),
            ("peer-trusted-ca-file", file("etcd-ca.crt")),
            ("peer-cert-file", file(&format!("etcd-peer-master-{at}.crt"))),
            ("peer-key-file", file(&format!("etcd-peer-master-{at}.key"))),
        ];
        let mut command = Command::new("etcd");
        command.args(flags.iter().map(|(flag, value)| format!("--{flag}={value}")));
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        let output = File::create(&log).unwrap();
        command.stdin(Stdio::null()).stdout(output.try_clone().unwrap()).stderr(output);
        match command.spawn() {
            Ok(child) => members.push(Member { child, client, log }),
            Err(error) => {
                left_out("etcd", &format!("etcd, of Debian's etcd-server: {error}"));
                return None;
            }
        }
    }
    Some(members)
}

fn etcdctl(members: &[Member], credentials: &[String], args: &[&str]) -> Option<Output> {
    let endpoints: Vec<&str> = members.iter().map(|member| member.client.as_str()).collect();
    let mut command = Command::new("etcdctl");
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("ETCDCTL_API", "3");
    command
        .arg(format!("--endpoints={}", endpoints.join(",")))
        .arg("--command-timeout=5s")
        .args(credentials)
        .args(args);
    match command.output() {
        Ok(output) => Some(output),
        Err(error) => {
            left_out("etcd", &format!("etcdctl, of Debian's etcd-client: {error}"));
            None
        }
    }
}

/// The flags of a client with this pair.
fn client(pki: &Path, certificate: &Path, key: &Path) -> Vec<String> {
    vec![
        format!("--cacert={}", pki.join("etcd-ca-bundle.crt").display()),
        format!("--cert={}", certificate.display()),
        format!("--key={}", key.display()),
    ]
}

#[test]
fn three_members_serve_our_client_and_nobody_else() {
    let ws = Workspace::example().prebuilt();
    let pki = built(&ws);
    let data = tempfile::tempdir().unwrap();
    let Some(mut members) = start(&pki, data.path()) else { return };
    let ours = client(&pki, &pki.join("etcd-client.crt"), &pki.join("etcd-client.key"));

    let limit = Instant::now() + Duration::from_secs(90);
    loop {
        let Some(health) = etcdctl(&members, &ours, &["endpoint", "health"]) else { return };
        if health.status.success() {
            break;
        }
        let gone = members.iter_mut().any(|member| member.child.try_wait().unwrap().is_some());
        if gone || Instant::now() > limit {
            let logs: Vec<String> =
                members.iter().map(|member| fs::read_to_string(&member.log).unwrap()).collect();
            panic!("not healthy: {}\n{}", String::from_utf8_lossy(&health.stderr), logs.join("\n"));
        }
        std::thread::sleep(Duration::from_millis(100)); // the next look
    }
    let put = etcdctl(&members[..1], &ours, &["put", "spark", "dry"]).unwrap();
    assert!(put.status.success(), "{}", String::from_utf8_lossy(&put.stderr));
    let get = etcdctl(&members[2..], &ours, &["get", "--print-value-only", "spark"]).unwrap();
    assert_eq!(
        String::from_utf8_lossy(&get.stdout).trim(),
        "dry",
        "{}",
        String::from_utf8_lossy(&get.stderr)
    );
    let listed = etcdctl(&members, &ours, &["member", "list"]).unwrap();
    assert_eq!(String::from_utf8_lossy(&listed.stdout).matches("started").count(), 3);

    let nobody = &ours[..1];
    // The administrator of Kubernetes, alone and with the authority that vouches for it.
    let chain = data.path().join("chain.crt");
    let pem = |name: &str| fs::read_to_string(pki.join(name)).unwrap();
    fs::write(&chain, pem("admin.crt") + &pem("kubernetes-ca.crt")).unwrap();
    let alone = client(&pki, &pki.join("admin.crt"), &pki.join("admin.key"));
    let chained = client(&pki, &chain, &pki.join("admin.key"));
    for refused in [nobody, &alone, &chained] {
        let answer = etcdctl(&members[..1], refused, &["get", "spark"]).unwrap();
        assert!(!answer.status.success() && answer.stdout.is_empty(), "{refused:?}");
    }
    // And it was the certificate: ours still works.
    assert!(etcdctl(&members[..1], &ours, &["get", "spark"]).unwrap().status.success());
}
