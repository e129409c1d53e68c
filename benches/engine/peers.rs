//! The programs that we compare with. A missing program is named with its Debian package, and its rows are omitted.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Bench;
use crate::measure;

/// Whether a program is installed; else prints its package.
pub(crate) fn has(program: &str, package: &str) -> bool {
    let found = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let found = found.is_ok_and(|status| status.success());
    if !found {
        measure::note(program, &format!("not installed (package {package}): only our side is measured"));
    }
    found
}

/// A Nix with a store of its own: no daemon, no sandbox, no substituters, no network.
pub(crate) struct Nix {
    root: PathBuf,
}

impl Nix {
    /// A fresh store; none if Nix is not installed.
    pub(crate) fn new(bench: &Bench) -> Option<Self> {
        if !has("nix-build", "nix-bin") {
            return None;
        }
        let root = bench.dir("nix");
        std::fs::create_dir(root.join("conf")).unwrap();
        let conf = "build-users-group =\nsandbox = false\nsubstitute = false\nsubstituters =\n";
        std::fs::write(root.join("conf/nix.conf"), conf).unwrap();
        Some(Self { root })
    }

    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        for (name, dir) in [
            ("NIX_STORE_DIR", "store"),
            ("NIX_STATE_DIR", "state"),
            ("NIX_LOG_DIR", "log"),
            ("NIX_CONF_DIR", "conf"),
            ("NIX_DATA_DIR", "data"),
            ("HOME", "home"),
            ("XDG_CACHE_HOME", "cache"),
        ] {
            command.env(name, self.root.join(dir));
        }
        for unwanted in ["NIX_REMOTE", "NIX_PATH", "NIX_CONFIG", "NIX_USER_CONF_FILES", "XDG_CONFIG_HOME"] {
            command.env_remove(unwanted);
        }
        command.stderr(Stdio::null());
        command
    }

    /// `nix-build` of a file, with its result link.
    pub(crate) fn build(&self, file: &Path) -> Command {
        let mut command = self.command("nix-build");
        command.arg(file).arg("-o").arg(self.root.join("result"));
        command
    }
}
