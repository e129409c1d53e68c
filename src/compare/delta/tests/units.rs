//! Units and environment files.

use super::diff;

const UNIT: &str = "\
[Unit]
Description=Kubelet
After=network.target crio.service
[Service]
Environment=\"A=1\" B=2
ExecStartPre=/bin/mkdir -p /a
ExecStartPre=/bin/rm -f /b
ExecStart=/usr/bin/kubelet \\
  --config=/etc/kubelet.conf \\
  # a comment
  --v=2
Restart=always
[Install]
WantedBy=multi-user.target
";

#[test]
fn units_by_section_and_key() {
    let new = UNIT
        .replace("crio.service", "crio.socket")
        .replace("A=1", "A=one")
        .replace("--v=2", "--v=4 --node-ip=${IP}")
        .replace("rm -f /b", "rm -rf /b")
        .replace("Restart=always\n", "RestartSec=10\n");
    insta::assert_snapshot!(diff("kubelet.service", UNIT, &new), @r"
    environment: Service / Environment / A: 1 -> one
    flag: Service / ExecStart / --node-ip: + ${IP}
    flag: Service / ExecStart / --v: 2 -> 4
    flag: Service / ExecStartPre / 1 / -f: - /b
    flag: Service / ExecStartPre / 1 / -rf: + /b
    unit: Service / Restart: - always
    unit: Service / RestartSec: + 10
    unit: Unit / After / crio.service: - crio.service
    unit: Unit / After / crio.socket: + crio.socket
    ");
}

#[test]
fn comments_layout_and_order_of_keys_do_not_count() {
    let new = "[Install]\nWantedBy = multi-user.target\n\n[Service]\n# x\nRestart=always\nExecStartPre=/bin/mkdir -p /a\nExecStartPre=/bin/rm -f /b\nExecStart=/usr/bin/kubelet --v=2 --config=/etc/kubelet.conf\nEnvironment=A=1\nEnvironment=B=2\n[Unit]\nAfter=crio.service\nAfter=network.target\nDescription=Kubelet\n";
    assert_eq!(diff("kubelet.service", UNIT, new), "(none)");
}

#[test]
fn the_order_of_commands_counts() {
    let new = UNIT.replace(
        "ExecStartPre=/bin/mkdir -p /a\nExecStartPre=/bin/rm -f /b\n",
        "ExecStartPre=/bin/rm -f /b\nExecStartPre=/bin/mkdir -p /a\n",
    );
    insta::assert_snapshot!(diff("kubelet.service", UNIT, &new), @"unit: Service / ExecStartPre: /bin/mkdir -p /a⏎/bin/rm -f /b -> /bin/rm -f /b⏎/bin/mkdir -p /a");
}

#[test]
fn drop_ins_are_units_and_what_is_none_is_text() {
    insta::assert_snapshot!(diff("/etc/systemd/system/a.service.d/10-x.conf", "[Service]\nEnvironment=A=b\n", "[Service]\nExecStart=\nExecStart=/bin/x\n"), @r"
    environment: Service / Environment / A: - b
    unit: Service / ExecStart / 0: + 
    unit: Service / ExecStart / 1: + /bin/x
    ");
    insta::assert_snapshot!(diff("a.service", "[Service]\nRestart=no\n", "[Service\nRestart=no\n"), @r"
    text: : 
      @@ -1 +1 @@
      -[Service]
      +[Service
       Restart=no [compared as text: not a valid unit]
    ");
    insta::assert_snapshot!(diff("crio.conf", "[crio.runtime]\na_b = \"x\"\n", "[crio.runtime]\na_b = \"y\"\n"), @r#"
    text: : 
      @@ -1 +1 @@
       [crio.runtime]
      -a_b = "x"
      +a_b = "y"
    "#);
}

#[test]
fn environment_files_by_key() {
    let old = "# proxy\nHTTP_PROXY=http://a:3128\nNO_PROXY=\"a,b\"\nexport GONE=1\nDB_PASSWORD=hunter2\n";
    let new = "NO_PROXY='a,b,c'\n\nHTTP_PROXY=http://a:3128\nCOME=\nDB_PASSWORD=hunter3\n";
    insta::assert_snapshot!(diff("/etc/mco/proxy.env", old, new), @r"
    environment: COME: + 
    environment: DB_PASSWORD: (secret) -> (secret)
    environment: GONE: - 1
    environment: NO_PROXY: a,b -> a,b,c
    ");
    assert_eq!(diff("proxy.env", "A=1\nB=2\n", "# x\nB=2\nA=\"1\"\n"), "(none)");
    insta::assert_snapshot!(diff("a.sh", "A=1\n", "A=2\n"), @r"
    text: : 
      @@ -1 +1 @@
      -A=1
      +A=2
    ");
}
