//! Parses kubeconfigs, objects, certificates and keys. An error is a sentence, and contains no value.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::resolve::Found;
use crate::base::hint::Problems;
use crate::base::pki::{Certificate, PrivateKey};
use crate::base::yaml::{self, Source, YamlNode};

/// The selected context of a kubeconfig.
pub(super) struct Kubeconfig {
    pub(super) path: String,
    cluster: YamlNode,
    user: YamlNode,
}

impl Kubeconfig {
    pub(super) fn read(text: &str, path: String) -> Found<Self> {
        let root = documents(&path, text).into_iter().next();
        let chosen = root.and_then(|root| {
            let named = |list: &str, name: &str, what: &str| {
                let all = root.get(list).map(YamlNode::items).unwrap_or_default();
                let found = all.iter().find(|one| one.get("name").and_then(YamlNode::text) == Some(name))?;
                found.get(what).cloned()
            };
            let context = named("contexts", root.get("current-context")?.text()?, "context")?;
            let cluster = named("clusters", context.get("cluster")?.text()?, "cluster")?;
            Some((cluster, named("users", context.get("user")?.text()?, "user")?))
        });
        let (cluster, user) = chosen.ok_or_else(|| format!("cannot parse the kubeconfig `{path}`"))?;
        Ok(Self { path, cluster, user })
    }

    /// A field of its cluster or user; decodes `-data` fields.
    pub(super) fn of(&self, field: &str) -> Found<String> {
        let text = self.cluster.get(field).or_else(|| self.user.get(field)).and_then(YamlNode::text);
        let text = text.map(|text| match field.ends_with("-data") {
            true => decoded(text).unwrap_or_default(),
            false => text.to_owned(),
        });
        text.filter(|text| !text.is_empty()).ok_or_else(|| format!("`{}` has no `{field}`", self.path))
    }
}

/// Whether a document is the object of this kind, namespace and name.
pub(crate) fn is_object(document: &YamlNode, kind: &str, object: &str) -> bool {
    let Some((namespace, name)) = object.split_once('/') else { return false };
    let text = |node: Option<&YamlNode>, key: &str, wanted: &str| {
        node.and_then(|node| node.get(key)).and_then(YamlNode::text) == Some(wanted)
    };
    let metadata = document.get("metadata");
    text(Some(document), "apiVersion", "v1")
        && text(Some(document), "kind", kind)
        && text(metadata, "namespace", namespace)
        && text(metadata, "name", name)
}

/// The client certificate of a kubeconfig.
pub(crate) fn client_certificate(path: &str, text: &str) -> Found<Certificate> {
    let kubeconfig = Kubeconfig::read(text, path.to_owned())?;
    let mut chain = certificates(path, &kubeconfig.of("client-certificate-data")?)?;
    if chain.is_empty() {
        Err(format!("`{path}` has no client certificate"))
    } else {
        Ok(chain.swap_remove(0))
    }
}

/// The decoded value of a key in a Secret or ConfigMap; none if it is empty.
pub(crate) fn held(document: &YamlNode, key: &str) -> Option<String> {
    let plain = |field: &str| document.get(field).and_then(|data| data.get(key)).and_then(YamlNode::text);
    let text = if document.get("kind").and_then(YamlNode::text) == Some("Secret") {
        // `stringData` wins, as in the API.
        let given = plain("stringData").map(str::to_owned);
        given.or_else(|| plain("data").and_then(decoded))
    } else {
        plain("data").map(str::to_owned)
    };
    text.filter(|text| !text.trim().is_empty())
}

fn decoded(text: &str) -> Option<String> {
    let bytes = STANDARD.decode(text.split_whitespace().collect::<String>()).ok()?;
    String::from_utf8(bytes).ok()
}

pub(super) fn documents(path: &str, text: &str) -> Vec<YamlNode> {
    yaml::documents(Source { name: path, text }, &mut Problems::default())
}

pub(super) fn certificates(from: &str, text: &str) -> Found<Vec<Certificate>> {
    Certificate::chain_from_pem(text).map_err(|_| format!("`{from}` has no certificate that can be read"))
}

pub(super) fn belongs(chain: &[Certificate], from: &str, key: &str) -> Found<()> {
    let fits = |key: PrivateKey| chain.first().is_some_and(|first| first.belongs_to(&key));
    match PrivateKey::from_pem(key).is_ok_and(fits) {
        true => Ok(()),
        false => Err(format!("`{from}` does not have the key of the certificate")),
    }
}

/// The host of a URL, without brackets.
pub(super) fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = rest.split('/').next().unwrap_or_default();
    match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => rest.split(':').next().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_a_url() {
        assert_eq!(host("https://api.example.com:6443"), "api.example.com");
        assert_eq!(host("https://[fd00::1]:2379/health"), "fd00::1");
        assert_eq!(host("https://192.0.2.1"), "192.0.2.1");
        assert_eq!(host(""), "");
    }

    #[test]
    fn a_secret_is_decoded_and_its_clear_text_wins() {
        let held = |text: &str| held(&documents("x.yaml", text)[0], "a.b");
        assert_eq!(held("kind: Secret\ndata:\n  a.b: |\n    aGVs\n    bG8=\n").as_deref(), Some("hello"));
        assert_eq!(held("kind: Secret\ndata: {a.b: aGVsbG8=}").as_deref(), Some("hello"));
        assert_eq!(held("kind: Secret\ndata: {a.b: aGVsbG8=}\nstringData: {a.b: x}").as_deref(), Some("x"));
        assert_eq!(held("kind: ConfigMap\ndata: {a.b: aGVsbG8=}").as_deref(), Some("aGVsbG8="));
        assert_eq!(held("kind: ConfigMap\ndata: {a.b: ' '}").as_deref(), None);
    }
}
