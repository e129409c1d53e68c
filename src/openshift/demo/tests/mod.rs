//! The demo release from the outside: through the image interface, and by running its programs.

mod assembly;
mod programs;

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Mutex;

use super::*;

/// The files of an image, by path; a hard link yields the file that it names.
fn contents(demo: &Demo, name: &ImageName, digest: &Sha256) -> BTreeMap<String, Vec<u8>> {
    let manifest = crate::engine::registry::image(demo, name, digest, layer::ARCHITECTURE).unwrap();
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for layer in &manifest.layers {
        let mut tar = tar::Archive::new(demo.blob(name, layer).unwrap());
        for entry in tar.entries().unwrap() {
            let mut entry = entry.unwrap();
            let path = entry.path().unwrap().to_string_lossy().into_owned();
            let bytes = match entry.header().entry_type() {
                tar::EntryType::Directory => continue,
                tar::EntryType::Link => files[entry.link_name().unwrap().unwrap().to_str().unwrap()].clone(),
                _ => {
                    let mut bytes = Vec::new();
                    entry.read_to_end(&mut bytes).unwrap();
                    bytes
                }
            };
            files.insert(path, bytes);
        }
    }
    files
}

/// The files of a component's image, or of the release's; unpacked once for all tests.
fn component(demo: &Demo, wanted: &str) -> BTreeMap<String, Vec<u8>> {
    static UNPACKED: Mutex<BTreeMap<Sha256, BTreeMap<String, Vec<u8>>>> = Mutex::new(BTreeMap::new());
    let images = demo.images();
    let (_, name, digest) = images.iter().find(|(name, ..)| name == wanted).unwrap();
    UNPACKED.lock().unwrap().entry(*digest).or_insert_with(|| contents(demo, name, digest)).clone()
}

fn demos() -> Vec<Demo> {
    versions().iter().map(|version| open(version).unwrap()).collect()
}
