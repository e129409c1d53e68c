//! `realize apply` and `destroy` on a real libvirt: everything made once, whatever happens on the way, and all of it removed.

use std::fs;
use std::io::Write as _;
use std::net::TcpListener;
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use super::node::Nodes;
use super::{Libvirt, small};
use crate::harness::Workspace;
use crate::harness::documents::assert_document;

/// Everything that a host has, as one text. Without the states of links: a bridge that nobody uses goes from UNKNOWN to DOWN by itself.
fn host(libvirt: &Libvirt, ws: &Workspace) -> String {
    libvirt.sh(&format!(
        "virsh -q list --all --name | sort; virsh -q net-list --name; virsh -q net-list --all --name
         virsh -q pool-list --all --name; ls -d {0} {0}/* /run/strange/* 2>/dev/null
         ip -brief address | grep -v '^vnet' | sed 's/ fe80[^ ]*//; s/  */ /g' | cut -d' ' -f1,3-
         iptables-save | grep -v '^[#:]'
         cat /proc/[0-9]*/comm | grep -x haproxy
         ls -A {1} | sort",
        ws.temp().join("pool").display(),
        ws.dir.display(),
    ))
}

fn apply(libvirt: &Libvirt, ws: &Workspace, args: &[&str]) -> serde_json::Value {
    let output = libvirt
        .command(ws, &[&["realize", "apply", "--json", "-q", "--no-wait"], args].concat())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", ws.text(&output));
    let applied = serde_json::from_slice(&output.stdout).unwrap();
    assert_document(ws, "realize-apply", &applied);
    applied
}

fn steps(applied: &serde_json::Value) -> Vec<String> {
    let text = |step: &serde_json::Value, field: &str| step[field].as_str().unwrap().to_owned();
    let steps = applied["steps"].as_array().unwrap().iter();
    steps.map(|step| format!("{} {}", text(step, "action"), text(step, "resource"))).collect()
}

/// Nothing is left to do, and everything is there once.
fn assert_whole(libvirt: &Libvirt, ws: &Workspace) {
    let output = libvirt.command(ws, &["realize", "plan", "--json", "-q"]).output().unwrap();
    let plan: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let open = |step: &&serde_json::Value| step["action"] != "keep";
    let left: Vec<&serde_json::Value> = plan["steps"].as_array().unwrap().iter().filter(open).collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(libvirt.virsh(&["list", "--name"]).split_whitespace().count(), 6, "running machines");
    // One that was reloaded goes when its connections have ended.
    let end = Instant::now() + Duration::from_secs(60);
    while libvirt.sh("cat /proc/[0-9]*/comm | grep -cx haproxy").trim() != "1" {
        assert!(Instant::now() < end, "load balancers");
    }
    let files = libvirt.sh(&format!("ls {} | grep -vc '\\.log$'", ws.temp().join("pool").display()));
    // The image and six Ignition configs, each with its mark, and six disks.
    assert_eq!(files.trim(), (2 * 7 + 6).to_string());
}

/// Something on loopback that says a word to whoever connects.
fn says(word: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = stream.unwrap().write_all(word.as_bytes()); // a health check does not listen
        }
    });
    port
}

/// What the API's VIP answers, as soon as it is that.
fn answered(libvirt: &Libvirt, expected: &str) {
    let end = Instant::now() + Duration::from_secs(120);
    loop {
        let said = libvirt.sh("busybox timeout 5 busybox nc 192.168.126.10 6443 </dev/null || true");
        if said == expected {
            return;
        }
        assert!(Instant::now() < end, "{said:?}");
    }
}

