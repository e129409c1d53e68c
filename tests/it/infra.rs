//! What stands around the cluster, judged by the real programs that will read it.

use std::process::Command;

use crate::harness::{Workspace, left_out};

/// The example with IPv6 beside IPv4.
pub(crate) fn dual_stack() -> Workspace {
    let dual = Workspace::example();
    dual.edit(
        "install-config.yaml",
        "  - cidr: 192.168.126.0/24",
        "  - cidr: 192.168.126.0/24\n  - cidr: fd00:126::/64",
    );
    dual.edit(
        "install-config.yaml",
        "  - cidr: 10.128.0.0/14\n    hostPrefix: 23",
        "  - {cidr: 10.128.0.0/14, hostPrefix: 23}\n  - {cidr: 'fd01::/48', hostPrefix: 64}",
    );
    dual.edit("install-config.yaml", "  - 172.30.0.0/16", "  - 172.30.0.0/16\n  - fd02::/112");
    dual.edit("cluster.yaml", "api: 192.168.126.10\n", "api: [192.168.126.10, 'fd00:126::10']\n");
    dual.edit("cluster.yaml", "ingress: 192.168.126.11\n", "ingress: [192.168.126.11, 'fd00:126::11']\n");
    dual.edit("cluster.yaml", "gateway: 192.168.126.1\n", "gateway: [192.168.126.1, 'fd00:126::1']\n");
    for last in [100, 101, 102, 103, 110, 111] {
        let (one, both) =
            (format!("ip: 192.168.126.{last}}}"), format!("ip: [192.168.126.{last}, 'fd00:126::{last}']}}"));
        dual.edit("cluster.yaml", &one, &both);
    }
    dual
}

fn variants() -> [Workspace; 2] {
    [Workspace::example(), dual_stack()]
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

/// HAProxy accepts both configurations, before and after the pivot.
#[test]
fn haproxy_accepts_its_configuration() {
    for ws in variants() {
        for (target, file) in
            [("infra/haproxy", "haproxy.cfg"), ("infra/haproxy-pivoted", "haproxy-pivoted.cfg")]
        {
            ws.build(&[target]);
            let path = ws.path_of(target).join(file);
            let Some((good, text)) =
                program("haproxy", "haproxy", Command::new("haproxy").arg("-c").arg("-f").arg(path))
            else {
                return;
            };
            assert!(good, "{text}");
        }
    }
}

/// libvirt's own schemas accept the network and the pool.
#[test]
fn libvirt_accepts_its_xml() {
    for ws in variants() {
        for (target, file, schema) in
            [("infra/network", "network.xml", "network"), ("infra/pool", "pool.xml", "storagepool")]
        {
            ws.build(&[target]);
            let path = ws.path_of(target).join(file);
            let mut run = Command::new("virt-xml-validate");
            let Some((good, text)) =
                program("libvirt's schemas", "libvirt-clients", run.arg(path).arg(schema))
            else {
                return;
            };
            assert!(good, "{text}");
        }
    }
}
