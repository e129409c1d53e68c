//! Boot images into the store: from servers that break off, lie, drip, grow and ignore what they are asked; and the program
//! that is killed, has no room, or is not alone.

mod host;
mod https;
mod program;

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use tinderbox::internals::download::{DownloadError, Downloader, Fetched, Wanted};
use tinderbox::internals::event::{Event, Events};
use tinderbox::internals::hint::Hint as _;
use tinderbox::internals::registry::{Access, Patience, ProxySettings, Remote, Sha256};
use tinderbox::internals::store::Store;

use crate::harness::{list, mode};
use crate::registry::sample::Sample;
use crate::registry::server::{Answer, Request, Server, hasty};

/// The file that everybody wants: not zeros, and larger than what counts as progress.
pub(crate) fn content() -> Vec<u8> {
    (0u32..600_000).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

/// As a good server: Range included.
pub(crate) fn serve(request: &Request, bytes: &[u8]) -> Answer {
    let Some(range) = request.header("range") else {
        return Answer { body: bytes.to_vec(), ..Answer::status(200) };
    };
    let from: usize = range.trim_start_matches("bytes=").trim_end_matches('-').parse().unwrap();
    if from >= bytes.len() {
        return Answer::status(416);
    }
    let range = format!("bytes {from}-{}/{}", bytes.len() - 1, bytes.len());
    Answer { body: bytes[from..].to_vec(), ..Answer::status(206) }.with("Content-Range", range)
}

/// A server of files, whose rule sees each request and how many came before.
pub(crate) fn server(rule: impl Fn(&Request, usize) -> Answer + Send + Sync + 'static) -> Server {
    Server::with(&Sample::new(), move |request, before| Some(rule(request, before)))
}

/// What was told.
#[derive(Default)]
struct Told(Mutex<Vec<Event>>);

impl Events for Told {
    fn emit(&self, event: Event) {
        self.0.lock().unwrap().push(event);
    }
}

/// A store of its own, and a way to it.
struct Place {
    temp: tempfile::TempDir,
    store: Store,
    cancel: AtomicBool,
    told: Told,
}

impl Place {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(&temp.path().join("store")).unwrap();
        Self { temp, store, cancel: AtomicBool::new(false), told: Told::default() }
    }

    fn fetch(&self, wanted: &Wanted) -> Result<Fetched, DownloadError> {
        self.fetch_with(wanted, Access { patience: hasty(), ..Access::default() })
    }

    fn fetch_with(&self, wanted: &Wanted, access: Access) -> Result<Fetched, DownloadError> {
        let remote = Remote::new(access).unwrap();
        let (store, events, cancel) = (&self.store, &self.told, &self.cancel);
        Downloader { store, remote: &remote, events, cancel }.fetch(wanted)
    }

    fn downloads(&self) -> PathBuf {
        self.store.root().join(".tinderbox/downloads")
    }

    /// The files there, with their suffixes only.
    fn suffixes(&self) -> BTreeSet<String> {
        list(&self.downloads()).into_iter().map(|name| name[64..].to_owned()).collect()
    }
}

fn wanted(server: &Server, name: &str, bytes: &[u8]) -> Wanted {
    let url = format!("http://{}/images/{name}", server.address);
    Wanted { name: name.to_owned(), url, sha256: Sha256::of(bytes), unpacked: None }
}

fn ranges(server: &Server) -> Vec<Option<String>> {
    server.log.lock().unwrap().iter().map(|request| request.header("range").map(str::to_owned)).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut writer = GzEncoder::new(Vec::new(), Compression::fast());
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap()
}

#[test]
fn a_file_is_downloaded_once() {
    let (place, bytes) = (Place::new(), content());
    let body = bytes.clone();
    let server = server(move |request, _| serve(request, &body));
    let wanted = wanted(&server, "disk.img", &bytes);
    let done = place.fetch(&wanted).unwrap();
    assert_eq!(done.path, place.downloads().join(wanted.sha256.hex()));
    assert_eq!((done.sha256, done.bytes, done.cached), (wanted.sha256, bytes.len() as u64, false));
    assert_eq!((fs::read(&done.path).unwrap(), mode(&done.path)), (bytes.clone(), 0o444));
    assert_eq!(place.suffixes(), BTreeSet::from([String::new()]));
    assert!(
        list(&place.store.root().join(".tinderbox/locks")).iter().all(|name| !name.starts_with("download"))
    );
    let told = place.told.0.lock().unwrap();
    assert!(matches!(told.first(), Some(Event::Fetching { bytes: 0, total: Some(600_000), .. })), "{told:?}");
    assert!(matches!(told.last(), Some(Event::Fetched { bytes: 600_000, .. })), "{told:?}");
    drop(told);
    assert!(place.fetch(&wanted).unwrap().cached);
    assert_eq!(server.count("/images/"), 1);
    // One that is damaged is downloaded again.
    crate::harness::tamper(&done.path, |bytes| bytes[7] ^= 1);
    assert!(!place.fetch(&wanted).unwrap().cached);
    assert_eq!(fs::read(&done.path).unwrap(), bytes);
    assert_eq!(server.count("/images/"), 2);
}

