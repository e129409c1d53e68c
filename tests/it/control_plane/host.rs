//! A real etcd with exactly the command line of our pod. It runs in a network namespace of its own where the bootstrap
//! node's address is on loopback, so that addresses and ports stay as they are; only paths are others.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{container, ipv6, pod};
use crate::harness::{Workspace, is_root, left_out};

/// What etcd and its client read; of the key and certificate derivations of the same names.
const NAMES: [&str; 3] = ["etcd-server", "etcd-peer-bootstrap", "etcd-client"];

/// Starts etcd with the arguments, waits until it is healthy for the API server's client, and looks from outside.
const SCRIPT: &str = r#"
secrets=$1 address=$2 host=$3 log=$4; shift 4
ip link set lo up && ip address add "$address" dev lo || exit 77
"$@" > "$log" 2>&1 &
etcd=$!
trap 'kill $etcd' EXIT
export ETCDCTL_API=3
ours="--command-timeout=5s --cacert=$secrets/etcd-ca.crt --cert=$secrets/etcd-client.crt --key=$secrets/etcd-client.key"
tries=0
until etcdctl $ours --endpoints=https://localhost:2379 endpoint health; do
  tries=$((tries + 1))
  kill -0 $etcd && [ $tries -lt 300 ] || exit 1
  sleep 0.1
done
set -e
etcdctl $ours --endpoints="https://$host:2379" put spark dry
etcdctl $ours --endpoints="https://$host:2379" member list
curl -sSf 'http://127.0.0.1:2381/health?exclude=NOSPACE&serializable=true'
echo
! etcdctl --command-timeout=2s --cacert="$secrets/etcd-ca.crt" --endpoints=https://localhost:2379 get spark
"#;

/// All files that etcd and its client need, in one directory as on the node.
fn secrets(ws: &Workspace, to: &Path) {
    fs::create_dir(to).unwrap();
    let mut targets = vec!["pki/etcd-ca".to_owned()];
    targets.extend(NAMES.iter().flat_map(|name| [format!("pki/{name}"), format!("key/{name}")]));
    for path in ws.build_paths(&targets.iter().map(String::as_str).collect::<Vec<_>>()).values() {
        for entry in fs::read_dir(path).unwrap() {
            let path = entry.unwrap().path();
            // As Ignition writes it.
            let name =
                path.file_name().unwrap().to_str().unwrap().replace("etcd-peer-bootstrap", "etcd-peer");
            fs::copy(&path, to.join(name)).unwrap();
        }
    }
}

/// The variables of the one container of a pod.
fn environment(pod: &str) -> Vec<(String, String)> {
    let variables = pod.split("    - name: ETCD_").skip(1);
    let variables = variables.filter_map(|rest| rest.split_once("\n      value: "));
    let variables = variables.map(|(name, rest)| {
        (format!("ETCD_{name}"), rest.lines().next().unwrap_or_default().trim_matches('"').to_owned())
    });
    let variables: Vec<_> = variables.collect();
    assert_eq!(variables.len(), 3, "{variables:?}");
    variables
}

#[test]
fn a_real_etcd_starts_with_our_command_line() {
    for (ws, address, host) in [
        (Workspace::example().prebuilt(), "192.168.126.100/24", "192.168.126.100"),
        (ipv6(), "fd00:126::100/64", "[fd00:126::100]"),
    ] {
        let temp = tempfile::tempdir().unwrap();
        let (files, data, log) =
            (temp.path().join("secrets"), temp.path().join("data"), temp.path().join("log"));
        secrets(&ws, &files);
        let container = container(&pod(&ws, "etcd"));
        let place = |text: &str| {
            text.replace("/etc/kubernetes/secrets", files.to_str().unwrap())
                .replace("/var/lib/etcd", data.to_str().unwrap())
        };
        let flags = container.flags.iter().map(|flag| {
            let value = flag.value.as_ref().map(|value| format!("={}", place(value))).unwrap_or_default();
            format!("--{}{value}", flag.name)
        });
        let mut command = Command::new("unshare");
        command.args(if is_root() { &[][..] } else { &["--map-root-user"] });
        command.args(["--net", "--pid", "--fork", "--kill-child", "sh", "-c", SCRIPT, "sh"]);
        command.args([files.as_path(), Path::new(address), Path::new(host), log.as_path()]);
        command.args(&container.program).args(flags);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.envs(environment(&pod(&ws, "etcd")));
        let output = match command.output() {
            Ok(output) => output,
            Err(error) => {
                return left_out("etcd's command line", &format!("unshare, of util-linux: {error}"));
            }
        };
        let said = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
        let log = fs::read_to_string(&log).unwrap_or_default();
        if output.status.code() == Some(77) || said[1].contains("unshare failed") || log.contains("not found")
        {
            return left_out("etcd's command line", &format!("etcd, ip and namespaces: {}{log}", said[1]));
        }
        assert!(output.status.success(), "{}\n{log}", said.concat());
        let member = format!("started, etcd-bootstrap, https://{}:2380, https://{}:2379", host, host);
        assert!(said[0].contains(&member), "{}", said[0]);
        assert!(said[0].contains(r#"{"health":"true""#), "{}", said[0]);
    }
}
