//! Settings for registries. Values only: callers read files and the environment.

use std::fmt;
use std::time::Duration;

use crate::base::cancel::Cancel;
use crate::base::secret::{MASK, Secret};

/// How to reach registries.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// Credentials: the text of a dockerconfigjson.
    pub pull_secret: Option<Secret>,
    /// CA certificates to trust in addition to the system's, PEM.
    pub ca: Option<String>,
    /// Mirrors of registries.
    pub mirrors: Vec<MirrorRule>,
    pub proxy: ProxySettings,
    /// Registries (`host[:port]`, as in image names) to contact without TLS.
    ///
    /// All others use TLS, loopback included: a registry that silently loses its TLS would otherwise get the pull
    /// secret in clear text.
    pub plain_http: Vec<String>,
    /// Timeouts and retries.
    pub patience: Patience,
    /// Whether every request fails at once, because the user wants no network.
    pub offline: bool,
    /// Ends every wait.
    pub cancel: Cancel,
}

/// Mirrors of one source, as in `imageDigestSources`. Only used for images by digest.
#[derive(Debug, Clone, Default)]
pub struct MirrorRule {
    /// `host[:port][/path]`: this repository, or everything below it; `*.domain` for all hosts of a domain.
    pub source: String,
    /// In order of preference.
    pub mirrors: Vec<String>,
    /// Whether to fail if no mirror has the image, instead of asking the source.
    pub never_contact_source: bool,
}

/// Proxies, as in HTTP_PROXY, HTTPS_PROXY and NO_PROXY.
#[derive(Clone, Default)]
pub struct ProxySettings {
    pub http: Option<String>,
    pub https: Option<String>,
    /// Hosts, domains, addresses and networks to reach directly, separated by commas.
    pub no_proxy: Option<String>,
}

/// A proxy URL can contain a password.
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

/// Timeouts and retries.
#[derive(Debug, Clone)]
pub struct Patience {
    /// Delays between attempts: one more attempt than there are delays.
    pub delays: Vec<Duration>,
    /// Maximum delay that a registry may request (Retry-After).
    pub longest: Duration,
    pub connect: Duration,
    /// Until the next byte.
    pub idle: Duration,
    /// For a whole manifest, with all attempts.
    pub whole: Duration,
    /// Bytes per second that a download must have, on average over `pace_window` of waiting for it.
    pub lowest_pace: u64,
    pub pace_window: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            delays: [250, 500, 1000, 2000, 4000].map(Duration::from_millis).to_vec(),
            longest: Duration::from_secs(20),
            connect: Duration::from_secs(15),
            idle: Duration::from_secs(60),
            whole: Duration::from_secs(120),
            lowest_pace: 1024,
            pace_window: Duration::from_secs(60),
        }
    }
}