#[test]
fn a_connection_that_breaks_is_resumed_where_it_broke() {
    let (place, bytes) = (Place::new(), content());
    let body = bytes.clone();
    let server = server(move |request, before| match before {
        0..3 => Answer { stop: Some(100_000), ..serve(request, &body) },
        3 => Answer::status(503),
        _ => serve(request, &body),
    });
    let done = place.fetch(&wanted(&server, "disk.img", &bytes)).unwrap();
    assert_eq!(fs::read(done.path).unwrap(), bytes);
    let ranges = ranges(&server);
    assert_eq!(ranges.len(), 5);
    assert!(ranges[0].is_none() && ranges[1..].iter().all(Option::is_some), "{ranges:?}");
    assert_eq!(ranges[3], ranges[4]);
}

#[test]
fn what_came_is_kept_when_a_server_gives_up() {
    let (place, bytes) = (Place::new(), content());
    let body = bytes.clone();
    let broken = server(move |request, before| match before {
        0 => Answer { stop: Some(200_000), ..serve(request, &body) },
        _ => Answer { stop: Some(0), ..serve(request, &body) },
    });
    let asked = wanted(&broken, "disk.img", &bytes);
    let error = place.fetch(&asked).unwrap_err();
    assert!(matches!(&error, DownloadError::Broken { at: 200_000, .. }), "{error}");
    assert!(error.to_string().contains("broke off after 200000 bytes"), "{error}");
    assert!(error.hint().unwrap().contains("continues from there"));
    assert_eq!(broken.count("/images/"), 4, "three more tries after there was progress");
    assert_eq!(place.suffixes(), BTreeSet::from([".part".to_owned()]));
    // The next attempt asks for the rest only, wherever it is.
    let body = bytes.clone();
    let good = server(move |request, _| serve(request, &body));
    let done = place.fetch(&wanted(&good, "disk.img", &bytes)).unwrap();
    assert_eq!(fs::read(done.path).unwrap(), bytes);
    assert_eq!(ranges(&good), [Some("bytes=200000-".to_owned())]);
}

/// A part that is already complete needs no server at all: the last process died before it could rename it.
#[test]
fn a_complete_part_is_enough() {
    let (place, bytes) = (Place::new(), content());
    let server = server(|_, _| Answer::status(500));
    let wanted = wanted(&server, "disk.img", &bytes);
    fs::create_dir_all(place.downloads()).unwrap();
    fs::write(place.downloads().join(format!("{}.part", wanted.sha256.hex())), &bytes).unwrap();
    assert_eq!(fs::read(place.fetch(&wanted).unwrap().path).unwrap(), bytes);
    assert_eq!(server.count("/images/"), 0);
}

#[test]
fn a_server_may_ignore_ranges() {
    let (place, bytes) = (Place::new(), content());
    let body = bytes.clone();
    let server = server(move |_, before| {
        let answer = Answer { body: body.clone(), ..Answer::status(200) };
        if before == 0 { Answer { stop: Some(300_000), ..answer } } else { answer }
    });
    let done = place.fetch(&wanted(&server, "disk.img", &bytes)).unwrap();
    assert_eq!(fs::read(done.path).unwrap(), bytes);
}

#[test]
fn a_beginning_of_something_else_starts_over() {
    // Shorter than the file, as long, and longer.
    for length in [1000, 600_000, 700_000] {
        let (place, bytes) = (Place::new(), content());
        let body = bytes.clone();
        let server = server(move |request, _| serve(request, &body));
        let wanted = wanted(&server, "disk.img", &bytes);
        fs::create_dir_all(place.downloads()).unwrap();
        fs::write(place.downloads().join(format!("{}.part", wanted.sha256.hex())), vec![b'x'; length])
            .unwrap();
        let done = place.fetch(&wanted).unwrap();
        assert_eq!(fs::read(done.path).unwrap(), bytes, "{length}");
    }
}

