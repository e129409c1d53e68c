//! What is needed to talk to registries. Values only: whoever makes them reads files and environment.

use std::fmt;
use std::time::Duration;

use crate::base::secret::{MASK, Secret};

/// How registries are reached.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// Credentials: the text of a dockerconfigjson.
    pub pull_secret: Option<Secret>,
    /// Certificates to trust beside the system's, PEM.
    pub ca: Option<String>,
    /// Where else images can be had.
    pub mirrors: Vec<MirrorRule>,
    /// Proxies to the outside.
    pub proxy: ProxySettings,
    /// Registries (`host[:port]`, as in image names) that are spoken to without TLS.
    ///
    /// Everything else is spoken to with TLS, loopback included: a registry that silently loses its TLS would otherwise
    /// get the pull secret in clear text.
    pub plain_http: Vec<String>,
    /// How long to wait, and how often.
    pub patience: Patience,
}

/// Mirrors of one source, as `imageDigestSources` has it. They are used for images by digest only.
#[derive(Debug, Clone, Default)]
pub struct MirrorRule {
    /// `host[:port][/path]`: this repository, or everything below it; `*.domain` for all hosts of a domain.
    pub source: String,
    /// What stands in for it, in order.
    pub mirrors: Vec<String>,
    /// Whether the source itself is not asked when no mirror has the image.
    pub never_contact_source: bool,
}

/// Proxies, as HTTP_PROXY, HTTPS_PROXY and NO_PROXY have them.
#[derive(Clone, Default)]
pub struct ProxySettings {
    pub http: Option<String>,
    pub https: Option<String>,
    /// Hosts, domains, addresses and networks that need none, separated by commas.
    pub no_proxy: Option<String>,
}

/// A proxy's URL can hold a password.
impl fmt::Debug for ProxySettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mask = |url: &Option<String>| url.as_ref().map(|_| MASK);
        f.debug_struct("ProxySettings")
            .field("http", &mask(&self.http))
            .field("https", &mask(&self.https))
            .field("no_proxy", &self.no_proxy)
            .finish()
    }
}

/// How long to wait for a registry, and how often to try again.
#[derive(Debug, Clone)]
pub struct Patience {
    /// Waits between tries: one more try than there are waits.
    pub delays: Vec<Duration>,
    /// The longest wait that a registry may ask for (Retry-After).
    pub longest: Duration,
    pub connect: Duration,
    /// For the next byte.
    pub idle: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            delays: [250, 500, 1000, 2000, 4000].map(Duration::from_millis).to_vec(),
            longest: Duration::from_secs(60),
            connect: Duration::from_secs(15),
            idle: Duration::from_secs(60),
        }
    }
}
