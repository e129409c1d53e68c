//! Keyfiles, read by the code that reads them on the node: NetworkManager's own library.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{DIRECTORY, bonded};
use crate::harness::left_out;

/// Reads each keyfile as NetworkManager does, and prints everything that it says about it.
const READER: &str = r#"
import sys, gi
gi.require_version("NM", "1.0")
from gi.repository import NM, GLib
for path in sys.argv[1:]:
    file = GLib.KeyFile()
    file.load_from_file(path, GLib.KeyFileFlags.NONE)
    said = []
    def handler(file, connection, kind, data, *rest):
        said.append(data.get_message() if kind == NM.KeyfileHandlerType.WARN else "")
        return False
    connection = NM.keyfile_read(file, "/", NM.KeyfileHandlerFlags.NONE, handler)
    connection.normalize()
    connection.verify()
    print(connection.get_id(), connection.get_connection_type(), connection.get_interface_name(), *filter(None, said))
"#;

/// The system's own interpreter: the library's bindings are a Debian package.
const PYTHON: &str = "/usr/bin/python3";

#[test]
fn network_manager_reads_the_keyfiles() {
    let bindings = Command::new(PYTHON).args(["-c", "import gi; gi.require_version('NM', '1.0')"]).output();
    if !bindings.is_ok_and(|output| output.status.success()) {
        return left_out("keyfiles read by NetworkManager's library", "gir1.2-nm-1.0 and python3-gi");
    }
    let ws = bonded();
    let read = |node: &str| {
        let tree = ws.path_of(&format!("ignition/{node}")).join("tree").join(DIRECTORY);
        let mut files: Vec<_> = fs::read_dir(&tree).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        said(&files.iter().map(|path| path.as_path()).collect::<Vec<&Path>>())
    };
    ws.build(&["ignition"]);
    insta::assert_snapshot!(read("worker-0"), @r"
    bond0.126 vlan bond0.126
    bond0 bond bond0
    eno1 802-3-ethernet None
    eno2 802-3-ethernet None
    ");
    insta::assert_snapshot!(read("master-0"), @"tinderbox 802-3-ethernet None");
}

fn said(files: &[&Path]) -> String {
    let output = Command::new(PYTHON).args(["-c", READER]).args(files).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
