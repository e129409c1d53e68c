//! Checks of certificates: their uses, their names, and their chains.
//!
//! Does not handle private keys: certificates are public, and so are all messages of these checks.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

use super::artifacts::{Artifacts, File};
use super::{Check, Report};
use crate::base::pki::Certificate;

/// The input with certificates.
pub(super) const INPUT: &str = "pki";

/// etcd is a client of itself.
pub(super) const ETCD_USAGE: Check = Check {
    name: "etcd-server-usage",
    config: &[],
    run: |artifacts, report| {
        let is_peer = |file: &File| file.path.starts_with("etcd-peer-");
        find(artifacts, "etcd-server.crt", report);
        if !artifacts.of(INPUT).any(is_peer) {
            report.add("pki", None, "", "there is no certificate `etcd-peer-….crt`");
        }
        let ours = |file: &&File| file.path == "etcd-server.crt" || is_peer(file);
        for file in artifacts.of(INPUT).filter(ours) {
            let Some(certificate) = read(file, report) else { continue };
            for (has, usage) in
                [(certificate.is_server(), "serverAuth"), (certificate.is_client(), "clientAuth")]
            {
                if !has {
                    report.add(&file.path, None, "extendedKeyUsage", format!("it has no {usage}"));
                    report.hint("its recipe needs `usages = [\"server\", \"client\"]`");
                }
            }
        }
    },
};

/// Clients reach the API server under a name in its certificate.
pub(super) const APISERVER_SANS: Check = Check {
    name: "apiserver-sans",
    config: &["bootstrap", "domain", "loopbacks", "masters", "service_networks", "vips"],
    run: |artifacts, report| {
        let Some((file, certificate)) = find(artifacts, "kube-apiserver.crt", report) else { return };
        let domain = artifacts.config_text("domain");
        let mut names: Vec<String> =
            ["localhost", "kubernetes", "kubernetes.default"].map(str::to_owned).into();
        names.extend(["kubernetes.default.svc", "kubernetes.default.svc.cluster.local"].map(str::to_owned));
        names.extend(["api", "api-int"].map(|name| format!("{name}.{domain}")));
        for name in names.iter().filter(|name| !certificate.dns().contains(name)) {
            report.add(&file.path, None, "subjectAltName", format!("the name `{name}` is missing"));
        }
        let given = ["loopbacks", "bootstrap", "masters", "vips"];
        let given = given.into_iter().flat_map(|alias| artifacts.config_texts(alias));
        let wanted = given.filter_map(|text| text.parse().ok()).chain(first_service_addresses(artifacts));
        missing(file, &certificate, wanted, report);
    },
};

/// The address at which every pod looks for the API.
pub(super) const SERVICE_IP: Check = Check {
    name: "service-ip",
    config: &["service_networks"],
    run: |artifacts, report| {
        if let Some((file, certificate)) = find(artifacts, "kube-apiserver.crt", report) {
            missing(file, &certificate, first_service_addresses(artifacts), report);
        }
    },
};

/// The administrator has permissions.
pub(super) const ADMIN_GROUP: Check = Check {
    name: "admin-group",
    config: &[],
    run: |artifacts, report| {
        let Some((file, certificate)) = find(artifacts, "admin.crt", report) else { return };
        if !certificate.organizations().iter().any(|group| group == "system:masters") {
            let message = format!("it is for `{}`", certificate.subject());
            report.add(&file.path, None, "subject", message);
            report.hint("its recipe needs `organizations = [\"system:masters\"]`");
        }
        if !certificate.is_client() {
            report.add(&file.path, None, "extendedKeyUsage", "it has no clientAuth");
        }
    },
};

/// Verifiers accept the chains.
pub(super) const PATH_LENGTH: Check = Check {
    name: "ca-path-length",
    config: &[],
    run: |artifacts, report| {
        if let Some((file, authority)) = find(artifacts, "kubernetes-ca.crt", report)
            && authority.path_length() == Some(0)
        {
            report.add(
                &file.path,
                None,
                "basicConstraints",
                "its path length is 0: nothing may stand below it",
            );
        }
        for file in artifacts.of(INPUT).filter(|file| file.path.ends_with("-bundle.crt")) {
            match Certificate::chain_from_pem(&file.text) {
                Ok(bundle) => bundle.iter().for_each(|one| climb(file, &bundle, one, report)),
                Err(error) => report.add(&file.path, None, "", error.to_string()),
            }
        }
    },
};

/// Walks up from one certificate of a bundle to its root.
fn climb(file: &File, bundle: &[Certificate], from: &Certificate, report: &mut Report<'_>) {
    let mut at = from;
    // More steps than certificates would be a cycle.
    for below in 0..bundle.len() {
        if let Some(length) = at.path_length().filter(|length| usize::from(*length) < below) {
            let message = format!("`{}` allows {length} authorities below it, but has {below}", at.subject());
            report.add(&file.path, None, "basicConstraints", message);
        }
        if at.is_issued_by(at) {
            return;
        }
        let Some(above) = bundle.iter().find(|above| at.is_issued_by(above)) else {
            let message = format!("it contains `{}`, but not its issuer `{}`", at.subject(), at.issuer());
            report.add(&file.path, None, "", message);
            return report.hint("a bundle ends with a self-signed certificate");
        };
        at = above;
    }
}

/// The certificate of a file that must exist.
pub(super) fn find<'a>(
    artifacts: &'a Artifacts<'_>,
    name: &str,
    report: &mut Report<'_>,
) -> Option<(&'a File, Certificate)> {
    let Some(file) = artifacts.of(INPUT).find(|file| file.path == name) else {
        report.add(name, None, "", "there is no such certificate");
        return None;
    };
    Some((file, read(file, report)?))
}

fn read(file: &File, report: &mut Report<'_>) -> Option<Certificate> {
    // A server's file may contain its issuers too.
    match Certificate::chain_from_pem(&file.text) {
        Ok(chain) => chain.into_iter().next(),
        Err(error) => {
            report.add(&file.path, None, "", error.to_string());
            None
        }
    }
}

fn missing(
    file: &File,
    certificate: &Certificate,
    wanted: impl Iterator<Item = IpAddr>,
    report: &mut Report<'_>,
) {
    for address in wanted.filter(|address| !certificate.ips().contains(address)) {
        report.add(&file.path, None, "subjectAltName", format!("the address `{address}` is missing"));
    }
}

/// Computed from the networks themselves, not from the field that the recipe uses.
fn first_service_addresses(artifacts: &Artifacts<'_>) -> impl Iterator<Item = IpAddr> {
    let networks = artifacts.config_texts("service_networks").into_iter();
    networks.filter_map(|network| network.parse::<IpNet>().ok()).map(|network| match network {
        IpNet::V4(network) => Ipv4Addr::from(u32::from(network.network()).saturating_add(1)).into(),
        IpNet::V6(network) => Ipv6Addr::from(u128::from(network.network()).saturating_add(1)).into(),
    })
}
