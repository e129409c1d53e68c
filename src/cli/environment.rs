//! What we read of the environment, and what programs of the host see of it.

#![expect(clippy::disallowed_methods, reason = "the environment is read here and nowhere below")]

use std::path::PathBuf;

use crate::base::process::Programs;
use crate::engine::registry::ProxySettings;

/// Where the user's data is, by the XDG rules.
pub(super) fn data_directory() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_DATA_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/share")))
}

/// The proxies that programs are told to use; the lower-case names come first, as curl has it.
pub(super) fn proxy_settings() -> ProxySettings {
    let variable = |name: &str| {
        [name.to_lowercase(), name.to_owned()]
            .into_iter()
            .find_map(|name| std::env::var(name).ok())
            .filter(|value| !value.is_empty())
    };
    ProxySettings {
        http: variable("HTTP_PROXY"),
        https: variable("HTTPS_PROXY"),
        no_proxy: variable("NO_PROXY"),
    }
}

/// What a program of the host may see: where programs are, who we are, and how to get to another host.
const PASSED: [&str; 10] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "TERM",
    "SSH_AUTH_SOCK",
    "XDG_RUNTIME_DIR",
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
    "LIBVIRT_AUTH_FILE",
];

/// Programs of the host, with as much of our environment as they need; they speak English, because we read what they say.
pub(super) fn programs() -> Programs {
    let passed = PASSED.iter().filter_map(|name| Some(((*name).to_owned(), std::env::var_os(name)?)));
    let english = [("LC_ALL".to_owned(), "C".into())];
    Programs { environment: passed.chain(english).collect() }
}
