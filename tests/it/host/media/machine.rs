//! A machine of somebody's own: qemu without libvirt, with an empty disk, a port of the segment, and perhaps a medium.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::Segment;

/// How long a machine may take, emulated on a busy host.
const LIMIT: Duration = Duration::from_secs(600);

pub(crate) struct Machine {
    child: Child,
    /// Everything that it wrote to its console.
    console: PathBuf,
    disk: PathBuf,
}

impl Machine {
    /// Switches one on. It boots from its disk, else from the medium, else from the network.
    pub(crate) fn start(
        segment: &Segment,
        dir: &Path,
        name: &str,
        macs: &[&str],
        medium: Option<&Path>,
    ) -> Self {
        let (console, disk) = (dir.join(format!("{name}.log")), dir.join(format!("{name}.raw")));
        fs::File::create(&disk).unwrap().set_len(1_000_000_000).unwrap();
        let mut command = segment.enter("qemu-system-x86_64");
        command.args(["-M", "pc,accel=tcg", "-cpu", "max", "-m", "768", "-nographic", "-monitor", "none"]);
        command.args(["-nodefaults", "-device", "virtio-rng-pci"]);
        let log = console.display();
        command.args(["-chardev", &format!("stdio,id=console,signal=off,logfile={log}")]);
        command.args(["-serial", "chardev:console"]);
        command.args(["-drive", &format!("if=none,id=disk,format=raw,file={}", disk.display())]);
        command.args(["-device", "virtio-blk-pci,drive=disk,bootindex=1"]);
        if let Some(medium) = medium {
            let drive =
                format!("if=none,id=medium,format=raw,readonly=on,media=cdrom,file={}", medium.display());
            command.args(["-drive", &drive, "-device", "ide-cd,drive=medium,bootindex=2"]);
        }
        for (number, mac) in macs.iter().enumerate() {
            let tap = format!("{}-{number}", name.get(..10).unwrap_or(name));
            segment.tap(&tap);
            command.args(["-netdev", &format!("tap,id=port{number},ifname={tap},script=no,downscript=no")]);
            let boot =
                if medium.is_some() { "romfile=".to_owned() } else { format!("bootindex={}", 3 + number) };
            command.args(["-device", &format!("virtio-net-pci,netdev=port{number},mac={mac},{boot}")]);
        }
        let child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        Self { child, console, disk }
    }

    /// Everything that it wrote to its console so far.
    pub(crate) fn said(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.console).unwrap_or_default()).into_owned()
    }

    /// Waits until its console has this.
    pub(crate) fn wait(&mut self, text: &str) {
        let end = Instant::now() + LIMIT;
        while !self.said().contains(text) {
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none() && Instant::now() < end, "no `{text}` ({ended:?}):\n{}", self.said());
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Types on its console.
    pub(crate) fn enter(&mut self, text: &str) {
        let keyboard = self.child.stdin.as_mut().unwrap();
        keyboard.write_all(text.as_bytes()).unwrap();
        keyboard.flush().unwrap();
    }

    /// Switches it off. Its disk.
    pub(crate) fn stop(mut self) -> PathBuf {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.disk.clone()
    }

    /// Whether nothing was ever written to its disk.
    pub(crate) fn is_blank(&self) -> bool {
        fs::metadata(&self.disk).unwrap().blocks() == 0
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
