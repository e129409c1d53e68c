//! Checks of secrets. They only report whether a rule holds: no message contains a value, a length or a parser's
//! reason.

use super::certificates::find;
use super::pods::{Program, programs};
use super::{Check, Report};
use crate::base::pki::PrivateKey;
use crate::engine::tree::leaf;

/// The minimum of the OAuth server.
const KUBEADMIN_LENGTH: usize = 23;

/// The first login works.
pub(super) const KUBEADMIN: Check = Check {
    name: "kubeadmin-length",
    config: &[],
    run: |artifacts, report| match artifacts.of("password").next() {
        Some(file) if file.text.trim().chars().count() >= KUBEADMIN_LENGTH => {}
        Some(_) => report.add("kubeadmin-password", None, "", "it has fewer than 23 characters"),
        None => report.add("kubeadmin-password", None, "", "there is no such file"),
    },
};

/// The controller manager can sign what it approves.
pub(super) const SIGNER: Check = Check {
    name: "signer-present",
    config: &[],
    run: |artifacts, report| {
        let programs = programs(artifacts);
        let Some(manager) = programs.iter().find(|program| program.runs("kube-controller-manager")) else {
            return report.add("static-pods", None, "", "no static pod runs kube-controller-manager");
        };
        let certificate = named(manager, "cluster-signing-cert-file", report);
        let key = named(manager, "cluster-signing-key-file", report);
        let Some((certificate, key)) = certificate.zip(key) else { return };
        let Some((file, certificate)) = find(artifacts, certificate, report) else { return };
        if !certificate.may_sign() {
            report.add(&file.path, None, "basicConstraints", "it may not sign certificates");
        }
        // The only private key of an authority on the bootstrap node.
        let Some(key_file) = artifacts.of("key").find(|file| file.path == key) else {
            report.add(key, None, "", "it is not the key of an authority that the bootstrap node has");
            return report.hint("the controller manager signs with kubernetes-ca.key");
        };
        match PrivateKey::from_pem(&key_file.text) {
            Ok(key) if certificate.belongs_to(&key) => {}
            Ok(_) => {
                report.add(&key_file.path, None, "", format!("`{}` does not belong to this key", file.path));
            }
            Err(_) => report.add(&key_file.path, None, "", "it is not a readable private key"),
        }
    },
};

/// The base name of the file that a flag names.
fn named<'p>(program: &'p Program<'_>, flag: &str, report: &mut Report<'_>) -> Option<&'p str> {
    let value = program.flag(flag).and_then(|flag| flag.value.as_deref()).filter(|value| !value.is_empty());
    if value.is_none() {
        report.at(
            program.document,
            program.node.line,
            &program.field("args"),
            format!("`--{flag}` is missing"),
        );
    }
    value.map(leaf)
}
