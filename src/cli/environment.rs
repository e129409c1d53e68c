//! The environment variables that we read, and those that programs of the host see.

#![expect(clippy::disallowed_methods, reason = "the environment is read here and nowhere below")]

use std::path::PathBuf;

use crate::base::process::Programs;
use crate::engine::registry::ProxySettings;

/// The user's data directory, by the XDG rules.
pub(super) fn data_directory() -> Option<PathBuf> {
    user_directory("XDG_DATA_HOME", ".local/share")
}

/// The user's configuration directory of tinderbox, by the same rules.
pub(super) fn config_directory() -> Option<PathBuf> {
    user_directory("XDG_CONFIG_HOME", ".config").map(|directory| directory.join("tinderbox"))
}

fn user_directory(variable: &str, below_home: &str) -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute(variable).or_else(|| absolute("HOME").map(|home| home.join(below_home)))
}

/// The cluster directory and the store of a command line that a shell completes: it is ours after the first `--`.
pub(super) fn of_completed_line() -> (PathBuf, Option<PathBuf>) {
    let words: Vec<_> = std::env::args_os().skip_while(|word| word != "--").collect();
    let after = |option: &str| {
        let at = words.iter().position(|word| word == option)?;
        words.get(at + 1).map(PathBuf::from)
    };
    let store = after("--store").or_else(|| std::env::var_os("TINDERBOX_STORE").map(PathBuf::from));
    (after("-C").unwrap_or_else(|| ".".into()), store.filter(|path| !path.as_os_str().is_empty()))
}

/// Whether the command line, which may be wrong, asks for JSON.
pub(super) fn wants_json() -> bool {
    std::env::args_os().skip(1).take_while(|word| word != "--").any(|word| word == "--json")
}

/// Whether the command line has this option itself; clap counts one that a variable sets as given too.
pub(super) fn has_option(option: &str) -> bool {
    let is_it =
        |word: &str| word.strip_prefix(option).is_some_and(|rest| rest.is_empty() || rest.starts_with('='));
    std::env::args_os().skip(1).take_while(|word| word != "--").any(|word| word.to_str().is_some_and(is_it))
}

/// This program.
pub(super) fn executable() -> Option<PathBuf> {
    std::env::current_exe().ok()
}

/// The proxy variables; lower-case names first, like curl.
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

/// Variables that programs of the host may see: where programs are, who we are, and how to reach another host.
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

/// Programs of the host, with as much of our environment as they need; in English, because we parse their output.
pub(super) fn programs() -> Programs {
    let passed = PASSED.iter().filter_map(|name| Some(((*name).to_owned(), std::env::var_os(name)?)));
    let english = [("LC_ALL".to_owned(), "C".into())];
    Programs { environment: passed.chain(english).collect() }
}
