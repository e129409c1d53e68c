//! `lock --fetch` and what comes after it.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use regex::Regex;

use super::{content, gzip, serve, server};
use crate::harness::{Workspace, in_mount_namespace, list, tamper};
use crate::registry::server::{Answer, Server};
use crate::store::script;
use tinderbox::internals::registry::Sha256;

/// The example, whose lock pins these images of a release, at a mirror.
pub(super) fn with_images(
    ws: Workspace,
    mirror: &str,
    iso: &[u8],
    qcow2: &[u8],
    unpacked: &[u8],
) -> Workspace {
    let lock = fs::read_to_string(ws.dir.join("cluster.lock")).unwrap();
    ws.write(
        "cluster.lock",
        &format!(
            "{lock}[rhcos.iso]\nlocation = \"https://demo.invalid/x/live.iso\"\nsha256 = \"{}\"\n\
             [rhcos.qcow2]\nlocation = \"https://demo.invalid/x/disk.qcow2.gz\"\nsha256 = \"{}\"\n\
             uncompressed-sha256 = \"{}\"\n",
            Sha256::of(iso).hex(),
            Sha256::of(qcow2).hex(),
            Sha256::of(unpacked).hex()
        ),
    );
    let text = fs::read_to_string(ws.dir.join("cluster.yaml")).unwrap();
    ws.write("cluster.yaml", &format!("{text}\nrhcos: {{mirror: '{mirror}'}}\n"));
    ws
}

/// A mirror of both images.
fn mirror(iso: Vec<u8>, qcow2: Vec<u8>) -> Server {
    server(move |request, _| match request.line.rsplit('/').next() {
        Some("live.iso") => serve(request, &iso),
        Some("disk.qcow2.gz") => serve(request, &qcow2),
        _ => Answer::status(404),
    })
}

fn lock(ws: &Workspace) -> String {
    fs::read_to_string(ws.dir.join("cluster.lock")).unwrap()
}

