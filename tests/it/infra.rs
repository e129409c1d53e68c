//! What stands around the cluster, judged by the real programs that will read it.

use std::process::Command;

use crate::harness::{Workspace, left_out};

/// The example as it is, and with IPv6 beside IPv4.
fn variants() -> [Workspace; 2] {
    let dual = Workspace::example();
    dual.dual_stack();
    [Workspace::example(), dual]
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
