//! `realize` with machines of the user's own: a site with a network of its own, where real dnsmasq and HAProxy serve what the closure has for
//! them, addresses answer as machines would, and the cluster is the one that the machines of libvirt are played with too.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::live::{Played, begun, console, off, router};
use super::node::{Door, Network};
use crate::api::{Api, SERVER, Tls, secrets};
use crate::harness::documents::assert_document;
use crate::harness::{Workspace, is_root, left_out};
use crate::host::iso::live_iso;

/// Two hosts on a wire: the site, with everything but us, and the administrator's, where we run.
struct Site {
    site: Child,
    admin: Child,
}

/// A network namespace, for as long as its process has a stdin.
fn namespace() -> Child {
    let mut child = Command::new("setpriv")
        .args(["--pdeathsig", "KILL", "unshare", "--net", "cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // It answers once it is in its own.
    child.stdin.as_mut().unwrap().write_all(b"ready\n").unwrap();
    let mut answer = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut answer).unwrap();
    child
}

/// Addresses of the site: its DNS server, the VIPs, the machines.
const ADDRESSES: [u8; 9] = [1, 10, 11, 100, 101, 102, 103, 110, 111];

impl Site {
    /// None, and a word about it, where that cannot be.
    fn start(part: &str) -> Option<Self> {
        if !is_root() {
            left_out(part, "root, for networks of its own");
            return None;
        }
        for (program, package) in [
            ("ip", "iproute2"),
            ("nsenter", "util-linux"),
            ("dnsmasq", "dnsmasq-base"),
            ("haproxy", "haproxy"),
        ] {
            if !Command::new("sh")
                .args(["-c", &format!("command -v {program}")])
                .output()
                .unwrap()
                .status
                .success()
            {
                left_out(part, &format!("{program}, of Debian's {package}"));
                return None;
            }
        }
        let site = Self { site: namespace(), admin: namespace() };
        let ips: String =
            ADDRESSES.iter().map(|last| format!("ip address add 192.168.126.{last}/24 dev lan &&")).collect();
        site.on_site(&format!(
            "ip link set lo up && ip link add lan type veth peer name lan netns {} && {ips} ip link set lan up",
            site.admin.id()
        ));
        sh(&site.admin, "ip link set lo up && ip address add 192.168.126.2/24 dev lan && ip link set lan up");
        Some(site)
    }

    /// A shell at the site.
    fn on_site(&self, script: &str) {
        sh(&self.site, script);
    }

    fn network(&self) -> Network {
        Network::of(format!("/proc/{}/ns/net", self.site.id()))
    }

    /// A program that serves the site until it is dropped.
    fn serve(&self, words: &[&str]) -> Server {
        let net = format!("--net=/proc/{}/ns/net", self.site.id());
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "nsenter", &net])
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Server(child.unwrap())
    }

    /// Our program, on the administrator's host.
    fn command(&self, ws: &Workspace, args: &[&str]) -> Command {
        let net = format!("--net=/proc/{}/ns/net", self.admin.id());
        let mut command = ws.command_of(Path::new("nsenter"), &[&net]);
        command.arg(env!("CARGO_BIN_EXE_tinderbox")).arg("-C").arg(&ws.dir).args(args);
        command
    }

    fn run(&self, ws: &Workspace, args: &[&str]) -> String {
        ws.text(&self.command(ws, args).output().unwrap())
    }

    fn json(&self, ws: &Workspace, args: &[&str]) -> Value {
        let output = self.command(ws, args).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", ws.text(&output)))
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        for child in [&mut self.site, &mut self.admin] {
            drop(child.stdin.take());
            let _ = child.wait();
        }
    }
}

/// A program of the site.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn sh(namespace: &Child, script: &str) {
    let net = format!("--net=/proc/{}/ns/net", namespace.id());
    let output = Command::new("nsenter").args([&net, "sh", "-c", script]).output().unwrap();
    assert!(output.status.success(), "{script}: {output:?}");
}

/// The example with machines of the user's own, and a live ISO.
fn external(part: &str) -> Option<Workspace> {
    let ws = Workspace::on_disk().filled().prebuilt();
    if !live_iso(part, &ws.dir.join("live.iso")) {
        return None;
    }
    ws.external_machines();
    ws.edit("cluster.yaml", "\nmachines: external\n", "\nmachines: external\nrhcos: {iso: live.iso}\n");
    ws.json(&["lock", "--update", "rhcos"]);
    ws.build(&[]);
    Some(ws)
}

