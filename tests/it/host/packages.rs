//! `.ci/package`: its packages are installed into clean roots, and the program is run there.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::harness::{is_root, left_out, source};

/// Packages of the program under test; none, and a word about it, where they cannot be made or installed.
fn packages(part: &str) -> Option<tempfile::TempDir> {
    if !is_root() {
        left_out(part, "root, to change into another root directory");
        return None;
    }
    let tools = source("target/tools/bin");
    for (program, from) in [
        ("dpkg-query", "Debian's dpkg"),
        ("rpm", "Debian's rpm"),
        ("skopeo", "Debian's skopeo"),
        ("umoci", "Debian's umoci"),
        ("man", "Debian's man-db"),
        ("objdump", "Debian's binutils"),
        ("cargo-deb", "`.ci/package --tools`"),
        ("cargo-generate-rpm", "`.ci/package --tools`"),
    ] {
        let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output().unwrap();
        if !found.status.success() && !tools.join(program).exists() {
            left_out(part, &format!("{program}, of {from}"));
            return None;
        }
    }
    let out = tempfile::tempdir().unwrap();
    let mut package = Command::new(source(".ci/package"));
    package.args(["--binary", env!("CARGO_BIN_EXE_tinderbox"), "--out"]).arg(out.path().join("out"));
    succeeds(&mut package);
    Some(out)
}

