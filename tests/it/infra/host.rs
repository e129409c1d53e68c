//! What stands around a cluster, judged by the programs that will read it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::{Workspace, is_root, left_out};

/// What makes a cluster of another kind out of the example.
type Change = fn(&Workspace);

/// Clusters of every kind.
fn variants() -> Vec<(&'static str, Workspace)> {
    let all: [(&str, Change); 6] = [
        ("highly available", |_| {}),
        ("dual stack", Workspace::dual_stack),
        ("compact", |ws| ws.without_workers(3)),
        ("single node", |ws| ws.without_workers(1)),
        ("for arm64", |ws| {
            ws.arm64();
            ws.relock();
        }),
        ("from the QEMU image, in a session, on another disk", |ws| {
            let lock = fs::read_to_string(ws.dir.join("cluster.lock")).unwrap();
            let sha256 = "ab".repeat(32);
            ws.write(
                "cluster.lock",
                &format!("{lock}[rhcos.qcow2]\nlocation = \"rhcos.qcow2\"\nsha256 = \"{sha256}\"\n"),
            );
            let libvirt = "\nlibvirt: {uri: 'qemu:///session', path: /home/core/ocp4, domainType: qemu}\n\
                           rhcos: {qcow2: rhcos.qcow2}\n";
            let text = fs::read_to_string(ws.dir.join("cluster.yaml")).unwrap();
            let disk = text.replace("192.168.126.110}", "192.168.126.110, installDevice: /dev/sda}");
            ws.write("cluster.yaml", &(disk + libvirt));
        }),
    ];
    let build = |(name, change): (&'static str, Change)| {
        let ws = Workspace::example().prebuilt();
        change(&ws);
        (name, ws)
    };
    all.into_iter().map(build).collect()
}

/// Every artifact of the kind, by its derivation.
fn artifacts(ws: &Workspace) -> Vec<(String, PathBuf)> {
    let only = |path: PathBuf| fs::read_dir(path).unwrap().next().unwrap().unwrap().path();
    ws.build_paths(&["infra"]).into_iter().map(|(name, path)| (name, only(path))).collect()
}

fn program(name: &str, package: &str, run: &mut Command) -> Option<(bool, String)> {
    match run.output() {
        Ok(output) => {
            let text = [output.stdout, output.stderr]
                .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
                .concat();
            Some((output.status.success(), text))
        }
        Err(_) => {
            left_out(name, package);
            None
        }
    }
}

/// HAProxy accepts both configurations, libvirt's own schemas all XML, and shellcheck the script, for every kind of cluster.
#[test]
fn real_programs_accept_what_they_will_read() {
    for (variant, ws) in variants() {
        let mut seen = 0;
        for (name, path) in artifacts(&ws) {
            let file = path.file_name().unwrap().to_str().unwrap();
            let schema = match name.as_str() {
                "infra/network" => "network",
                "infra/pool" => "storagepool",
                _ => "domain",
            };
            let judged = if file.ends_with(".cfg") {
                program("haproxy", "haproxy", Command::new("haproxy").arg("-c").arg("-f").arg(&path))
            } else if file.ends_with(".sh") {
                program("shellcheck", "shellcheck", Command::new("shellcheck").arg(&path))
            } else {
                let mut run = Command::new("virt-xml-validate");
                program("libvirt's schemas", "libvirt-clients", run.arg(&path).arg(schema))
            };
            let Some((good, text)) = judged else { continue };
            assert!(good, "{variant}: {name}: {text}");
            seen += 1;
        }
        let text = fs::read_to_string(ws.dir.join("cluster.yaml")).unwrap();
        let nodes = text.lines().filter(|line| line.starts_with("- {name:")).count();
        assert!(seen == 0 || seen == 5 + nodes, "{variant}: {seen} files of {nodes} nodes");
    }
}

