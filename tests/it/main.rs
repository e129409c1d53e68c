//! The whole program, tested from outside: sessions of the command line, and bad days.
//!
//! | module | what it proves |
//! |---|---|
//! | `session` | what every verb prints, and that no secret is ever printed |
//! | `trust` | `graph --trust`: each entry of each bundle taken away, and exactly what fails without it |
//! | `tweak` | an edit builds what names it, and nothing else; `why` says so |
//! | `unchanged` | a build that found everything is remembered: it says the same again, and hides no change |
//! | `identity` | the same files and seed give the same ids everywhere |
//! | `recipes` | every mistake in a recipe is named with its place |
//! | `store` | a damaged, full, read-only or foreign store: a clear error, and a way back |
//! | `collect` | gc frees what no root needs, and nothing else |
//! | `host::crash` | `kill -9`, Ctrl-C, and several processes at once |
//! | `scan` | secrets stay where they belong; one that does not is found, named and not shown |
//! | `seed` | the seed at rest, plain or encrypted: the same cluster, and never lost |
//! | `schemas` | each way to break a manifest is found before boot, by its field |
//! | `registry` | images from layouts, archives and registries, the real one and one that misbehaves |
//! | `download` | boot images into the store, from servers that misbehave, and for clusters that share them |
//! | `cache` | what one store pushed, another takes, and nothing that a registry does to it goes unnoticed or does harm |
//! | `pki` | keys, certificates and kubeconfigs: the same everywhere, and accepted by openssl, etcd and kubectl |
//! | `control_plane` | the static pods: every flag known and explained, a real etcd on ours, `show --explain` |
//! | `parity` | our control plane beside the operators' own renders: each difference has its reason |
//! | `manifests` | the cluster manifests of every kind of cluster, as text |
//! | `sandbox` | a program sees what it was given, and every bad day of one ends well |
//! | `mco` | the node OS: rendered alike everywhere, anew only when it must be, and each fatal case said in words |
//! | `render` | the operators' renders: exact arguments and files, and what they accept and should not |
//! | `api` | no test but a part of some: an API server with our certificates, and who gets in there |
//! | `bootkube` | bootkube.sh, judged by shellcheck, and run by a real client against a stand-in API through bad days |
//! | `ignition` | every node's configuration: applied by the real Ignition, and told entry by entry |
//! | `checks` | every check fails when what it looks at is broken, and every boot fact is a check or waits for one |
//! | `import_hosts` | `init --from` agent-config.yaml and ClusterInstance: their machines become nodes, the rest is listed with its line |
//! | `import` | `init --from` a directory of openshift-install: each file is ours, a patch, kept, or left out with a reason |
//! | `patches` | the user's own manifests and patches: in every result, and never without effect |
//! | `iso` | a node's live ISO: its Ignition in the reserved area, read back by others, and not a byte elsewhere |
//! | `fleet` | many clusters of one fleet.yaml: each the same as alone, mistakes said once, trouble of one none of another's |
//! | `fuzz` | parsers of bytes from outside: the kept corpus, and mutations of it |
//! | `delta` | the CRDs of two real releases, compared by field |
//! | `drift` | a live cluster beside its closure: nothing after a fresh boot, every change found, no secret shown |
//! | `guide` | everything that a cluster consists of has a purpose, a reader and a consequence of its own |
//! | `host::fleet_page` | the page of `fleet diff` with 3,500 sites in a real browser |
//! | `host::page` | the pages of `diff` and `report` in a real browser: by keyboard, without network, whatever artifacts hold |
//! | `infra` | the network, the pool, the machines, the load balancer and the firewall, judged by who reads them |
//! | `netboot` | what machines boot from the network: a script for every address, and who may read what |
//! | `network` | nodes that describe their own networks: keyfiles on the node, ports of the machine, read by NetworkManager's library |
//! | `host::media` | machines that are not libvirt's boot from the network and from one medium for all |
//! | `host::realize` | a real libvirt: what would be done, what stands in the way, and machines that boot there |
//! | `lab` | off by default: what OpenShift's own programs make of our artifacts, where somebody has them (docs/lab.md) |
//! | `versions` | every version of the demo release with every topology; what each brings |
//! | `layers` | no module of `src/` uses one above it |
//!
//! A module `host` has tests with real parts, `boot` those with machines that boot, `long` what is never run by default; all
//! others are the tier `fast` (`.ci/test`).
//!
//! A part that needs something the machine does not have says so and is left out; with TINDERBOX_REQUIRE_REAL=1 that is
//! a failure.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "tests"
)]

mod api;
mod bootkube;
mod cache;
mod checks;
mod collect;
mod control_plane;
#[cfg(feature = "core-types")]
mod core_types;
mod delta;
mod diff;
mod docs;
mod download;
mod drift;
mod fleet;
mod fuzz;
mod guide;
mod handover;
mod harness;
mod host;
mod identity;
mod ignition;
mod import;
mod import_hosts;
mod in_place;
mod infra;
#[path = "../lab/mod.rs"]
mod lab;
mod layers;
mod manifests;
mod masking;
mod mco;
mod netboot;
mod network;
mod node_tuning;
mod parity;
mod patches;
mod pki;
mod platform;
mod preview;
mod recipes;
mod registry;
mod release;
mod scan;
mod schemas;
mod seed;
mod session;
mod shared_render;
mod store;
mod trust;
mod tweak;
mod unchanged;
mod versions;