fn succeeds(command: &mut Command) -> String {
    let output: Output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The only file of a directory whose name ends so.
fn file(dir: &Path, end: &str) -> PathBuf {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let found: Vec<PathBuf> = entries.filter(|path| path.to_str().unwrap().ends_with(end)).collect();
    assert_eq!(found.len(), 1, "{end}: {found:?}");
    found[0].clone()
}

/// Copies what an installed Debian package has into another root, and lets that root's dpkg know it.
fn install_from_host(root: &Path, package: &str) {
    let script = r#"
        set -eu
        mkdir -p "$0/var/lib/dpkg/info" "$0/var/lib/dpkg/updates" "$0/usr/lib" "$0/usr/lib64" "$0/usr/sbin" "$0/usr/bin"
        for link in lib lib64 bin sbin; do
          if [ -L "/$link" ] && [ ! -L "$0/$link" ]; then ln -s "usr/$link" "$0/$link"; fi
        done
        dpkg-query -L "$1" | while read -r path; do
          if [ -f "$path" ]; then echo "$(realpath "$(dirname "$path")")/$(basename "$path")"; fi
        done | tar -c --files-from=- --absolute-names | tar -C "$0" -x --transform 's,^/,,S'
        { dpkg-query -s "$1"; echo; } >>"$0/var/lib/dpkg/status"
        dpkg-query -L "$1" >"$0/var/lib/dpkg/info/$1.list"
    "#;
    succeeds(Command::new("sh").args(["-c", script]).arg(root).arg(package));
}

/// A command inside another root, with what every container has: a /proc of its own, and devices.
fn inside(root: &Path, args: &[&str]) -> String {
    let script = r#"
        mkdir -p "$0/proc" "$0/dev" "$0/tmp" && mount --rbind "$0" "$0" &&
        mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"
    "#;
    let mut command = Command::new("unshare");
    command.args(["--mount", "--pid", "--fork", "sh", "-c", script]).arg(root).args(args);
    succeeds(command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("HOME", "/tmp"))
}

/// The installed program builds the demo, and its manual can be read.
fn works(root: &Path) {
    let version = inside(root, &["/usr/bin/tinderbox", "--version"]);
    assert!(version.starts_with(&format!("tinderbox {}", env!("CARGO_PKG_VERSION"))), "{version}");
    inside(root, &["/usr/bin/tinderbox", "-q", "init", "/tmp/ocp4"]);
    let built = inside(root, &["/usr/bin/tinderbox", "-C", "/tmp/ocp4", "-q", "build"]);
    assert!(built.trim_end().ends_with("-cluster"), "{built}");
    for page in ["tinderbox", "tinderbox-build", "tinderbox-realize-plan"] {
        let path = root.join(format!("usr/share/man/man1/{page}.1.gz"));
        let manual = succeeds(Command::new("man").args(["--warnings", "-l"]).arg(path).env("LC_ALL", "C"));
        for section in ["SYNOPSIS", "EXAMPLES", "TINDERBOX_STORE"] {
            assert!(manual.contains(section), "{manual}");
        }
    }
    let completions = root.join("usr/share/bash-completion/completions/tinderbox");
    succeeds(Command::new("bash").arg("-n").arg(completions));
}

#[test]
fn packages_install_into_clean_roots() {
    let Some(temp) = packages("packages in clean roots") else { return };
    let out = temp.path().join("out");

    // Everything is listed, and the archive unpacks anywhere.
    succeeds(Command::new("sha256sum").args(["--quiet", "--check", "SHA256SUMS"]).current_dir(&out));
    let unpacked = temp.path().join("archive");
    fs::create_dir(&unpacked).unwrap();
    let archive = file(&out, "-linux.tar.gz");
    succeeds(
        Command::new("tar").arg("-xzf").arg(archive).arg("--strip-components=1").arg("-C").arg(&unpacked),
    );
    let version = succeeds(Command::new(unpacked.join("bin/tinderbox")).arg("--version"));
    assert!(version.starts_with("tinderbox "), "{version}");

    // dpkg checks dependencies: without libc6 it refuses.
    let deb = file(&out, ".deb");
    let root = temp.path().join("deb");
    fs::create_dir(&root).unwrap();
    let dpkg = || {
        let mut command = Command::new("dpkg");
        command.arg(format!("--root={}", root.display())).arg("--install").arg(&deb).env("LC_ALL", "C");
        command
    };
    install_from_host(&root, "libgcc-s1");
    let refused = dpkg().output().unwrap();
    assert!(!refused.status.success());
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("depends on libc6"), "{said}");
    install_from_host(&root, "libc6");
    succeeds(&mut dpkg());
    works(&root);

    // rpm's database knows no Debian package, so what it requires is read instead of checked.
    let rpm = file(&out, ".rpm");
    let requires = succeeds(Command::new("rpm").args(["-qp", "--requires"]).arg(&rpm));
    assert!(requires.contains("libc.so.6(GLIBC_2."), "{requires}");
    let root = temp.path().join("rpm");
    fs::create_dir(&root).unwrap();
    install_from_host(&root, "libgcc-s1");
    install_from_host(&root, "libc6");
    let at = format!("--root={}", root.display());
    succeeds(Command::new("rpm").args([&at, "--initdb"]));
    succeeds(Command::new("rpm").args([&at, "--nodeps", "--install"]).arg(&rpm));
    succeeds(Command::new("rpm").args([&at, "--verify", "--nodeps", "tinderbox"]));
    works(&root);

    // The image: skopeo reads and copies it, umoci unpacks it, and its program builds.
    let layout = format!("oci:{}:{}", out.join("image").display(), env!("CARGO_PKG_VERSION"));
    let about: serde_json::Value =
        serde_json::from_str(&succeeds(Command::new("skopeo").args(["inspect", &layout]))).unwrap();
    assert_eq!(about["Labels"]["org.opencontainers.image.version"], env!("CARGO_PKG_VERSION"));
    let copy = format!("oci:{}:copy", temp.path().join("copy").display());
    succeeds(Command::new("skopeo").args(["--insecure-policy", "copy", "--quiet", &layout, &copy]));
    let bundle = temp.path().join("bundle");
    let image = copy.trim_start_matches("oci:");
    succeeds(Command::new("umoci").args(["unpack", "--image", image]).arg(&bundle));
    let root = bundle.join("rootfs");
    let program = fs::metadata(root.join("usr/bin/tinderbox")).unwrap();
    assert_eq!(program.permissions().mode() & 0o7777, 0o755);
    inside(&root, &["/usr/bin/tinderbox", "-q", "init", "/cluster/ocp4"]);
    let built = inside(&root, &["/usr/bin/tinderbox", "-C", "/cluster/ocp4", "-q", "build"]);
    assert!(built.trim_end().ends_with("-cluster"), "{built}");
    // The same files at another time: the same digest.
    let again = temp.path().join("again");
    let digest = succeeds(
        Command::new(env!("CARGO_BIN_EXE_tinderbox"))
            .args(["-q", "dist", "image"])
            .arg(source("target/package/image"))
            .arg(format!("oci:{}", again.display())),
    );
    assert_eq!(digest.trim(), about["Digest"].as_str().unwrap());
}