/// The script opens once, says so, and takes back exactly what it did, in a network of its own.
#[test]
fn the_firewall_is_opened_once_and_closed_again() {
    if !is_root() {
        return left_out("firewall.sh", "root, for a network of its own");
    }
    let ws = Workspace::example().prebuilt();
    ws.dual_stack();
    ws.build(&["infra/firewall"]);
    let script = ws.path_of("infra/firewall").join("firewall.sh");
    let test = r#"
        command -v iptables >/dev/null || exit 77
        rules() { iptables-save; ip6tables-save; }
        iptables -P INPUT DROP; ip6tables -P INPUT DROP # and so that both have their tables
        rules | grep -v '^#' >before
        "$1" check >said && exit 1
        DRY_RUN=1 "$1" >commands
        rules | grep -v '^#' | cmp - before || exit 2
        "$1" && "$1" open && "$1" check || exit 3
        rules | grep -c -- '-j ACCEPT' >count
        "$1" close && "$1" close || exit 4
        rules | grep -v '^#' | cmp - before || exit 5
        "$1" shut; [ $? = 2 ] || exit 6
    "#;
    let mut command = ws.command_of(Path::new("unshare"), &["--net", "sh", "-c", test, "sh"]);
    let output = command.arg(&script).current_dir(ws.temp()).output().unwrap();
    if output.status.code() == Some(77) {
        return left_out("firewall.sh", "iptables, of Debian's iptables");
    }
    assert!(output.status.success(), "{}", ws.text(&output));
    let read = |file: &str| fs::read_to_string(ws.temp().join(file)).unwrap();
    insta::assert_snapshot!(read("commands"), @r"
    iptables -w -t filter -I INPUT -i virbr-ocp4 -d 192.168.126.10 -p tcp --dport 6443 -j ACCEPT
    iptables -w -t filter -I INPUT -i virbr-ocp4 -d 192.168.126.10 -p tcp --dport 22623 -j ACCEPT
    ip6tables -w -t filter -I INPUT -i virbr-ocp4 -d fd00:126::10 -p tcp --dport 6443 -j ACCEPT
    ip6tables -w -t filter -I INPUT -i virbr-ocp4 -d fd00:126::10 -p tcp --dport 22623 -j ACCEPT
    iptables -w -t filter -I INPUT -i virbr-ocp4 -d 192.168.126.11 -p tcp --dport 80 -j ACCEPT
    iptables -w -t filter -I INPUT -i virbr-ocp4 -d 192.168.126.11 -p tcp --dport 443 -j ACCEPT
    ip6tables -w -t filter -I INPUT -i virbr-ocp4 -d fd00:126::11 -p tcp --dport 80 -j ACCEPT
    ip6tables -w -t filter -I INPUT -i virbr-ocp4 -d fd00:126::11 -p tcp --dport 443 -j ACCEPT
    iptables -w -t filter -I FORWARD -s 192.168.126.0/24 -i virbr-ocp4 -j ACCEPT
    iptables -w -t filter -I FORWARD -d 192.168.126.0/24 -o virbr-ocp4 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
    ip6tables -w -t filter -I FORWARD -s fd00:126::/64 -i virbr-ocp4 -j ACCEPT
    ip6tables -w -t filter -I FORWARD -d fd00:126::/64 -o virbr-ocp4 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
    ");
    assert_eq!(read("said").lines().count(), read("commands").lines().count());
    assert_eq!(read("count").trim(), read("commands").lines().count().to_string());
}

/// A judge of a file, as a program with arguments; the file comes last.
fn judge(part: &str, package: &str, words: &[&str], file: &Path) {
    if let Some((good, text)) = program(part, package, Command::new(words[0]).args(&words[1..]).arg(file)) {
        assert!(good, "{words:?} {}: {text}", file.display());
    }
}

/// What users have for their own machines is read by the programs that it is for: BIND's and dnsmasq's judges, HAProxy, keepalived.
#[test]
fn real_programs_accept_what_surrounds_external_machines() {
    let change: [Change; 3] = [|_| {}, Workspace::dual_stack, |ws| ws.without_workers(3)];
    for change in change {
        let ws = Workspace::example().prebuilt();
        change(&ws);
        ws.external_machines();
        ws.build(&["infra"]);
        let infra = |name: &str, file: &str| ws.path_of(&format!("infra/{name}")).join(file);
        let zone = ["named-checkzone", "-i", "local", "ocp4.example.com"];
        judge("zones", "bind9-utils", &zone, &infra("dns", "forward.zone"));
        let zone = ["named-checkzone", "-i", "local", "126.168.192.in-addr.arpa"];
        judge("zones", "bind9-utils", &zone, &infra("dns", "reverse.zone"));
        let conf = format!("--conf-file={}", infra("dns", "dnsmasq.conf").display());
        let dnsmasq =
            program("dnsmasq.conf", "dnsmasq-base", Command::new("dnsmasq").args(["--test", &conf]));
        assert!(dnsmasq.is_none_or(|(good, text)| good && text.contains("syntax check OK")));
        for file in ["haproxy", "haproxy-pivoted"] {
            judge("HAProxy", "haproxy", &["haproxy", "-c", "-f"], &infra(file, &format!("{file}.cfg")));
        }
        if !is_root() {
            left_out("keepalived.conf", "root, for a network with its interface");
            continue;
        }
        let net = "ip link add eth0 type veth peer name eth1 && ip link set eth0 up && exec keepalived --config-test --log-console -f \"$1\"";
        let words = ["unshare", "--net", "sh", "-c", net, "sh"];
        judge("keepalived.conf", "keepalived", &words, &infra("keepalived", "keepalived.conf"));
    }
}

/// A server of the zones answers with what the files say: the records are right, not only well-formed.
#[test]
fn zones_have_every_name_both_ways() {
    let ws = Workspace::example().prebuilt();
    ws.dual_stack();
    ws.external_machines();
    ws.build(&["infra/dns"]);
    let dump = |zone: &str, file: &str| {
        let path = ws.path_of("infra/dns").join(file);
        let words = ["-i", "local", "-D", zone];
        program("zones", "bind9-utils", Command::new("named-checkzone").args(words).arg(path))
    };
    let Some((good, forward)) = dump("ocp4.example.com", "forward.zone") else { return };
    assert!(good, "{forward}");
    let records = |text: &str| -> Vec<String> {
        let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let all = lines.filter(|words| words.len() == 5 && ["A", "AAAA", "PTR"].contains(&words[3]));
        all.map(|words| format!("{} {} {}", words[0], words[3], words[4])).collect()
    };
    let found = records(&forward);
    for name in ["api", "api-int"] {
        for record in ["A 192.168.126.10", "AAAA fd00:126::10"] {
            assert!(
                found.contains(&format!("{name}.ocp4.example.com. {record}")),
                "{name} {record}: {found:#?}"
            );
        }
    }
    assert!(found.contains(&"*.apps.ocp4.example.com. A 192.168.126.11".to_owned()), "{found:#?}");
    assert!(found.contains(&"worker-1.ocp4.example.com. A 192.168.126.111".to_owned()), "{found:#?}");
    let zones = [
        ("126.168.192.in-addr.arpa", "111.126.168.192.in-addr.arpa."),
        (
            "0.0.0.0.0.0.0.0.6.2.1.0.0.0.d.f.ip6.arpa",
            "1.1.1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.6.2.1.0.0.0.d.f.ip6.arpa.",
        ),
    ];
    for (zone, name) in zones {
        let Some((good, text)) = dump(zone, "reverse.zone") else { return };
        assert!(good, "{text}");
        assert!(records(&text).contains(&format!("{name} PTR worker-1.ocp4.example.com.")), "{text}");
    }
}