/// All phases, the answers of the network and the load balancer, and back to where we were.
#[test]
fn machines_run_and_are_removed_again() {
    let Some(libvirt) = Libvirt::start("realize on a real libvirt") else { return };
    libvirt.strangers();
    let ws = small();
    let before = host(&libvirt, &ws);

    let first = apply(&libvirt, &ws, &["--until", "media"]);
    assert_eq!(steps(&first).len(), 2 + 2 + 1 + 6 + 6, "{first}");
    assert_eq!(libvirt.virsh(&["list", "--all", "--name"]).trim(), "strange");
    let second = apply(&libvirt, &ws, &[]);
    assert_eq!(steps(&second), ["create machine"; 6]);
    assert_eq!(steps(&apply(&libvirt, &ws, &[])), [""; 0]);
    assert_whole(&libvirt, &ws);

    // DNS answers; the load balancer forwards to what stands in for the bootstrap API.
    assert_eq!(libvirt.sh("dig +short +tries=5 @192.168.126.1 api.ocp4.example.com"), "192.168.126.10\n");
    let nodes = Nodes::join(&libvirt, &["192.168.126.100", "192.168.126.101"]);
    let api = nodes.network().door("192.168.126.100:6443", says("bootstrap\n"));
    answered(&libvirt, "bootstrap\n");
    drop((api, nodes));

    // The console of a machine without an operating system: what its firmware says.
    let end = Instant::now() + Duration::from_secs(120);
    while !libvirt.run(&ws, &["realize", "logs", "bootstrap", "-q"]).contains("[exit 0]") {
        assert!(Instant::now() < end);
    }
    insta::assert_snapshot!(unreached(&libvirt.run(&ws, &["realize", "status", "-q"])), @r"
    network   active
    balancer  [STORE]/[ID]-cluster/infra/haproxy.cfg
    API       not ready at 192.168.126.10:6443: the API at `192.168.126.10:6443` cannot be reached: [WORDS]
    NODE       STATE    IGNITION  BOOTED  API     KUBELET  CERTIFICATES  ADDRESSES  MACHINE
    bootstrap  running  current           silent                                    ocp4-cv5ll-bootstrap
    master-0   running  current           silent                                    ocp4-cv5ll-master-0
    master-1   running  current           silent                                    ocp4-cv5ll-master-1
    master-2   running  current           silent                                    ocp4-cv5ll-master-2
    worker-0   running  current                                                     ocp4-cv5ll-worker-0
    worker-1   running  current                                                     ocp4-cv5ll-worker-1
    console   https://console-openshift-console.apps.ocp4.example.com
    log in    as `kubeadmin`; the password: `tinderbox -C [DIR] show cluster:auth/kubeadmin-password --reveal`
    oc        export KUBECONFIG=[STORE]/[ID]-cluster/auth/kubeconfig
    [exit 0]
    ");

    // A changed Ignition costs a disk, and nobody loses one without a word.
    ws.edit("cluster.yaml", "ip: 192.168.126.111", "ip: 192.168.126.112");
    insta::assert_snapshot!(libvirt.run(&ws, &["realize", "apply", "-q", "--no-wait"]), @r"
    [stderr]
    error: the content of this disk would be lost: `worker-1.qcow2`
    hint: `--yes` agrees to that; `tinderbox realize plan` says why
    [exit 2]
    ");
    // With that, it alone is made anew; the others go on, in a network that learns the new name while they are in it.
    let running = |libvirt: &Libvirt| -> Vec<String> {
        let lines = libvirt.virsh(&["list"]);
        let words = lines.lines().map(|line| line.split_whitespace().take(2).collect::<Vec<_>>().join(" "));
        words.filter(|line| !line.ends_with("worker-1")).collect()
    };
    let others = running(&libvirt);
    insta::assert_snapshot!(steps(&apply(&libvirt, &ws, &["--yes"])).join("\n"), @r"
    change network
    change balancer
    create medium
    change disk
    remove medium
    change machine
    ");
    assert_eq!(running(&libvirt), others);
    assert_whole(&libvirt, &ws);
    let ask = "dig +short +tries=5 @192.168.126.1 worker-1.ocp4.example.com";
    assert_eq!(libvirt.sh(ask), "192.168.126.112\n");

    insta::assert_snapshot!(libvirt.run(&ws, &["realize", "destroy", "-q"]), @r"
    [stderr]
    error: everything on the machines' disks would be lost
    hint: `--yes` agrees to that
    [exit 2]
    ");
    let destroyed = libvirt.run(&ws, &["realize", "destroy", "--yes", "-q"]);
    assert!(destroyed.ends_with("resources removed\n[exit 0]\n"), "{destroyed}");
    assert_eq!(host(&libvirt, &ws), before);
    let again = libvirt.command(&ws, &["realize", "destroy", "--yes", "-q", "--json"]).output().unwrap();
    let again = serde_json::from_slice(&again.stdout).unwrap();
    assert_document(&ws, "realize-destroy", &again);
    assert_eq!(again["removed"], serde_json::json!([]));
}

/// `kill -9` in every phase and anywhere: running it again ends in the same state.
#[test]
fn a_killed_run_goes_on() {
    let Some(libvirt) = Libvirt::start("realize, killed") else { return };
    libvirt.strangers();
    let ws = small();
    let before = host(&libvirt, &ws);
    let journal = ws.dir.join(".realize/journal.json");
    for phase in ["host", "media", "bootstrap", "control-plane", "workers"] {
        let mut run = libvirt.command(&ws, &["realize", "apply", "-q", "--no-wait"]).spawn().unwrap();
        let end = Instant::now() + Duration::from_secs(300);
        let begun = format!("\"begun\": \"{phase}\"");
        while !fs::read_to_string(&journal).is_ok_and(|text| text.contains(&begun)) {
            assert!(run.try_wait().unwrap().is_none() && Instant::now() < end, "{phase}");
            std::thread::sleep(Duration::from_millis(1));
        }
        kill_inside(&mut run);
    }
    apply(&libvirt, &ws, &[]);
    assert_whole(&libvirt, &ws);
    // Anywhere: while things are made, while they are removed, and while they are made again.
    for (verb, after) in
        [("destroy", 700), ("apply", 900), ("destroy", 1600), ("apply", 2500), ("apply", 4000)]
    {
        let args: &[&str] = if verb == "destroy" {
            &["realize", "destroy", "--yes", "-q"]
        } else {
            &["realize", "apply", "-q", "--no-wait"]
        };
        let mut run = libvirt.command(&ws, args).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(after)); // any instant will do
        kill_inside(&mut run);
    }
    apply(&libvirt, &ws, &[]);
    assert_whole(&libvirt, &ws);
    let destroyed = libvirt.command(&ws, &["realize", "destroy", "--yes", "-q"]).output().unwrap();
    assert!(destroyed.status.success(), "{}", ws.text(&destroyed));
    assert_eq!(host(&libvirt, &ws), before);
}

/// Without the words of a connection that fails: they depend on who gives up first.
pub(super) fn unreached(text: &str) -> String {
    let words = "cannot be reached: ";
    let cut = |line: &str| match line.split_once(words) {
        Some((before, _)) => format!("{before}{words}[WORDS]\n"),
        None => format!("{line}\n"),
    };
    text.lines().map(cut).collect()
}

/// Kills our program, and not nsenter alone, which waits for it.
pub(super) fn kill_inside(run: &mut Child) {
    let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", run.id())).unwrap_or_default();
    for pid in children.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)) {
        let _ = rustix::process::kill_process(pid, Signal::KILL); // it may have ended by itself
    }
    run.wait().unwrap();
}
