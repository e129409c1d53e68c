//! Whatever the cluster is called and however many masters it has: what goes into a certificate can be read back.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::IpAddr;
use std::path::PathBuf;

use proptest::prelude::*;
use tinderbox::internals::pki::Certificate;

use crate::harness::Workspace;

/// A cluster of one to five masters, on IPv4, on IPv6, or on both.
#[derive(Debug, Clone)]
struct Shape {
    name: String,
    masters: u8,
    families: (bool, bool),
}

fn shapes() -> impl Strategy<Value = Shape> {
    let families = prop_oneof![Just((true, false)), Just((false, true)), Just((true, true))];
    ("[a-z][a-z0-9-]{0,12}[a-z0-9]", 1..=5u8, families).prop_map(|(name, masters, families)| Shape {
        name,
        masters,
        families,
    })
}

impl Shape {
    /// One value per family.
    fn both(&self, v4: &str, v6: &str) -> String {
        let all: Vec<String> = [(self.families.0, v4), (self.families.1, v6)]
            .into_iter()
            .filter(|(has, _)| *has)
            .map(|(_, text)| format!("'{text}'"))
            .collect();
        format!("[{}]", all.join(", "))
    }

    fn address(&self, last: u8) -> String {
        self.both(&format!("192.168.126.{last}"), &format!("fd00:126::{last}"))
    }

    fn write(&self, ws: &Workspace) {
        let networks = |v4: &str, v6: &str| {
            let all = [(self.families.0, v4), (self.families.1, v6)];
            all.into_iter()
                .filter(|(has, _)| *has)
                .map(|(_, text)| format!("  - {text}\n"))
                .collect::<String>()
        };
        ws.edit("install-config.yaml", "name: ocp4", &format!("name: {}", self.name));
        ws.edit("install-config.yaml", "  replicas: 3", &format!("  replicas: {}", self.masters));
        ws.edit(
            "install-config.yaml",
            "  - cidr: 192.168.126.0/24\n",
            &networks("cidr: 192.168.126.0/24", "cidr: 'fd00:126::/64'"),
        );
        ws.edit(
            "install-config.yaml",
            "  - cidr: 10.128.0.0/14\n    hostPrefix: 23\n",
            &networks("{cidr: 10.128.0.0/14, hostPrefix: 23}", "{cidr: 'fd01::/48', hostPrefix: 64}"),
        );
        ws.edit("install-config.yaml", "  - 172.30.0.0/16\n", &networks("172.30.0.0/16", "'fd02::/112'"));
        let mut text = format!(
            "release: demo:4.18\nvips: {{api: {}, ingress: {}}}\nnetwork: {{gateway: {}}}\npki: {{authorityKeyAlgorithm: ecdsa-p256}}\nchecks: {{disabled: [replicas]}}\nnodes:\n",
            self.address(10),
            self.address(11),
            self.address(1)
        );
        let mut node = |name: String, role: &str, last: u8| {
            text.push_str(&format!("- {{name: {name}, role: {role}, ip: {}}}\n", self.address(last)));
        };
        node("bootstrap".into(), "bootstrap", 100);
        (0..self.masters).for_each(|at| node(format!("master-{at}"), "master", 101 + at));
        (0..2).for_each(|at| node(format!("worker-{at}"), "worker", 110 + at));
        ws.write("cluster.yaml", &text);
    }

    fn ips(&self, last: impl IntoIterator<Item = u8>) -> BTreeSet<IpAddr> {
        let (v4, v6) = self.families;
        let loopbacks = std::iter::once("127.0.0.1".to_owned()).chain(v6.then(|| "::1".to_owned()));
        let ours = last.into_iter().flat_map(|last| {
            let v4 = v4.then(|| format!("192.168.126.{last}"));
            v4.into_iter().chain(v6.then(|| format!("fd00:126::{last}")))
        });
        loopbacks.chain(ours).map(|text| text.parse().unwrap()).collect()
    }
}

fn read(built: &BTreeMap<String, PathBuf>, name: &str) -> Certificate {
    let path = built[&format!("pki/{name}")].join(format!("{name}.crt"));
    Certificate::from_pem(&fs::read_to_string(path).unwrap()).unwrap()
}

fn addresses(certificate: &Certificate) -> BTreeSet<IpAddr> {
    certificate.ips().iter().copied().collect()
}

/// Builds the certificates of a cluster, and reads them.
fn comes_out(shape: &Shape) -> Result<(), TestCaseError> {
    let ws = Workspace::example();
    shape.write(&ws);
    let built = ws.build_paths(&["pki"]);
    let domain = format!("{}.example.com", shape.name);
    let masters = || (0..shape.masters).map(|at| 101 + at);
    let api = read(&built, "kube-apiserver");
    let mut expected = shape.ips(masters().chain([10, 100]));
    let (v4, v6) = shape.families;
    expected.extend(v4.then(|| "172.30.0.1".parse::<IpAddr>().unwrap()));
    expected.extend(v6.then(|| "fd02::1".parse::<IpAddr>().unwrap()));
    prop_assert_eq!(addresses(&api), expected);
    let names = [format!("api.{domain}"), format!("api-int.{domain}")];
    prop_assert!(names.iter().all(|name| api.dns().contains(name)), "{:?}", api.dns());
    prop_assert_eq!(addresses(&read(&built, "etcd-server")), shape.ips(masters().chain([100])));
    for at in 0..shape.masters {
        let peer = read(&built, &format!("etcd-peer-master-{at}"));
        prop_assert_eq!(addresses(&peer), shape.ips([101 + at]));
        let names = [format!("master-{at}.{domain}"), format!("etcd-{at}.{domain}"), "localhost".to_owned()];
        prop_assert_eq!(peer.dns(), &names[..]);
        prop_assert!(peer.is_issued_by(&read(&built, "etcd-ca")));
    }
    let beyond = format!("pki/etcd-peer-master-{}", shape.masters);
    prop_assert!(!built.contains_key(&beyond), "one per master, and no more");
    Ok(())
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, max_shrink_iters: 8, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config(4))]

    #[test]
    fn what_goes_in_comes_out(shape in shapes()) {
        comes_out(&shape)?;
    }
}

mod long {
    use super::*;

    proptest! {
        #![proptest_config(config(100))]

        #[test]
        #[ignore = "tier long"]
        fn what_goes_in_comes_out(shape in shapes()) {
            comes_out(&shape)?;
        }
    }
}