#[test]
fn a_wrong_digest_leaves_nothing() {
    let (place, bytes) = (Place::new(), content());
    let server = server(|request, _| serve(request, &vec![b'x'; 600_000]));
    let error = place.fetch(&wanted(&server, "disk.img", &bytes)).unwrap_err();
    assert!(matches!(&error, DownloadError::Mismatch { .. }), "{error}");
    assert!(error.to_string().contains(&Sha256::of(&bytes).hex()), "{error}");
    assert!(error.hint().unwrap().contains("mirror"));
    assert!(list(&place.downloads()).is_empty());
    assert_eq!(server.count("/images/"), 1, "another try would bring the same");
}

#[test]
fn more_than_was_announced_is_refused() {
    let (place, bytes) = (Place::new(), content());
    let body = bytes.clone();
    let liar = server(move |request, before| {
        if before == 0 {
            return Answer { stop: Some(100_000), ..serve(request, &body) };
        }
        let range = "bytes 100000-100009/100010";
        Answer { body: body[100_000..].to_vec(), ..Answer::status(206) }.with("Content-Range", range)
    });
    let error = place.fetch(&wanted(&liar, "disk.img", &bytes)).unwrap_err();
    assert!(matches!(&error, DownloadError::TooLarge { limit: 100_010, .. }), "{error}");
    assert!(list(&place.downloads()).is_empty());

    // Nothing is read of what can be no image at all.
    let huge = server(|_, _| Answer { announced: Some(1 << 50), body: vec![0; 10], ..Answer::status(200) });
    let error = place.fetch(&wanted(&huge, "disk.img", &bytes)).unwrap_err();
    assert!(matches!(&error, DownloadError::TooLarge { .. }), "{error}");
    assert_eq!(huge.count("/images/"), 1);
    let full = server(|_, _| Answer { announced: Some(16 << 30), body: vec![0; 10], ..Answer::status(200) });
    if let Err(error @ DownloadError::NoRoom { .. }) = place.fetch(&wanted(&full, "disk.img", &bytes)) {
        assert!(error.hint().unwrap().contains("store gc")); // unless this machine has that much room
    }
}

#[test]
fn a_server_that_drips_is_given_up() {
    let (place, bytes) = (Place::new(), content());
    let body = bytes.clone();
    let server = server(move |request, _| {
        let drip = Some((10, Duration::from_millis(20)));
        Answer { drip, ..serve(request, &body) }
    });
    let patience = Patience { pace_window: Duration::from_millis(400), lowest_pace: 100_000, ..hasty() };
    let began = Instant::now();
    let access = Access { patience, ..Access::default() };
    let error = place.fetch_with(&wanted(&server, "disk.img", &bytes), access).unwrap_err();
    assert!(error.to_string().contains("broke off"), "{error}");
    assert!(tinderbox::internals::hint::chain(&error).contains("which is too slow"), "{error}");
    assert!(error.hint().unwrap().contains("mirror"));
    assert!(began.elapsed() < Duration::from_secs(10));
    assert_eq!(place.suffixes(), BTreeSet::from([".part".to_owned()]));
}

#[test]
fn a_cancellation_is_prompt_and_keeps_what_came() {
    let (place, bytes) = (Place::new(), content());
    let body = bytes.clone();
    // After the first half, the server is silent.
    let server = server(move |request, _| {
        let drip = Some((300_000, Duration::from_secs(60)));
        Answer { drip, ..serve(request, &body) }
    });
    let wanted = wanted(&server, "disk.img", &bytes);
    let part = place.downloads().join(format!("{}.part", wanted.sha256.hex()));
    std::thread::scope(|scope| {
        let running = scope.spawn(|| place.fetch(&wanted));
        let end = Instant::now() + Duration::from_secs(60);
        while fs::metadata(&part).map_or(0, |found| found.len()) < 300_000 {
            assert!(Instant::now() < end, "nothing comes");
            std::thread::sleep(Duration::from_millis(5));
        }
        place.cancel.store(true, Ordering::Relaxed);
        let asked = Instant::now();
        let error = running.join().unwrap().unwrap_err();
        assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
        assert!(matches!(error, DownloadError::Cancelled), "{error}");
    });
    assert_eq!(fs::metadata(&part).unwrap().len(), 300_000);
}