/// Serves the cluster's names and its load balancer, from what the closure has for them.
fn serve(site: &Site, ws: &Workspace) -> [Server; 2] {
    let infra = ws.dir.join("result/infra").canonicalize().unwrap();
    let file = |name: &str| infra.join(name).display().to_string();
    let dns = site.serve(&[
        "dnsmasq",
        "--keep-in-foreground",
        "--conf-file=/dev/null",
        &format!("--conf-file={}", file("dnsmasq.conf")),
        "--listen-address=192.168.126.1",
        "--bind-interfaces",
        "--no-resolv",
        "--no-hosts",
        "--user=root",
        "--pid-file=",
    ]);
    [dns, site.serve(&["haproxy", "-db", "-f", &file("haproxy.cfg")])]
}

#[test]
fn what_surrounds_the_machines_is_asked_first() {
    let part = "a preflight with real dnsmasq and HAProxy";
    let Some(site) = Site::start(part) else { return };
    let Some(ws) = external(part) else { return };
    insta::assert_snapshot!(site.run(&ws, &["realize", "plan", "-q"]), @r"
    boot    machine   bootstrap
                        the machine with 52:54:00:12:60:11, which becomes 192.168.126.100
                        from its live ISO [STORE]/[ID]-iso-bootstrap/bootstrap.iso
                        what is on its /dev/sda is lost
    boot    machine   master-0
                        the machine with 52:54:00:12:60:12, which becomes 192.168.126.101
                        from its live ISO [STORE]/[ID]-iso-master-0/master-0.iso
                        what is on its /dev/sda is lost
    boot    machine   master-1
                        the machine with 52:54:00:12:60:13, which becomes 192.168.126.102
                        from its live ISO [STORE]/[ID]-iso-master-1/master-1.iso
                        what is on its /dev/sda is lost
    boot    machine   master-2
                        the machine with 52:54:00:12:60:14, which becomes 192.168.126.103
                        from its live ISO [STORE]/[ID]-iso-master-2/master-2.iso
                        what is on its /dev/sda is lost
    boot    machine   worker-0
                        the machine with 52:54:00:12:60:15, which becomes 192.168.126.110
                        from its live ISO [STORE]/[ID]-iso-worker-0/worker-0.iso
                        what is on its /dev/sda is lost
    boot    machine   worker-1
                        the machine with 52:54:00:12:60:16, which becomes 192.168.126.111
                        from its live ISO [STORE]/[ID]-iso-worker-1/worker-1.iso
                        what is on its /dev/sda is lost

    Your DNS, which `tinderbox realize preflight` asks:
    NAME                        ADDRESSES
    api.ocp4.example.com        192.168.126.10
    api-int.ocp4.example.com    192.168.126.10
    *.apps.ocp4.example.com     192.168.126.11
    bootstrap.ocp4.example.com  192.168.126.100
    master-0.ocp4.example.com   192.168.126.101
    master-1.ocp4.example.com   192.168.126.102
    master-2.ocp4.example.com   192.168.126.103
    worker-0.ocp4.example.com   192.168.126.110
    worker-1.ocp4.example.com   192.168.126.111

    Your load balancer:
    AT              PORT   NODES                                 FOR
    192.168.126.10  6443   bootstrap master-0 master-1 master-2  the API
    192.168.126.10  22623  bootstrap master-0 master-1 master-2  the Machine Config Server, for machines that join without a configuration of their own
    192.168.126.11  80     worker-0 worker-1                     routes
    192.168.126.11  443    worker-0 worker-1                     routes over TLS
    note: one live ISO for all machines: `tinderbox build iso-for-all`
    [exit 0]
    ");
    // Nothing is there yet.
    insta::assert_snapshot!(site.run(&ws, &["realize", "preflight", "-q"]), @r"
    failed   dns       192.168.126.1: does not answer on port 53 within 2 seconds
                       it is one of `network.dns` in cluster.yaml: start it, open its firewall, or name another
    failed   balancer  192.168.126.10:6443: nobody listens; it is for the API
                       start the load balancer with `result/infra/haproxy.cfg`, or forward the port to the nodes that `tinderbox realize plan` lists
    warning  balancer  192.168.126.10:22623: nobody listens; it is for the Machine Config Server, for machines that join without a configuration of their own
                       start the load balancer with `result/infra/haproxy.cfg`, or forward the port to the nodes that `tinderbox realize plan` lists
    failed   balancer  192.168.126.11:80: nobody listens; it is for routes
                       start the load balancer with `result/infra/haproxy.cfg`, or forward the port to the nodes that `tinderbox realize plan` lists
    failed   balancer  192.168.126.11:443: nobody listens; it is for routes over TLS
                       start the load balancer with `result/infra/haproxy.cfg`, or forward the port to the nodes that `tinderbox realize plan` lists
    skipped  registry  the release is in no registry: nodes could not pull it
    warning  ntp       2.rhel.pool.ntp.org: the nodes' DNS servers have no address for it
                       the node OS asks it unless a MachineConfig brings another /etc/chrony.conf: nodes without a time server keep the clock of their firmware
    [exit 1]
    ");
    let refused = site.run(&ws, &["realize", "apply", "-q"]);
    assert!(refused.contains("error: a boot would fail:\n") && refused.ends_with("[exit 1]\n"), "{refused}");

    let _servers = serve(&site, &ws);
    let end = Instant::now() + Duration::from_secs(60);
    while site.json(&ws, &["realize", "preflight", "--json", "-q"])["passed"] != true {
        assert!(Instant::now() < end, "{}", site.run(&ws, &["realize", "preflight", "-q"]));
    }
    let answered = site.json(&ws, &["realize", "preflight", "--json", "-q"]);
    assert_document(&ws, "realize-preflight", &answered);
    insta::assert_snapshot!(site.run(&ws, &["realize", "preflight", "-q"]), @r"
    ok       dns       api.ocp4.example.com: 192.168.126.1 says 192.168.126.10
    ok       dns       api-int.ocp4.example.com: 192.168.126.1 says 192.168.126.10
    ok       dns       *.apps.ocp4.example.com: 192.168.126.1 says 192.168.126.11
    ok       dns       bootstrap.ocp4.example.com: 192.168.126.1 says 192.168.126.100
    ok       dns       master-0.ocp4.example.com: 192.168.126.1 says 192.168.126.101
    ok       dns       master-1.ocp4.example.com: 192.168.126.1 says 192.168.126.102
    ok       dns       master-2.ocp4.example.com: 192.168.126.1 says 192.168.126.103
    ok       dns       worker-0.ocp4.example.com: 192.168.126.1 says 192.168.126.110
    ok       dns       worker-1.ocp4.example.com: 192.168.126.1 says 192.168.126.111
    ok       balancer  192.168.126.10:6443: it listens, for the API; no API is behind it yet
    ok       balancer  192.168.126.10:22623: it listens, for the Machine Config Server, for machines that join without a configuration of their own
    ok       balancer  192.168.126.11:80: it listens, for routes
    ok       balancer  192.168.126.11:443: it listens, for routes over TLS
    skipped  registry  the release is in no registry: nodes could not pull it
    warning  ntp       2.rhel.pool.ntp.org: the nodes' DNS servers have no address for it
                       the node OS asks it unless a MachineConfig brings another /etc/chrony.conf: nodes without a time server keep the clock of their firmware
    [exit 0]
    ");

    // A name that leads elsewhere: the address in the file is another than the record's.
    ws.edit("cluster.yaml", "  ingress: 192.168.126.11", "  ingress: 192.168.126.12");
    let wrong = site.run(&ws, &["realize", "preflight", "-q"]);
    assert!(
        wrong.contains(
            "*.apps.ocp4.example.com: 192.168.126.1 says 192.168.126.11, and it should be 192.168.126.12"
        ),
        "{wrong}"
    );
    assert!(wrong.ends_with("[exit 1]\n"), "{wrong}");
}

/// Addresses that the nodes will hold themselves: whoever has one already is in their way.
#[test]
fn addresses_that_nodes_hold_are_free_before() {
    let part = "a preflight of a cluster whose nodes hold the VIPs";
    let Some(site) = Site::start(part) else { return };
    let Some(ws) = external(part) else { return };
    let platform = "baremetal: {apiVIPs: [192.168.126.10], ingressVIPs: [192.168.126.11]}";
    ws.edit("install-config.yaml", "none: {}", platform);
    ws.build(&[]);
    site.on_site("ip address delete 192.168.126.11/24 dev lan");
    let asked = site.run(&ws, &["realize", "preflight", "-q"]);
    let line = |address: &str| {
        let found = asked.lines().find(|line| line.contains(&format!("balancer  {address}: ")));
        found.unwrap_or_else(|| panic!("{asked}"))
    };
    assert_eq!(
        line("192.168.126.10"),
        "warning  balancer  192.168.126.10: a machine has this address already"
    );
    assert_eq!(
        line("192.168.126.11"),
        "ok       balancer  192.168.126.11: nobody has this address yet; the nodes will hold it"
    );
    let answered = site.json(&ws, &["realize", "preflight", "--json", "-q"]);
    assert_document(&ws, "realize-preflight", &answered);
}

/// A run of ours whose user does what it says: switches a machine off.
fn obey(site: &Site, ws: &Workspace, args: &[&str], off: &str, address: &str) -> (bool, String) {
    let log = ws.temp().join("run.log");
    let mut command = site.command(ws, args);
    command.stdout(Stdio::null()).stderr(fs::File::create(&log).unwrap());
    let mut run = command.spawn().unwrap();
    let end = Instant::now() + Duration::from_secs(300);
    let (mut is_off, read) = (false, || fs::read_to_string(&log).unwrap());
    loop {
        if !is_off && read().contains(&format!("switch `{off}`")) {
            site.on_site(&format!("ip address delete {address}/24 dev lan"));
            is_off = true;
        }
        if let Some(status) = run.try_wait().unwrap() {
            return (status.success(), read());
        }
        assert!(Instant::now() < end, "{}", read());
        std::thread::sleep(Duration::from_millis(5)); // its user looks at the screen
    }
}

/// From nothing to a cluster that was tried, killed on the way; a node that leaves and comes back months later; and the end.
#[test]
fn machines_of_the_users_own_become_a_cluster() {
    let part = "realize with machines of the user's own";
    let Some(site) = Site::start(part) else { return };
    let Some(ws) = external(part) else { return };
    let secrets = secrets(&ws, &SERVER);
    let tls = Tls::api_server(&secrets);
    let journal = ws.dir.join(".realize/journal.json");
    let _servers = serve(&site, &ws);
    let played = Played::start(Api::start(&tls), &tls, site.network(), journal.clone());
    let console = console(&ws, &played.api);
    let pages = router(played.api.clone());
    let _routers: Vec<[Door; 2]> = ["192.168.126.110", "192.168.126.111"]
        .map(|ip| {
            [(80, pages), (443, console.port)]
                .map(|(port, to)| site.network().door(&format!("{ip}:{port}"), to))
        })
        .into();

    let args = ["realize", "apply", "--json", "--timeout", "120s"];
    for phase in ["bootstrap", "control-plane", "pivot"] {
        let log = ws.temp().join("killed.log");
        let mut command = site.command(&ws, &args);
        command.stdout(Stdio::null()).stderr(fs::File::create(&log).unwrap());
        let mut run = command.spawn().unwrap();
        let end = Instant::now() + Duration::from_secs(300);
        while begun(&journal) != phase {
            let goes_on = run.try_wait().unwrap().is_none() && Instant::now() < end;
            assert!(goes_on, "{phase}: {}", fs::read_to_string(&log).unwrap());
            std::thread::sleep(Duration::from_millis(1));
        }
        run.kill().unwrap();
        run.wait().unwrap();
    }
    let (done, told) = obey(&site, &ws, &args, "bootstrap", "192.168.126.100");
    assert!(done, "{told}");
    // It says what to do, in order.
    let said = [
        "take the bootstrap machine out of your load balancer now, ports 6443 and 22623:",
        "switch `bootstrap` (52:54:00:12:60:11) off now",
        "boot `worker-0` now: the machine with 52:54:00:12:60:15, which becomes 192.168.126.110; from its live ISO",
    ];
    let at: Vec<usize> =
        said.iter().map(|words| told.find(words).unwrap_or_else(|| panic!("{words}: {told}"))).collect();
    assert!(at.is_sorted(), "{told}");
    let status = site.run(&ws, &["realize", "status", "-q"]);
    insta::assert_snapshot!(status, @r"
    API       ready at 192.168.126.10:6443
    NODE       STATE    IGNITION  BOOTED  API     KUBELET  CERTIFICATES                   ADDRESSES  MACHINE
    bootstrap  removed                                                                               52:54:00:12:60:11
    master-0   running  current           ready   ready    client issued, serving issued             52:54:00:12:60:12
    master-1   running  current           ready   ready    client issued, serving issued             52:54:00:12:60:13
    master-2   running  current           silent  ready    client issued, serving issued             52:54:00:12:60:14
    worker-0   running  current                   ready    client issued, serving issued             52:54:00:12:60:15
    worker-1   running  current                   ready    client issued, serving issued             52:54:00:12:60:16
    OPERATOR  VERSION  STATE      MESSAGE
    dns       4.18.1   available
    etcd      4.18.1   available
    console   https://console-openshift-console.apps.ocp4.example.com
    log in    as `kubeadmin`; the password: `tinderbox -C [DIR] show cluster:auth/kubeadmin-password --reveal`
    oc        export KUBECONFIG=[STORE]/[ID]-cluster/auth/kubeconfig
    [exit 0]
    ");
    assert_document(&ws, "realize-status", &site.json(&ws, &["realize", "status", "--json"]));

    // Nothing is left to do, with what was kept of the run and without: the cluster tells.
    insta::assert_snapshot!(site.run(&ws, &["realize", "plan", "-q"]), @r"
    keep    machine   master-0
    keep    machine   master-1
    keep    machine   master-2
    keep    machine   worker-0
    keep    machine   worker-1
    nothing to do
    [exit 0]
    ");
    let kept = fs::read_to_string(ws.dir.join(".realize/machines.json")).unwrap();
    fs::remove_file(ws.dir.join(".realize/machines.json")).unwrap();
    let plan = site.json(&ws, &["realize", "plan", "--json"]);
    assert!(plan["pivoted"] == true && plan["boots"].is_null(), "{plan}");
    ws.write(".realize/machines.json", &kept);

    months_later(&site, &ws, &played);

    let consoles = site.run(&ws, &["realize", "logs", "master-0", "-q"]);
    assert!(
        consoles.contains("error: the consoles of your own machines are yours: nothing here can read them\n"),
        "{consoles}"
    );
    // Nothing is lost, so nobody is asked.
    let destroyed = site.run(&ws, &["realize", "destroy", "-q"]);
    assert!(
        destroyed.starts_with(
            "0 resources removed\nleft: the machines: they are yours, and still run what is on their disks\n"
        ),
        "{destroyed}"
    );
    assert!(!ws.dir.join(".realize").exists());
}

fn object(kind: &str, name: &str, more: Value) -> Value {
    let mut object = json!({"apiVersion": "machineconfiguration.openshift.io/v1", "kind": kind, "metadata": {"name": name}});
    object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    object
}

/// A worker is taken out, and another machine joins under its name.
fn months_later(site: &Site, ws: &Workspace, played: &Played) {
    played.api.look(|cluster| cluster.put(off("worker-1")));
    let (gone, told) =
        obey(site, ws, &["realize", "remove", "worker-1", "--yes"], "worker-1", "192.168.126.111");
    assert!(gone, "{told}");
    let node = "/api/v1/nodes/worker-1.ocp4.example.com";
    let deleted =
        |request: &str| played.api.seen().iter().any(|seen| seen.request == request && seen.status == 200);
    assert!(deleted(&format!("DELETE {node}")), "{told}");

    // The cluster moved on since the closure was built: its pool has another config, and no longer has the first one.
    played.api.look(|cluster| {
        for (plural, kind) in
            [("machineconfigpools", "MachineConfigPool"), ("machineconfigs", "MachineConfig")]
        {
            let mut crd = crate::bootkube::node::crd("machineconfiguration.openshift.io", plural, kind);
            crd["spec"]["scope"] = json!("Cluster");
            cluster.put(crd);
        }
        let now = json!({"spec": {"configuration": {"name": "rendered-worker-now"}}});
        cluster.put(object("MachineConfigPool", "worker", now));
    });
    let plan = || site.json(ws, &["realize", "plan", "--json"]);
    let kinds = |plan: &Value| -> Vec<String> {
        plan["obstacles"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["kind"].as_str().unwrap().to_owned())
            .collect()
    };
    let found = plan();
    assert_document(ws, "realize-plan", &found);
    assert_eq!(found["boots"].as_array().unwrap().len(), 1, "only the new machine boots: {found}");
    assert_eq!(found["boots"][0]["node"], "worker-1");
    // Its user may not ask for certificates, and its config is not there.
    assert_eq!(kinds(&found), ["authority", "rendered"], "{found}");
    played.api.allow(
        "system:bootstrappers",
        "GET",
        "/apis/certificates.k8s.io/v1/certificatesigningrequests",
    );
    let own = fs::read_to_string(ws.path_of("mco/worker").join("name")).unwrap();
    played.api.look(|cluster| cluster.put(object("MachineConfig", own.trim(), json!({"spec": {}}))));
    let found = plan();
    assert_eq!(kinds(&found), [""; 0], "{found}");
    let notes = found["notes"].to_string();
    assert!(notes.contains("the machine-config daemon then brings it to rendered-worker-now"), "{notes}");

    // Its user boots it.
    site.on_site("ip address add 192.168.126.111/24 dev lan");
    played.api.look(|cluster| cluster.remove("/api/v1/namespaces/default/configmaps/off-worker-1"));
    let output = site.command(ws, &["realize", "apply", "--json", "--timeout", "120s"]).output().unwrap();
    assert!(output.status.success(), "{}", ws.text(&output));
    assert!(played.api.look(|cluster| cluster.get(node).is_some()));
}
