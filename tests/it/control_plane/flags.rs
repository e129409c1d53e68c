//! Every flag of every static pod is one that the real program knows, in each version that we build for; it is given
//! once, explained, and the files that it names are mounted.

use std::collections::BTreeSet;
use std::fs;

use tinderbox::internals::pod::Flag;

use super::{PODS, container, containers_of, dual_stack, ipv6, pod};
use crate::harness::{Workspace, source};

/// The tables of a program: file name, and the flags in it.
fn tables(program: &str) -> Vec<(String, BTreeSet<String>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(source("tests/it/control_plane/flags")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if name.rsplit_once('-').unwrap().0 == program {
            let text = fs::read_to_string(path).unwrap();
            let flags = text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect();
            found.push((name, flags));
        }
    }
    found
}

#[test]
fn every_flag_is_known_given_once_and_explained() {
    for ws in [Workspace::example().prebuilt(), ipv6(), dual_stack()] {
        for name in PODS {
            for container in containers_of(&pod(&ws, name)) {
                let name = &container.name;
                let tables = tables(name);
                assert!(!tables.is_empty(), "no table for {name}");
                let mut seen = BTreeSet::new();
                for flag in &container.flags {
                    for (table, known) in &tables {
                        assert!(known.contains(&flag.name), "{table} has no --{}", flag.name);
                    }
                    assert!(seen.insert(&flag.name), "{name}: --{} is given twice", flag.name);
                    assert!(flag.comment.len() > 20, "{name}: --{} has no comment above it", flag.name);
                }
                assert!(container.flags.len() >= 4, "{name}: {seen:?}");
            }
        }
    }
}

#[test]
fn every_table_names_its_source() {
    for entry in fs::read_dir(source("tests/it/control_plane/flags")).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("# Flags of ") && lines[1].starts_with("# Source: "), "{path:?}");
        assert!(lines.len() > 8 && lines[2..].is_sorted(), "{path:?}");
    }
}

#[test]
fn files_that_flags_name_are_mounted() {
    let ws = Workspace::example().prebuilt();
    for name in PODS {
        for container in containers_of(&pod(&ws, name)) {
            for path in container.flags.iter().flat_map(Flag::files) {
                let on_node = container.on_node(path);
                let on_node = on_node.unwrap_or_else(|| panic!("{name}: {path} is not mounted"));
                let contract = [
                    "/etc/kubernetes/bootstrap-configs/",
                    "/etc/kubernetes/bootstrap-secrets/",
                    "/etc/kubernetes/kubeconfigs/",
                    "/etc/kubernetes/kubeconfig",
                    "/var/lib/etcd",
                    "/var/log/kube-apiserver/",
                ];
                assert!(contract.iter().any(|begin| on_node.starts_with(begin)), "{name}: {on_node}");
            }
        }
    }
}

/// Whoever holds a certificate of another authority could present its chain, if the root were trusted too.
#[test]
fn who_is_let_in_is_decided_by_one_authority_alone() {
    let ws = Workspace::example().prebuilt();
    let doors = [
        ("etcd", "trusted-ca-file", "etcd-ca.crt"),
        ("etcd", "peer-trusted-ca-file", "etcd-ca.crt"),
        ("kube-apiserver", "client-ca-file", "kubernetes-ca.crt"),
        ("kube-apiserver", "requestheader-client-ca-file", "front-proxy-ca.crt"),
    ];
    for (name, door, authority) in doors {
        let container = container(&pod(&ws, name));
        let flag = container.flags.iter().find(|flag| flag.name == door).unwrap();
        assert_eq!(flag.value.as_deref(), Some(format!("/etc/kubernetes/secrets/{authority}").as_str()));
    }
}
