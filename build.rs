//! Compiles the demo release's machine-config programs, one static program for each of its versions, to be embedded.
//!
//! They are programs of an image and run in an empty root, so they cannot be part of our own binary. Cargo has no notion
//! of a program inside of a program: this calls the compiler itself, as cargo would.
#![expect(
    clippy::disallowed_methods,
    reason = "a build script lives by its environment and runs the compiler"
)]
#![expect(clippy::print_stderr, reason = "this is how a build script talks to cargo")]

use std::env::var_os;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

const SOURCE: &str = "src/openshift/demo/mco";
const VERSIONS: [&str; 2] = ["4.18", "4.19"];

fn main() -> ExitCode {
    match build() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

fn build() -> Result<(), String> {
    println!("cargo::rerun-if-changed={SOURCE}");
    // Not ours to read, but `include_dir!` does not notice a new file by itself.
    println!("cargo::rerun-if-changed=src/openshift/demo/files");
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(environment("OUT_DIR")?);
    let programs: Vec<_> = VERSIONS.iter().map(|version| compile(version, &out)).collect::<Result<_, _>>()?;
    for program in programs {
        let done = program.wait_with_output().map_err(|error| format!("the compiler got lost: {error}"))?;
        if !done.status.success() {
            let words = String::from_utf8_lossy(&done.stderr).into_owned();
            return Err(explain(&words));
        }
    }
    Ok(())
}

fn environment(name: &str) -> Result<OsString, String> {
    var_os(name).ok_or_else(|| format!("cargo did not set {name}"))
}

/// Starts the compiler; both versions are compiled at the same time.
fn compile(version: &str, out: &Path) -> Result<Child, String> {
    let mut command = Command::new(environment("RUSTC")?);
    command
        .args(["--edition", "2024", "--crate-type", "bin", "--crate-name"])
        // Two compilers in one directory: their scratch files are named after the crate.
        .arg(format!("demo_mco_{}", version.replace('.', "_")))
        .args(["-C", "target-feature=+crt-static", "-C", "opt-level=z", "-C", "panic=abort"])
        .args(["-C", "strip=symbols", "-C", "codegen-units=1"])
        // Paths stand in the program, and its bytes decide the demo's digest: a file that moves changes no id.
        .arg(format!("--remap-path-prefix={SOURCE}=src/registry/demo/mco"))
        .arg("--target")
        .arg(environment("TARGET")?)
        .arg("-o")
        .arg(out.join(format!("demo-mco-{version}")))
        .arg(format!("{SOURCE}/main.rs"))
        .env("TINDERBOX_DEMO_VERSION", version)
        .stderr(Stdio::piped());
    if let Some(linker) = var_os("RUSTC_LINKER") {
        let mut option = OsString::from("linker=");
        option.push(linker);
        command.arg("-C").arg(option);
    }
    command.spawn().map_err(|error| format!("the compiler cannot be run: {error}"))
}

/// What to do, where we know it.
fn explain(words: &str) -> String {
    let no_libc = words.contains("cannot find -lc") || words.contains("unable to find library -lc");
    let advice = if no_libc {
        "\nthe static C library (libc.a) is missing: on Debian and Ubuntu it is in libc6-dev, on Fedora in glibc-static"
    } else {
        ""
    };
    format!("the demo release's programs do not compile:\n{words}{advice}")
}