#[test]
fn lock_fetches_both_images_from_a_mirror() {
    let (iso, disk) = (b"not a live ISO".to_vec(), content());
    let packed = gzip(&disk);
    let server = mirror(iso.clone(), packed.clone());
    let url = format!("http://{}/rhcos", server.address);
    let ws = with_images(Workspace::example().prebuilt(), &url, &iso, &packed, &disk);
    // Until somebody asks, nothing changes: not even what a lock with more in it builds.
    assert_eq!(ws.build(&["infra/master-0"]), ["infra/master-0"; 1]);
    let before = ws.path_of("infra/master-0");
    insta::assert_snapshot!(ws.run(&["build", "iso/master-0"]), @r"
    [stderr]
    error: there is no `iso/master-0` here: its recipe asks for `lock.rhcos.iso.local`
    hint: `tinderbox lock --fetch` downloads https://demo.invalid/x/live.iso; or set `rhcos` to your own copy of it, and run `tinderbox lock --update rhcos`
    [exit 1]
    ");
    let done = ws.json(&["lock", "--fetch"]);
    let path = |at: usize| done["fetched"][at]["path"].as_str().unwrap().to_owned();
    assert_eq!(fs::read(path(0)).unwrap(), iso);
    assert_eq!(fs::read(path(1)).unwrap(), disk);
    assert_eq!(lock(&ws).matches("fetch = true").count(), 2, "{}", lock(&ws));
    assert_eq!((server.count("live.iso"), server.count("disk.qcow2.gz")), (1, 1));
    let again = ws.run(&["lock", "--fetch", "qcow2"]);
    assert!(again.contains("already there") && !again.contains("iso:"), "{again}");

    // Now machines begin as the QEMU image: by the content's digest, as with a file of the user's own.
    ws.build(&["infra/master-0"]);
    let after = ws.path_of("infra/master-0");
    assert_ne!(before, after);
    let own = Workspace::example().prebuilt();
    let text = fs::read_to_string(own.dir.join("cluster.yaml")).unwrap();
    own.write("cluster.yaml", &format!("{text}\nrhcos: {{qcow2: my.qcow2, iso: my.iso}}\n"));
    fs::write(own.dir.join("my.qcow2"), &disk).unwrap();
    fs::write(own.dir.join("my.iso"), &iso).unwrap();
    own.json(&["lock", "--update", "rhcos"]);
    own.build(&["infra/master-0"]);
    assert_eq!(own.path_of("infra/master-0").file_name(), after.file_name());
    // The ISO is found, and judged.
    let said = ws.run(&["build", "iso/master-0"]);
    assert!(said.contains("not an ISO 9660 image") || said.contains(".tinderbox/downloads/"), "{said}");

    // Pinning again without fetching goes back; another release keeps the wish.
    ws.json(&["lock", "--update", "release"]);
    assert_eq!(lock(&ws).matches("fetch = true").count(), 2, "{}", lock(&ws));
    ws.json(&["lock", "--update", "rhcos"]);
    assert_eq!(lock(&ws).matches("fetch = true").count(), 0, "{}", lock(&ws));
}

#[test]
fn gc_verify_and_repair_see_downloads() {
    let (iso, disk) = (b"not a live ISO".to_vec(), content());
    let packed = gzip(&disk);
    let server = mirror(iso.clone(), packed.clone());
    let url = format!("http://{}/rhcos", server.address);
    let ws = with_images(Workspace::example().prebuilt(), &url, &iso, &packed, &disk);
    ws.json(&["lock", "--fetch"]);
    assert_eq!(ws.json(&["store", "du"])["downloads"], 2);
    let said = ws.run(&["store", "du"]);
    assert!(said.contains("2 downloads: 586.0 KiB more"), "{said}");
    ws.json(&["store", "gc"]);
    assert_eq!(list(&ws.part("downloads")).len(), 2, "the lock names them");
    // A damaged one is named and removed, and a build of what needs it says what to do.
    tamper(&ws.part("downloads").join(Sha256::of(&iso).hex()), |bytes| bytes.push(b'!'));
    let said = ws.run(&["store", "verify"]);
    let name = Sha256::of(&iso).hex();
    assert!(
        said.contains(&format!("bad [STORE]/.tinderbox/downloads/{name}: its content does not match")),
        "{said}"
    );
    let said = ws.run(&["build", "iso/master-0"]);
    assert!(said.contains("hint: the download is damaged: `tinderbox lock --fetch` gets it again"), "{said}");
    let said = ws.run(&["store", "repair"]);
    assert!(
        said.contains(&format!("lost: the download {name}: `tinderbox lock --fetch` gets it again")),
        "{said}"
    );
    ws.assert_sound();
    let said = ws.run(&["build", "iso/master-0"]);
    assert!(
        said.contains("is not on this machine") && said.contains("`tinderbox lock --fetch` downloads"),
        "{said}"
    );
    ws.json(&["lock", "--fetch", "iso"]);
    // What the lock no longer names goes.
    ws.json(&["lock", "--update", "rhcos"]);
    ws.build(&["infra/pool"]);
    let plan = ws.json(&["store", "gc"]);
    assert_eq!(plan["downloads"].as_array().unwrap().len(), 2, "{plan}");
    assert!(list(&ws.part("downloads")).is_empty());
}

#[test]
fn killed_in_the_middle_it_continues() {
    ended_in_the_middle(false);
}

#[test]
fn interrupted_in_the_middle_it_continues() {
    ended_in_the_middle(true);
}

fn ended_in_the_middle(interrupted: bool) {
    let (iso, disk) = (content(), content());
    let packed = gzip(&disk);
    let body = iso.clone();
    let server = server(move |request, before| {
        let drip = (before == 0).then_some((300_000, Duration::from_secs(60)));
        Answer { drip, ..serve(request, &body) }
    });
    let ws = with_images(Workspace::example(), &format!("http://{}/", server.address), &iso, &packed, &disk);
    let mut running = ws.command(&["lock", "--fetch", "iso"]).stderr(Stdio::null()).spawn().unwrap();
    let part = ws.part("downloads").join(format!("{}.part", Sha256::of(&iso).hex()));
    let end = Instant::now() + Duration::from_secs(60);
    while fs::metadata(&part).map_or(0, |found| found.len()) < 300_000 {
        assert!(Instant::now() < end, "nothing comes");
        std::thread::sleep(Duration::from_millis(5));
    }
    if interrupted {
        let pid = rustix::process::Pid::from_child(&running);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        assert_eq!(running.wait().unwrap().code(), Some(130));
    } else {
        running.kill().unwrap();
        running.wait().unwrap();
    }
    assert!(!lock(&ws).contains("fetch"), "it is not there yet");
    // gc keeps what was begun.
    ws.json(&["store", "gc"]);
    let done = ws.json(&["lock", "--fetch", "iso"]);
    assert_eq!(fs::read(done["fetched"][0]["path"].as_str().unwrap()).unwrap(), iso);
    let log = server.log.lock().unwrap();
    assert_eq!(log[1].header("range"), Some("bytes=300000-"));
    assert_eq!(log.len(), 2);
}

#[test]
fn no_room() {
    let Some(flags) = in_mount_namespace("a full disk") else { return };
    let (iso, disk) = (content()[1..].to_vec(), content());
    let packed = gzip(&disk);
    let server = mirror(iso.clone(), packed.clone());
    let url = format!("http://{}/rhcos", server.address);
    let ws = with_images(Workspace::example(), &url, &iso, &packed, &disk);
    fs::create_dir(&ws.store).unwrap();
    let text = script(
        &ws,
        &flags,
        "mount -t tmpfs -o size=4m,mode=755 tinderbox $S
         $T store ls >/dev/null 2>&1
         head -c 3700k /dev/zero > $S/filler
         $T lock --fetch iso; echo full: $?
         grep -c fetch cluster.lock
         $T lock --fetch qcow2; echo unpacking: $?
         ls $S/.tinderbox/downloads | cut -d. -f2
         rm $S/filler
         $T lock --fetch -q; echo room: $?
         $T store verify; echo verify: $?",
    );
    let room = Regex::new("room for 0.[0-9] MB").unwrap();
    let text = room.replace(&text.replace(&server.address, "[SERVER]"), "room for [ROOM]").into_owned();
    insta::assert_snapshot!(text, @r"
    full: 1
    0
    unpacking: 1
    part
    part
    iso: [STORE]/.tinderbox/downloads/fb248a8b91346bdfcad60b689cdf06da53b0753a3572c1a844fd41edcfe82b64 (585.9 KiB)
    qcow2: [STORE]/.tinderbox/downloads/a9fb6f65227385634020db1aea63f79b2f34f1e645de87c74294b6fe43d4479d (585.9 KiB)
    room: 0
    0 objects, 2 files, 1.1 MiB: all sound
    verify: 0
    [stderr]
    error: `http://[SERVER]/rhcos/live.iso` has 0.6 MB left to download, and `[STORE]/.tinderbox/downloads` has room for [ROOM]
    hint: free some space (`tinderbox store gc`), or use `--store DIR` on another file system
    downloading disk.qcow2.gz: 0 B of 61.4 KiB
    unpacking disk.qcow2.gz: 0 B
    error: cannot write `[STORE]/.tinderbox/downloads/6334ad5c812332d2136cdd37b693fec07557ba6478b23f386ec6fc7d5fb81eb5.unpacking`
    caused by: No space left on device (os error 28)
    hint: the disk is full: free some space (`tinderbox store gc`), or use `--store DIR` on another file system
    [exit 0]
    ");
}

#[test]
fn mistakes_are_named() {
    let ws = Workspace::example();
    insta::assert_snapshot!(ws.run(&["lock", "--fetch", "vmdk"]), @r"
    [stderr]
    error: invalid value 'vmdk' for '--fetch [<IMAGE>]'
      [possible values: iso, qcow2, pxe, all]
    For more information, try '--help'.
    [exit 2]
    ");
    ws.relock();
    let mirror = |url: &str| format!("release: demo:4.18\nrhcos: {{mirror: '{url}'}}");
    let empty = format!("file://{}", ws.temp().join("empty").display());
    ws.edit("cluster.yaml", "release: demo:4.18", &mirror(&empty));
    insta::assert_snapshot!(ws.run(&["lock", "-q", "--fetch", "iso"]), @r"
    [stderr]
    error: `file://[TEMP]/empty/rhcos-418.94.202501010000-0-live-iso.x86_64.iso` does not exist
    hint: a mirror has files under their publisher's names; `rhcos: {mirror: URL}` in cluster.yaml names a mirror, `rhcos: {iso: FILE, qcow2: FILE}` your own copies
    [exit 1]
    ");
    ws.edit("cluster.yaml", &mirror(&empty), &mirror("https://me:x@mirror/"));
    insta::assert_snapshot!(ws.run(&["lock", "--fetch"]), @r"
    [stderr]
    error: 1 problem:
    cluster.yaml:7: rhcos.mirror: this is not the URL of a directory without credentials
      hint: for example: https://mirror.example.com/rhcos/
    [exit 1]
    ");
}
