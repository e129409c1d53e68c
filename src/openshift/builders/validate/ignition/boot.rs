//! Boot facts about the nodes' configs.

use super::super::{Check, Report};
use super::{Node, nodes};
use crate::base::pki::Certificate;
use crate::engine::tree::leaf;
use crate::openshift::ignition::unit;

const SCRIPT: &str = "/usr/local/bin/bootkube.sh";
const KUBELET: &str = "kubelet.service";
const CA: &str = "/etc/kubernetes/kubelet-ca.crt";
const URL: &str = "/etc/kubernetes/apiserver-url.env";
const CRIO: &str = "/etc/crio/crio.conf.d/";

/// Operators find the API.
pub(in super::super) const APISERVER_URL: Check = Check {
    name: "apiserver-url-env",
    config: &["nodes"],
    run: |artifacts, report| {
        for node in nodes(artifacts).iter().filter(|node| node.role == "master") {
            match node.text(URL) {
                None => node.report(report, URL, "nothing writes it"),
                Some(text) if !text.contains("KUBERNETES_SERVICE_HOST=") => {
                    node.report(report, URL, "it does not set KUBERNETES_SERVICE_HOST");
                }
                Some(_) => {}
            }
        }
    },
};

/// The script can run.
pub(in super::super) const BOOTKUBE: Check = Check {
    name: "bootkube-path",
    config: &["nodes"],
    run: |artifacts, report| {
        for node in nodes(artifacts).iter().filter(|node| node.bootstraps) {
            match node.config.files.get(SCRIPT) {
                None => node.report(report, SCRIPT, "nothing writes it"),
                Some(file) if file.mode.is_none_or(|mode| mode & 0o100 == 0) => {
                    node.report(report, SCRIPT, "it cannot be executed");
                }
                Some(_) => {}
            }
            let commands = commands(node, "bootkube.service");
            if !commands.iter().any(|words| words.first().is_some_and(|word| word == SCRIPT)) {
                node.report(report, "bootkube.service", format!("it does not start {SCRIPT}"));
            }
        }
    },
};

/// The bootstrap kubelet does not wait for an API server.
pub(in super::super) const STANDALONE: Check = Check {
    name: "bootstrap-kubelet-standalone",
    config: &["nodes"],
    run: |artifacts, report| {
        for node in nodes(artifacts).iter().filter(|node| node.role == "bootstrap") {
            let commands = commands(node, KUBELET);
            let mut kubelets =
                commands.iter().filter(|words| words.iter().any(|word| leaf(word) == "kubelet")).peekable();
            if kubelets.peek().is_none() {
                node.report(report, KUBELET, "no such unit starts a kubelet");
            }
            for words in kubelets {
                for flag in ["--kubeconfig", "--bootstrap-kubeconfig"] {
                    if words.iter().any(|word| word == flag || word.starts_with(&format!("{flag}="))) {
                        node.report(report, KUBELET, format!("it has `{flag}`"));
                    }
                }
            }
        }
    },
};

/// The kubelet starts.
pub(in super::super) const KUBELET_CA: Check = Check {
    name: "kubelet-ca",
    config: &["nodes"],
    run: |artifacts, report| {
        for node in nodes(artifacts).iter().filter(|node| node.role != "bootstrap") {
            match node.text(CA) {
                None => node.report(report, CA, "nothing writes it"),
                Some(text) if Certificate::chain_from_pem(&text).is_err() => {
                    node.report(report, CA, "it holds no certificate");
                }
                Some(_) => {}
            }
        }
    },
};

/// Operators recognise masters.
pub(in super::super) const MASTER_LABEL: Check = Check {
    name: "master-label",
    config: &["nodes"],
    run: |artifacts, report| {
        for node in nodes(artifacts).iter().filter(|node| node.role == "master") {
            let commands = commands(node, KUBELET);
            let mut labels = commands.iter().flatten().filter_map(|word| word.strip_prefix("--node-labels="));
            let is_master = |label: &str| label.split('=').next() == Some("node-role.kubernetes.io/master");
            if !labels.any(|list| list.split(',').any(is_master)) {
                node.report(report, KUBELET, "it does not register with `node-role.kubernetes.io/master`");
            }
        }
    },
};

pub(in super::super) const PAUSE_IMAGE: Check = Check {
    name: "pause-image",
    config: &[],
    run: |artifacts, report| {
        let image = artifacts.of("pause").next().map(|file| file.text.trim()).unwrap_or_default();
        for node in &nodes(artifacts) {
            pause(node, image, report);
        }
    },
};

fn pause(node: &Node<'_>, image: &str, report: &mut Report<'_>) {
    let (mut found, mut auth) = (None, None);
    for path in node.config.files.keys().filter(|path| path.starts_with(CRIO)) {
        let Some(table) = node.text(path).and_then(|text| text.parse::<toml::Table>().ok()) else {
            node.report(report, path, "it is not TOML, which CRI-O reads");
            continue;
        };
        let section = table.get("crio").and_then(|crio| crio.get("image"));
        let word = |key: &str| section?.get(key)?.as_str().map(str::to_owned);
        // The last file wins, by name.
        found = word("pause_image").or(found);
        auth = word("pause_image_auth_file").or(auth);
    }
    match found {
        None => node.report(report, CRIO, "no file sets `pause_image`"),
        Some(found) if found != image => {
            node.report(report, CRIO, format!("`pause_image` is `{found}`, not `{image}`"));
        }
        Some(_) => {}
    }
    match auth {
        None => node.report(report, CRIO, "no file sets `pause_image_auth_file`"),
        Some(path) if !node.config.files.contains_key(&path) => {
            node.report(report, CRIO, format!("`pause_image_auth_file` is `{path}`, which nothing writes"));
        }
        Some(_) => {}
    }
}

/// The command lines of a service: the words of every ExecStart, including drop-ins. An empty one resets the list.
pub(super) fn commands(node: &Node<'_>, service: &str) -> Vec<Vec<String>> {
    let Some(one) = node.config.units.get(service).filter(|one| one.mask != Some(true)) else {
        return Vec::new();
    };
    let dropins = one.dropins.iter().flatten().filter_map(|dropin| dropin.contents.as_ref());
    let mut found: Vec<Vec<String>> = Vec::new();
    for text in one.contents.iter().chain(dropins) {
        for value in unit(text).values("Service", "ExecStart") {
            match value {
                "" => found.clear(),
                value => found.push(value.split_whitespace().map(str::to_owned).collect()),
            }
        }
    }
    found
}
