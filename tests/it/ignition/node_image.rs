//! The node image that is laid over the bootstrap node's boot image.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use super::{config, entries};
use crate::harness::{Workspace, in_mount_namespace, left_out, source};

/// The example on a release whose boot images have no kubelet.
fn later() -> Workspace {
    let ws = Workspace::example().prebuilt();
    ws.edit("cluster.yaml", "release: demo:4.18", "release: demo:4.19");
    ws.relock();
    ws.build(&["bootstrap-config/node-image"]);
    ws
}

fn paths(ws: &Workspace) -> Vec<String> {
    ws.build(&["ignition"]);
    let config = config(ws, "bootstrap");
    entries(&config, "storage.files").into_keys().filter(|path| path.contains("node-image")).collect()
}

#[test]
fn only_where_boot_images_lack_the_kubelet() {
    let ws = Workspace::example().prebuilt();
    assert_eq!(paths(&ws), [""; 0]);
    let ws = later();
    insta::assert_snapshot!(paths(&ws).join("\n"), @r"
    /etc/systemd/system-generators/node-image-overlay-generator
    /etc/systemd/system/node-image-finish.service
    /etc/systemd/system/node-image-overlay.service
    /etc/systemd/system/node-image-overlay.target
    /etc/systemd/system/node-image-pull.service
    /usr/local/bin/node-image-overlay.sh
    /usr/local/bin/node-image-pull.sh
    ");
    let masters = config(&ws, "master-0");
    assert!(!masters.to_string().contains("node-image"), "masters get their OS from osImageURL");
}

/// The generator decides by what is there.
#[test]
fn a_boot_image_with_all_programs_boots_as_usual() {
    let ws = later();
    let generator = ws.path_of("bootstrap-config/node-image").join("node-image-overlay-generator");
    let (root, units) = (ws.temp().join("root"), ws.temp().join("units"));
    fs::create_dir_all(&units).unwrap();
    let run = || {
        let output = Command::new("bash").arg(&generator).arg(&units).env("ROOT", &root).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        fs::read_link(units.join("default.target")).ok()
    };
    for program in ["kubelet", "crio", "oc"] {
        let target = run().expect("something is missing");
        assert_eq!(target, Path::new("/etc/systemd/system/node-image-overlay.target"));
        fs::remove_file(units.join("default.target")).unwrap();
        let path = root.join("usr/bin").join(program);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "").unwrap();
        crate::harness::set_mode(&path, 0o755);
    }
    assert_eq!(run(), None);
}

#[test]
fn shellcheck_has_nothing_to_say() {
    let ws = later();
    let scripts = ws.path_of("bootstrap-config/node-image");
    for name in ["node-image-overlay-generator", "node-image-overlay.sh", "node-image-pull.sh"] {
        let mut command = Command::new("shellcheck");
        command.args(["--enable=all", "--exclude=SC2250,SC2292,SC2310,SC2312"]).arg(scripts.join(name));
        match command.output() {
            Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout)),
            Err(error) => return left_out("shellcheck", &format!("Debian's shellcheck: {error}")),
        }
    }
}

/// A release without a node image says so when it is built.
#[test]
fn a_release_without_a_node_image_is_refused() {
    let ws = later();
    let components = fs::read_to_string(source("recipes/knowledge/components.toml")).unwrap();
    ws.write(
        "recipes/knowledge/components.toml",
        &components.replace("name = \"rhel-coreos\"\n", "name = \"rhel-coreos-99\"\n"),
    );
    let said = ws.run(&["build", "-q", "bootstrap-config/node-image"]);
    assert!(said.contains("rhel-coreos-99") && said.contains("[exit 1]"), "{said}");
}

/// A machine, emulated, whose systemd boots into our units. Three boots: the first ends in the middle of the pull, the second
/// comes to the kubelet, the third finds everything there.
mod boot {
    use std::time::{Duration, Instant};

    use super::*;

    /// How long one boot may take, emulated on a busy host; alone it takes ten seconds.
    const BOOT: Duration = Duration::from_secs(300);

    fn is_complete() -> bool {
        for (command, package) in [
            ("command -v qemu-system-x86_64", "qemu-system-x86"),
            ("ls /boot/vmlinuz-*-cloud-amd64", "linux-image-cloud-amd64"),
            ("ls /usr/lib/systemd/systemd", "systemd"),
            ("command -v busybox", "busybox-static"),
            ("command -v modprobe", "kmod"),
            ("command -v mke2fs", "e2fsprogs"),
            ("command -v cpio", "cpio"),
            ("command -v rsync", "rsync"),
        ] {
            let script = format!("PATH=$PATH:/usr/sbin:/sbin; {command}");
            if !Command::new("sh").args(["-c", &script]).output().unwrap().status.success() {
                left_out("a bootstrap node that boots", &format!("`{command}`, of Debian's {package}"));
                return false;
            }
        }
        true
    }

