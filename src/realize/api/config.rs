//! A connection from a kubeconfig: its authorities, client certificate and server name. Anything else that a kubeconfig may
//! hold (files, programs to run, tokens, proxies) is ignored: ours have none of it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::config::{AuthInfo, Cluster, Kubeconfig};

use super::{ApiError, CONNECT, Endpoint, REQUEST};
use crate::base::pki::Certificate;

/// For a server at this endpoint.
pub(super) fn config(text: &str, at: &Endpoint) -> Result<kube::Config, ApiError> {
    let (cluster, user) = current(text)?;
    let broken = |problem: String| ApiError::Kubeconfig { problem };
    let url = format!("https://{at}").parse().map_err(|_| broken(format!("`{at}` is not an endpoint")))?;
    let mut config = kube::Config::new(url);
    config.root_cert = Some(authorities(&cluster)?);
    config.tls_server_name = Some(server_name(&cluster)?);
    config.auth_info = AuthInfo {
        client_certificate_data: user.client_certificate_data,
        client_key_data: user.client_key_data,
        ..AuthInfo::default()
    };
    config.connect_timeout = Some(CONNECT);
    config.read_timeout = Some(REQUEST);
    config.write_timeout = Some(REQUEST);
    // The wait loop retries, and reports it.
    config.default_retry = false;
    Ok(config)
}

/// The user that an API server derives from a kubeconfig's client certificate.
pub(crate) fn user_of(kubeconfig: &str) -> Result<String, ApiError> {
    let (_, user) = current(kubeconfig)?;
    let chain = certificates("client-certificate-data", user.client_certificate_data.as_deref())?;
    let name = chain.first().and_then(|one| one.common_name()).unwrap_or_default();
    Ok(name.to_owned())
}

/// The cluster and the user of the current context.
fn current(text: &str) -> Result<(Cluster, AuthInfo), ApiError> {
    let broken = |problem: String| ApiError::Kubeconfig { problem };
    // Not the parser's message: it quotes the text, which has keys in it.
    let read = Kubeconfig::from_yaml(text).map_err(|_| broken("it is not a kubeconfig".into()))?;
    let missing = |field: &str| broken(format!("it has no `{field}`"));
    let name = read.current_context.as_deref().ok_or_else(|| missing("current-context"))?;
    let context = read.contexts.into_iter().find(|one| one.name == name).and_then(|one| one.context);
    let context = context.ok_or_else(|| missing("contexts"))?;
    let cluster = read.clusters.into_iter().find(|one| one.name == context.cluster);
    let cluster = cluster.and_then(|one| one.cluster).ok_or_else(|| missing("clusters"))?;
    let user = read.auth_infos.into_iter().find(|one| Some(&one.name) == context.user.as_ref());
    let user = user.and_then(|one| one.auth_info).ok_or_else(|| missing("users"))?;
    if user.client_certificate_data.is_none() {
        return Err(missing("client-certificate-data"));
    }
    if user.client_key_data.is_none() {
        return Err(missing("client-key-data"));
    }
    Ok((cluster, user))
}

fn authorities(cluster: &Cluster) -> Result<Vec<Vec<u8>>, ApiError> {
    let chain = certificates("certificate-authority-data", cluster.certificate_authority_data.as_deref())?;
    Ok(chain.iter().map(|one| one.der().to_vec()).collect())
}

fn certificates(field: &str, data: Option<&str>) -> Result<Vec<Certificate>, ApiError> {
    let broken = |problem: &str| ApiError::Kubeconfig { problem: format!("`{field}` {problem}") };
    let pem =
        STANDARD.decode(data.ok_or_else(|| broken("is missing"))?).map_err(|_| broken("is not base64"))?;
    let pem = String::from_utf8(pem).map_err(|_| broken("is not PEM"))?;
    Certificate::chain_from_pem(&pem).map_err(|error| broken(&format!("cannot be read: {error}")))
}

/// The host of `https://api.ocp4.example.com:6443`.
fn server_name(cluster: &Cluster) -> Result<String, ApiError> {
    let server = cluster.server.as_deref().and_then(|server| server.strip_prefix("https://"));
    let host = server.map(|rest| rest.split('/').next().unwrap_or(rest)).and_then(|rest| {
        match rest.strip_prefix('[') {
            Some(rest) => rest.split(']').next(),
            None => rest.split(':').next(),
        }
    });
    let host = host.filter(|host| !host.is_empty());
    host.map(str::to_owned)
        .ok_or_else(|| ApiError::Kubeconfig { problem: "its `server` is not https://HOST:PORT".into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        config(text, &"127.0.0.1".parse().unwrap()).unwrap_err().to_string()
    }

    #[test]
    fn a_bad_kubeconfig_is_refused_and_not_quoted() {
        let shown = refused("users: [hunter2");
        assert!(shown.ends_with("it is not a kubeconfig") && !shown.contains("hunter2"), "{shown}");
        assert!(refused("{}").ends_with("it has no `current-context`"));
        let text = "{current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}], \
                    clusters: [{name: a, cluster: {server: 'https://a:1'}}], users: [{name: a, user: USER}]}";
        assert!(
            refused(&text.replace("USER", "{token: hunter2}"))
                .ends_with("it has no `client-certificate-data`")
        );
        let user = "{client-certificate-data: aaaa, client-key-data: hunter2}";
        assert!(refused(&text.replace("USER", user)).ends_with("`certificate-authority-data` is missing"));
    }

    #[test]
    fn the_server_name_is_the_host_of_the_url() {
        let name = |server: &str| {
            server_name(&Cluster { server: Some(server.to_owned()), ..Cluster::default() }).ok()
        };
        assert_eq!(name("https://api.ocp4.example.com:6443").as_deref(), Some("api.ocp4.example.com"));
        assert_eq!(name("https://[fd00::1]:6443/x").as_deref(), Some("fd00::1"));
        assert_eq!(name("http://api.ocp4.example.com:6443"), None);
        assert_eq!(name("https://:6443"), None);
    }
}
