//! Everything that parses bytes from outside, one function per format: no bytes may make it panic, hang or fill the memory.
//! `tests/it/fuzz.rs` replays the kept corpus and mutates it; `tests/fuzz/cargo-fuzz` is for cargo-fuzz.

use std::path::Path;

use crate::base::hint::Problems;
use crate::base::pki::{Certificate, SigningRequest};
use crate::base::yaml::{self, Source};
use crate::engine::builders::list_layer;
use crate::engine::cache;
use crate::engine::registry::{self, Descriptor, ImageName, Images, Located, Reference, Sha256};
use crate::engine::store::Realisation;
use crate::engine::tree::Listing;
use crate::openshift::config::{self, Known};
use crate::openshift::hosts;
use crate::openshift::ignition::Config;
use crate::openshift::iso::{Live, Section};
use crate::realize::preflight;

/// A parser under test. The directory is empty, for what it unpacks.
pub type Target = fn(&[u8], &Path);

/// All of them, by the name of their corpus.
pub const TARGETS: [(&str, Target); 14] = [
    ("cache", |bytes, _| cache::read_documents(bytes)),
    ("cache-pack", cache::unpack),
    ("certificate", certificate),
    ("csr", csr),
    ("dns", |bytes, _| preflight::read_dns(bytes)),
    ("go-yaml", go_yaml),
    ("hosts", hosts),
    ("ignition", ignition),
    ("iso", iso),
    ("layer", layer),
    ("listing", listing),
    ("manifest", manifest),
    ("realisation", realisation),
    ("yaml", yaml),
];

fn text(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

fn name() -> ImageName {
    let (registry, repository) = ("quay.io".to_owned(), "a".to_owned());
    ImageName { registry, repository, reference: Reference::Tag("1".to_owned()) }
}

/// The first byte chooses the compression.
fn layer(bytes: &[u8], dir: &Path) {
    let Some((first, rest)) = bytes.split_first() else { return };
    let kind = ["tar", "tar+gzip", "tar+zstd"][usize::from(first % 3)];
    let _ = list_layer(&name(), &format!("application/vnd.oci.image.layer.v1.{kind}"), rest, dir);
}

/// One manifest that is every manifest: a list leads to itself.
struct Same<'a>(&'a [u8]);

impl Images for Same<'_> {
    fn locate(&self, image: &ImageName, _: &Sha256) -> registry::Result<Located> {
        Ok(Located::by_its_name(image))
    }

    fn resolve(&self, _: &ImageName) -> registry::Result<Sha256> {
        Ok(Sha256::of(self.0))
    }

    fn manifest(&self, _: &ImageName, _: &Sha256) -> registry::Result<(String, Vec<u8>)> {
        Ok((registry::media_type_of(self.0), self.0.to_vec()))
    }

    fn blob<'a>(
        &'a self,
        _: &ImageName,
        _: &Descriptor,
    ) -> registry::Result<Box<dyn std::io::Read + Send + 'a>> {
        Ok(Box::new(self.0))
    }
}

fn manifest(bytes: &[u8], _: &Path) {
    let name = name();
    let images = Same(bytes);
    if let Ok(found) = registry::image(&images, &name, &Sha256::of(bytes), "amd64") {
        assert_eq!(found.bytes, bytes);
        let _ = found.check_architecture(&images, &name, "amd64");
    }
}

fn yaml(bytes: &[u8], _: &Path) {
    let (text, mut problems) = (text(bytes), Problems::default());
    let documents = yaml::documents(Source { name: "x.yaml", text: &text }, &mut problems);
    if problems.0.is_empty() {
        // What we print, we read again, and print the same.
        for document in &documents {
            let block = yaml::block(document, 0) + "\n";
            let again = yaml::documents(Source { name: "x.yaml", text: &block }, &mut problems);
            assert!(problems.0.is_empty() && again.len() == 1, "{problems}\n{block}");
            assert_eq!(yaml::block(&again[0], 0) + "\n", block);
        }
    }
}

fn go_yaml(bytes: &[u8], _: &Path) {
    let _ = yaml::go_documents(Source { name: "x.yaml", text: &text(bytes) }, &mut Problems::default());
}

fn csr(bytes: &[u8], _: &Path) {
    let _ = SigningRequest::from_pem(bytes);
    if let Ok(request) = SigningRequest::from_der(bytes) {
        let _ = request.values("CN");
    }
}

fn certificate(bytes: &[u8], _: &Path) {
    let _ = Certificate::chain_from_pem(&text(bytes));
    if let Ok(certificate) = Certificate::from_der(bytes) {
        let _ = (certificate.subject(), certificate.issuer(), certificate.common_name());
        let again = Certificate::from_pem(&certificate.to_pem());
        assert!(again.is_ok_and(|again| again.der() == bytes));
    }
}

fn listing(bytes: &[u8], _: &Path) {
    if let Ok(listing) = Listing::parse(&text(bytes)) {
        let again = Listing::parse(&listing.encode());
        assert!(again.is_ok_and(|again| again.encode() == listing.encode()));
    }
}

fn realisation(bytes: &[u8], _: &Path) {
    let _ = (Realisation::parse(bytes), Realisation::parse_traces(&text(bytes)));
}

/// An agent-config.yaml or a ClusterInstance, to the cluster.yaml that comes of it.
fn hosts(bytes: &[u8], _: &Path) {
    let (text, mut problems) = (text(bytes), Problems::default());
    let source = Source { name: "x.yaml", text: &text };
    drop(hosts::agent_config(source, &mut problems));
    if let Some(found) = hosts::cluster_instance(source, &mut problems) {
        let known =
            Known { hosts: Some(&found.hosts), pull_secret: Some(("x.json", "{}")), ..Known::default() };
        let install = Source { name: "install-config.yaml", text: &found.install_config };
        if let Err(Problems(all)) = config::cluster_yaml_for(install, known) {
            all.into_iter().for_each(|problem| drop(found.locate(problem)));
        }
    }
}

fn iso(bytes: &[u8], _: &Path) {
    if let Ok(live) = Live::read(&mut std::io::Cursor::new(bytes)) {
        assert!(live.is_possible());
        drop(live.patches(vec![1], &["a=b".to_owned()]));
    }
    drop(Section::decode(bytes).map(|section| section.encode()));
}

fn ignition(bytes: &[u8], _: &Path) {
    if let Ok(config) = Config::parse(&text(bytes)) {
        let emitted = config.emit();
        let again = Config::parse(&emitted);
        assert!(again.is_ok_and(|again| again.emit() == emitted), "{emitted}");
    }
}