    /// Boots until the machine is off or wants to boot again; what it wrote to its console.
    fn boot(dir: &Path, name: &str) -> String {
        let log = dir.join(name);
        let arguments = "console=ttyS0 quiet panic=-1 systemd.log_target=console systemd.log_color=0 \
                         systemd.show_status=1 systemd.default_standard_output=tty TERM=dumb";
        let mut machine = Command::new("qemu-system-x86_64")
            .args([
                "-machine",
                "q35,accel=tcg",
                "-cpu",
                "max",
                "-m",
                "512",
                "-nodefaults",
                "-display",
                "none",
            ])
            .args(["-no-reboot", "-kernel", "vmlinuz", "-initrd", "initrd.gz", "-append", arguments])
            .args(["-drive", "file=disk,format=raw,if=virtio", "-serial", &format!("file:{name}")])
            .current_dir(dir)
            .spawn()
            .unwrap();
        let (end, read) =
            (Instant::now() + BOOT, || String::from_utf8_lossy(&fs::read(&log).unwrap()).into_owned());
        while machine.try_wait().unwrap().is_none() {
            if Instant::now() > end {
                machine.kill().unwrap();
                machine.wait().unwrap();
                panic!("{name} does not end:\n{}", read());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        read()
    }

    /// What a console shows in this order, and nothing of what it must not show before.
    fn assert_order(log: &str, steps: &[&str]) {
        let mut rest = log;
        for step in steps {
            rest = rest
                .split_once(step)
                .unwrap_or_else(|| panic!("`{step}` is not there, or too early:\n{log}"))
                .1;
        }
    }

    #[test]
    fn the_kubelet_starts_from_the_node_image() {
        if !is_complete() {
            return;
        }
        let ws = later();
        ws.build(&["ignition/bootstrap"]);
        let (tree, dir) = (ws.path_of("ignition/bootstrap").join("tree"), ws.temp().join("guest"));
        fs::create_dir(&dir).unwrap();
        let script = source("tests/it/ignition/guest.sh");
        let output = Command::new("bash").arg(script).args([&dir, &tree]).output().unwrap();
        assert!(output.status.success(), "{output:?}");

        let first = boot(&dir, "first");
        let pull = "Starting node-image-pull.service";
        assert_order(
            &first,
            &["Reached target basic.target", pull, "pulling ", "ostree: the machine loses its power"],
        );
        assert!(!first.contains("kubelet") && !first.contains("multi-user.target"), "{first}");

        let second = boot(&dir, "second");
        let third = boot(&dir, "third");
        let pulled =
            ["Reached target basic.target", pull, "pulling ", "checking out c0ffee, without 2 files of /etc"];
        let there = ["Reached target basic.target", pull, " is there"];
        for (log, pulled) in [(&second, pulled.as_slice()), (&third, there.as_slice())] {
            assert_order(log, pulled);
            assert_order(
                log,
                &[
                    "Finished node-image-pull.service",
                    "mounting the node image over /usr",
                    "Finished node-image-overlay.service",
                    "Starting node-image-finish.service",
                    "Starting kubelet.service",
                    "kubelet: started with --config=/etc/kubernetes/kubelet.conf",
                    "kubelet: CRI-O is active",
                    "kubelet: the modules are of the boot image",
                    "kubelet: kubelet.conf is ours",
                    "kubelet: CRI-O is configured by /etc/crio/crio.conf.d/00-default /etc/crio/crio.conf.d/00-pause-image",
                    "kubelet: /usr is read-only",
                    "Reached target multi-user.target",
                    "Power down",
                ],
            );
            let before = log.split("Starting node-image-finish.service").next().unwrap();
            assert!(!before.contains("kubelet") && !before.contains("crio.service"), "{before}");
            assert!(!log.contains("Failed to start"), "{log}");
        }
        assert!(!third.contains("pulling "), "{third}");
    }
}

mod host {
    use super::*;

    /// Runs a step where it may mount.
    fn step(flags: &[&str], dir: &Path, verb: &str, argument: &str) -> Output {
        let script = source("tests/it/ignition/node-image.sh");
        let mut command = Command::new("unshare");
        command.args(flags).arg("bash").arg(script).arg(verb).arg(dir).arg(argument);
        command.output().unwrap()
    }

    fn told(output: Output) -> String {
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The units as systemd reads them, beside stand-ins for those of the boot image.
    #[test]
    fn systemd_accepts_the_units() {
        let ws = later();
        let from = ws.path_of("bootstrap-config/node-image");
        let root = ws.temp().join("root");
        let put = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            let program = text.starts_with("#!");
            crate::harness::set_mode(&path, if program { 0o755 } else { 0o644 });
        };
        let is_unit = |name: &String| {
            name.ends_with(".service") || name.ends_with(".target") || name.ends_with(".mount")
        };
        let units: Vec<String> = crate::harness::list(&from).into_iter().filter(is_unit).collect();
        assert_eq!(units.len(), 5, "{units:?}");
        for name in &units {
            put(&format!("etc/systemd/system/{name}"), &fs::read_to_string(from.join(name)).unwrap());
        }
        for name in ["basic", "getty", "multi-user", "network", "sysinit"] {
            put(&format!("usr/lib/systemd/system/{name}.target"), "[Unit]\nDescription=Stands in\n");
        }
        for name in ["NetworkManager", "sshd", "systemd-user-sessions"] {
            put(
                &format!("usr/lib/systemd/system/{name}.service"),
                "[Service]\nExecStart=/usr/bin/systemctl\n",
            );
        }
        put(
            "usr/lib/systemd/system/run-ephemeral.mount",
            "[Mount]\nWhat=tmpfs\nWhere=/run/ephemeral\nType=tmpfs\n",
        );
        for program in [
            "usr/bin/chcon",
            "usr/bin/systemctl",
            "usr/local/bin/node-image-pull.sh",
            "usr/local/bin/node-image-overlay.sh",
        ] {
            put(program, "#!/bin/sh\n");
        }
        let verify = || {
            let mut command = Command::new("systemd-analyze");
            command
                .args(["verify", "--man=no", "--recursive-errors=no"])
                .arg(format!("--root={}", root.display()));
            command.args(&units).output()
        };
        match verify() {
            Err(error) => return left_out("units of the node image", &format!("Debian's systemd: {error}")),
            Ok(output) => {
                let said = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success() && said.is_empty(), "{said}");
            }
        }
        // It does look.
        put(
            "etc/systemd/system/node-image-pull.service",
            "[Service]\nType=onshot\nExecStart=/usr/local/bin/none\n",
        );
        assert!(!verify().unwrap().status.success());
    }

    /// With Debian's ostree, rsync and mounts: what Ignition wrote stays, the rest is the node image's; a registry that does
    /// not answer, a reboot half-way and one afterwards do no harm.
    #[test]
    fn the_node_image_is_laid_over_the_boot_image() {
        let Some(flags) = in_mount_namespace("the node image's overlay") else { return };
        for program in ["ostree", "rsync"] {
            if Command::new(program).arg("--version").output().is_err() {
                return left_out("the node image's overlay", &format!("Debian's {program}"));
            }
        }
        let ws = later();
        let scripts = ws.path_of("bootstrap-config/node-image");
        let image = fs::read_to_string(scripts.join("node-image-pull.sh")).unwrap();
        let image =
            image.lines().find_map(|line| line.strip_prefix("image='")).unwrap().trim_end_matches('\'');
        // On a disk: ostree wants a file system with hard links and attributes.
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path();
        told(step(&flags, dir, "make", image));
        // An earlier boot ended in the middle of its checkout, and the registry does not answer at first.
        fs::create_dir_all(dir.join("root/ostree/repo/tmp/node-image/usr/bin")).unwrap();
        fs::create_dir_all(dir.join("root/ostree/repo/tmp/node-image.new/usr")).unwrap();
        fs::write(dir.join("registry-is-down"), "").unwrap();
        let scripts = scripts.to_str().unwrap();
        let seen = told(step(&flags, dir, "boot", scripts));
        insta::assert_snapshot!(seen, @r"
        etc/both/edited:ours
        etc/both/untouched:node image
        etc/crio/crio.conf.d/00-default:node image
        etc/crio/crio.conf.d/00-pause-image:ours
        etc/kubernetes/kubelet.conf:ours
        usr/bin/kubelet:node image
        ../../../../../../opt:

        usr/lib/modules:
        1.0
        ");
        let log = fs::read_to_string(dir.join("log")).unwrap();
        assert!(log.contains("the registry does not answer\ntrying again in 0.1 s\n"), "{log}");
        // A reboot: nothing is pulled again, and what was edited since stays.
        fs::write(dir.join("deployment/etc/both/untouched"), "by hand\n").unwrap();
        let again = told(step(&flags, dir, "boot", scripts));
        assert_eq!(again, seen.replace("untouched:node image", "untouched:by hand"));
        let pulled = fs::read_to_string(dir.join("pulled")).unwrap();
        assert_eq!(pulled, format!("ostree-unverified-image:docker://{image}\n"));
    }
}
