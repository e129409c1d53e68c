//! kube-proxy on masters, and what removes it once OVN serves the node.

use std::fs;
use std::process::{Command, Output};

use super::{config, entries, text};
use crate::harness::{Workspace, is_root, left_out, set_mode, source};

const SCRIPT: &str = "/usr/local/bin/kube-proxy-cleanup.sh";
const UNIT: &str = "kube-proxy-cleanup.service";

#[test]
fn masters_have_it_and_what_removes_it() {
    let ws = Workspace::example().prebuilt();
    ws.build(&["ignition"]);
    for (node, is_master) in [("bootstrap", false), ("master-0", true), ("worker-0", false)] {
        let config = config(&ws, node);
        let (files, units) = (entries(&config, "storage.files"), entries(&config, "systemd.units"));
        let has = |path: &str| files.contains_key(path);
        let kubeconfig = has("/etc/kubernetes/kubeconfigs/kube-proxy.kubeconfig");
        assert_eq!(
            (has(SCRIPT), kubeconfig, units.contains_key(UNIT)),
            (is_master, is_master, is_master),
            "{node}"
        );
    }
    assert!(text(&ws, "master-0", SCRIPT).contains("\nservices=(172.30.0.0/16)\n"));
}

#[test]
fn shellcheck_has_nothing_to_say() {
    let ws = Workspace::example().prebuilt();
    ws.build(&["ignition/master-0"]);
    let mut command = Command::new("shellcheck");
    command.args(["--enable=all", "--exclude=SC2250,SC2292,SC2310,SC2312"]);
    match command.arg(ws.path_of("ignition/master-0").join(format!("tree{SCRIPT}"))).output() {
        Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout)),
        Err(error) => left_out("shellcheck", &format!("Debian's shellcheck: {error}")),
    }
}

mod host {
    use super::*;

    fn told(output: &Output) -> String {
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout.clone()).unwrap()
    }

    #[test]
    fn systemd_has_nothing_to_say() {
        let ws = Workspace::example().prebuilt();
        ws.build(&["ignition/master-0"]);
        let temp = tempfile::tempdir().unwrap();
        let script = temp.path().join("kube-proxy-cleanup.sh");
        fs::write(&script, text(&ws, "master-0", SCRIPT)).unwrap();
        set_mode(&script, 0o755);
        let units = entries(&config(&ws, "master-0"), "systemd.units");
        let unit = units[UNIT]["contents"].as_str().unwrap().replace(SCRIPT, script.to_str().unwrap());
        let path = temp.path().join(UNIT);
        fs::write(&path, &unit).unwrap();
        let verify = || Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&path).output();
        let output = match verify() {
            Ok(output) => output,
            Err(error) => return left_out("systemd-analyze", &format!("Debian's systemd: {error}")),
        };
        assert_eq!((told(&output).as_str(), &*output.stderr), ("", &b""[..]), "{output:?}");
        // It does look at this unit.
        fs::write(&path, unit.replace("Restart=on-failure", "Restart=on-a-whim")).unwrap();
        let said = String::from_utf8(verify().unwrap().stderr).unwrap();
        assert!(said.contains("on-a-whim"), "{said}");
    }

    /// Rules of kube-proxy go, all others stay, and nothing goes before OVN serves the node.
    #[test]
    fn its_rules_go_when_ovn_comes() {
        const PART: &str = "the removal of kube-proxy's rules";
        let ws = Workspace::example().prebuilt();
        ws.dual_stack();
        ws.build(&["ignition/master-0"]);
        let temp = tempfile::tempdir().unwrap();
        let script = temp.path().join("cleanup.sh");
        fs::write(&script, text(&ws, "master-0", SCRIPT)).unwrap();
        let flags: &[&str] = if is_root() { &["--net"] } else { &["--map-root-user", "--net"] };
        let run = |command: &[&str]| Command::new("unshare").args(flags).args(command).output();
        match run(&[
            "sh",
            "-c",
            "PATH=$PATH:/usr/sbin ip6tables-save && PATH=$PATH:/usr/sbin ip link set lo up",
        ]) {
            Ok(output) if output.status.success() => {}
            other => {
                return left_out(PART, &format!("unshare, of util-linux, iptables and iproute2: {other:?}"));
            }
        }
        let files = [source("tests/it/ignition/kube-proxy.sh"), source("tests/it/ignition/kube-proxy.rules")];
        let [steps, rules] = files.each_ref().map(|path| path.to_str().unwrap());
        let output =
            run(&["bash", steps, temp.path().to_str().unwrap(), script.to_str().unwrap(), rules]).unwrap();
        insta::assert_snapshot!(told(&output), @r#"
        waiting until OVN serves this node: there is no route to 172.30.0.0/16
        waiting until OVN serves this node: there is no route to fd02::/112
        waiting until OVN serves this node: there is no ovn.conf
        OVN serves this node
        waiting until kube-proxy is stopped: pod 4a5b is there
        kube-proxy is stopped
        removing 8 chains of table nat with iptables
        removing 6 chains of table filter with iptables
        removing 1 chains of table mangle with iptables
        removing 8 chains of table nat with ip6tables
        removing 6 chains of table filter with ip6tables
        removing 1 chains of table mangle with ip6tables
        done
        --- iptables
        *mangle
        :PREROUTING ACCEPT
        :INPUT ACCEPT
        :FORWARD ACCEPT
        :OUTPUT ACCEPT
        :POSTROUTING ACCEPT
        :KUBE-IPTABLES-HINT -
        :KUBE-KUBELET-CANARY -
        *filter
        :INPUT ACCEPT
        :FORWARD ACCEPT
        :OUTPUT ACCEPT
        :KUBE-FIREWALL -
        :KUBE-KUBELET-CANARY -
        -A INPUT -j KUBE-FIREWALL
        -A INPUT -p tcp -m tcp --dport 4444 -m comment --comment "ours, not of KUBE-SERVICES" -j DROP
        -A OUTPUT -j KUBE-FIREWALL
        *nat
        :PREROUTING ACCEPT
        :INPUT ACCEPT
        :OUTPUT ACCEPT
        :POSTROUTING ACCEPT
        :KUBE-KUBELET-CANARY -
        :OVN-KUBE-EXTERNALIP -
        :OVN-KUBE-NODEPORT -
        -A PREROUTING -j OVN-KUBE-EXTERNALIP
        -A PREROUTING -j OVN-KUBE-NODEPORT
        -A OVN-KUBE-NODEPORT -p tcp -m addrtype --dst-type LOCAL -m tcp --dport 30080 -j DNAT --to-destination 192.168.126.101:6443
        --- ip6tables
        the same
        --- again
        OVN serves this node
        kube-proxy is stopped
        done
        "#);
    }
}