#[test]
fn packed_files_are_unpacked_and_verified_again() {
    let bytes = content();
    let mut xz = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(1)).unwrap();
    xz.write_all(&bytes).unwrap();
    for (name, packed) in [("disk.qcow2.gz", gzip(&bytes)), ("disk.qcow2.xz", xz.finish().unwrap())] {
        let place = Place::new();
        let body = packed.clone();
        let server = server(move |request, _| serve(request, &body));
        let mut asked = wanted(&server, name, &packed);
        // Nobody said what is in it: that is found out.
        let done = place.fetch(&asked).unwrap();
        assert_eq!((done.sha256, done.bytes), (Sha256::of(&bytes), 600_000));
        assert_eq!(fs::read(&done.path).unwrap(), bytes);
        assert_eq!(place.suffixes(), BTreeSet::from([String::new()]), "{name}: the packed file is gone");
        asked.unpacked = Some(Sha256::of(&bytes));
        assert!(place.fetch(&asked).unwrap().cached);
        // Something else is in it than its publisher says.
        asked.unpacked = Some(Sha256::of(b"something else"));
        let error = place.fetch(&asked).unwrap_err();
        assert!(matches!(&error, DownloadError::UnpackedMismatch { .. }), "{error}");
        assert!(!place.downloads().join(Sha256::of(b"something else").hex()).exists());
        assert!(!place.suffixes().contains(".unpacking"));
    }
}

#[test]
fn what_cannot_be_unpacked_says_so() {
    let packed = gzip(&content());
    for (name, packed) in [
        ("disk.qcow2.gz", packed[..packed.len() / 2].to_vec()),
        ("disk.qcow2.gz", b"hello".to_vec()),
        ("disk.qcow2.xz", packed),
    ] {
        let place = Place::new();
        let body = packed.clone();
        let server = server(move |request, _| serve(request, &body));
        let error = place.fetch(&wanted(&server, name, &packed)).unwrap_err();
        assert!(matches!(&error, DownloadError::Unpack { .. }), "{error}");
        assert_eq!(place.suffixes(), BTreeSet::from([".part".to_owned()]));
    }
}

#[test]
fn through_a_proxy_and_from_a_file() {
    let (place, bytes) = (Place::new(), content());
    let body = bytes.clone();
    let proxy = server(move |request, _| serve(request, &body));
    let url = Some(format!("http://me:hunter2@{}", proxy.address));
    let access = Access {
        proxy: ProxySettings { http: url, ..ProxySettings::default() },
        patience: hasty(),
        ..Access::default()
    };
    let far =
        Wanted { url: "http://mirror.invalid/images/disk.img".into(), ..wanted(&proxy, "disk.img", &bytes) };
    assert!(!place.fetch_with(&far, access).unwrap().cached);
    let log = proxy.log.lock().unwrap();
    assert_eq!(log[0].line, "GET http://mirror.invalid/images/disk.img");
    assert_eq!(log[0].header("proxy-authorization"), Some("Basic bWU6aHVudGVyMg=="));
    assert_eq!(log[0].header("authorization"), None);

    let near = Place::new();
    let file = near.temp.path().join("disk.img");
    fs::write(&file, &bytes).unwrap();
    let local = Wanted { url: format!("file://{}", file.display()), ..far.clone() };
    assert_eq!(fs::read(near.fetch(&local).unwrap().path).unwrap(), bytes);
    let none = Wanted { url: "ftp://mirror.example.com/disk.img".into(), ..far };
    assert!(matches!(Place::new().fetch(&none), Err(DownloadError::Scheme { .. })));
}

#[test]
fn a_missing_file_is_not_asked_for_again() {
    let place = Place::new();
    let server = server(|_, _| Answer::status(404));
    let mut asked = wanted(&server, "disk.img", b"x");
    asked.url = asked.url.replace("http://", "http://me:hunter2@") + "?signature=hunter3";
    let error = place.fetch(&asked).unwrap_err().to_string();
    assert_eq!(error, format!("http://{0}/images/disk.img: the file not found ({0})", server.address));
    assert_eq!(server.count("/images/"), 1);
}

/// Two at once: one downloads, the other waits and finds it.
#[test]
fn two_at_once_do_the_work_once() {
    let (place, bytes) = (Place::new(), content());
    let body = bytes.clone();
    let server = server(move |request, _| {
        let drip = Some((100_000, Duration::from_millis(50)));
        Answer { drip, ..serve(request, &body) }
    });
    let wanted = wanted(&server, "disk.img", &bytes);
    let both: Vec<Fetched> = std::thread::scope(|scope| {
        let threads = [(); 2].map(|()| scope.spawn(|| place.fetch(&wanted).unwrap()));
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(both.iter().filter(|done| done.cached).count(), 1);
    assert_eq!(server.count("/images/"), 1);
}
