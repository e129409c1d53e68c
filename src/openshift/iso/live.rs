//! Finds the reserved areas of an image, checks that they are empty, and computes what to write there.

use std::collections::BTreeMap;
use std::io::{Read, Seek};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::volume::{Extent, Volume, malformed};
use super::{IsoError, Result};

/// The area for an initrd, in messages.
pub(super) const IGNITION: &str = "the Ignition config";
/// The areas for kernel arguments, in messages.
const ARGUMENTS: &str = "kernel arguments";

/// Maximum size of a description of areas.
const LARGEST_INFO: u64 = 64 << 10;
/// Maximum size of the area for an initrd, which is read to check that it is empty.
const LARGEST_AREA: u64 = 64 << 20;
/// Maximum size of an image, and maximum number of its areas.
const LARGEST_IMAGE: u64 = 1 << 40;
const MOST_AREAS: usize = 1000;
/// Maximum size of an area for kernel arguments: the kernel accepts no more.
const LARGEST_ARGUMENTS: u64 = 2048;

/// A live ISO as published. Its JSON is the output of `iso-areas`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Live {
    /// In bytes.
    pub(crate) size: u64,
    initrd: Extent,
    /// Its own kernel arguments.
    pub(super) arguments: String,
    areas: Vec<Area>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Area {
    place: Extent,
    pad: u8,
    end: u8,
}

/// `/coreos/igninfo.json`.
#[derive(Deserialize)]
struct IgnitionInfo {
    file: String,
    offset: Option<u64>,
    length: Option<u64>,
}

/// `/coreos/kargs.json`.
#[derive(Deserialize)]
struct ArgumentsInfo {
    default: String,
    files: Vec<ArgumentsFile>,
    size: u64,
}

#[derive(Deserialize)]
struct ArgumentsFile {
    path: String,
    offset: u64,
    pad: Option<char>,
    end: Option<char>,
}

/// `/coreos/features.json`.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
struct Features {
    installer_config: bool,
}

impl Live {
    /// Inspects an image. Rejects an image that is not a live ISO, too old, or customized.
    pub(crate) fn read(image: &mut (impl Read + Seek)) -> Result<Self> {
        let mut volume = Volume::open(image)?;
        let initrd = initrd(&mut volume)?;
        if volume.read(initrd, LARGEST_AREA, "area for the Ignition config")?.iter().any(|byte| *byte != 0) {
            return Err(IsoError::Customized { area: IGNITION });
        }
        let features: Features = info(&mut volume, "coreos/features.json")?.unwrap_or_default();
        if !features.installer_config {
            return Err(IsoError::TooOld);
        }
        let (arguments, areas) = arguments(&mut volume)?;
        if areas.iter().any(|area| area.place.overlaps(initrd)) {
            return Err(malformed("`coreos/kargs.json`", "an area overlaps that of the Ignition config"));
        }
        let live = Self { size: volume.size, initrd, arguments, areas };
        match live.is_possible() {
            true => Ok(live),
            false => Err(malformed("`coreos/kargs.json`", "no image has so many areas, or such large ones")),
        }
    }

    /// Whether an image can be so: what somebody wrote down is believed no more than what an image says.
    pub(crate) fn is_possible(&self) -> bool {
        let Self { size, initrd, arguments: _, areas } = self;
        let fits = |place: Extent, limit: u64| {
            place.size <= limit && place.offset.checked_add(place.size).is_some_and(|end| end <= *size)
        };
        *size <= LARGEST_IMAGE
            && fits(*initrd, LARGEST_AREA)
            && areas.len() <= MOST_AREAS
            && areas.iter().all(|area| fits(area.place, LARGEST_ARGUMENTS))
    }

    /// What to write where, to boot with this initrd and append these kernel arguments.
    pub(crate) fn patches(&self, initrd: Vec<u8>, arguments: &[String]) -> Result<BTreeMap<u64, Vec<u8>>> {
        let needed = initrd.len() as u64;
        if needed > self.initrd.size {
            return Err(IsoError::TooSmall { area: IGNITION, room: self.initrd.size, needed });
        }
        let is_one = |argument: &&String| {
            !argument.is_empty() && argument.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#')
        };
        if let Some(argument) = arguments.iter().find(|argument| !is_one(argument)) {
            return Err(IsoError::Argument { argument: argument.clone() });
        }
        let own = Some(&self.arguments).filter(|own| !own.is_empty());
        let line = own.into_iter().chain(arguments).map(String::as_str).collect::<Vec<_>>().join(" ");
        let mut patches = BTreeMap::from([(self.initrd.offset, initrd)]);
        for Area { place, pad, end } in &self.areas {
            let needed = line.len() as u64 + 1;
            if needed > place.size {
                return Err(IsoError::TooSmall { area: ARGUMENTS, room: place.size, needed });
            }
            let mut bytes = line.clone().into_bytes();
            bytes.push(*end);
            bytes.resize(usize::try_from(place.size).unwrap_or_default(), *pad);
            patches.insert(place.offset, bytes);
        }
        Ok(patches)
    }
}

/// The area for an initrd.
fn initrd(volume: &mut Volume<'_, impl Read + Seek>) -> Result<Extent> {
    let found = info(volume, "coreos/igninfo.json")?;
    let file = "images/ignition.img".to_owned();
    let IgnitionInfo { file, offset, length } =
        found.unwrap_or(IgnitionInfo { file, offset: None, length: None });
    let whole = volume.find(&file)?.ok_or_else(|| IsoError::NotLive { missing: format!("`{file}`") })?;
    let offset = offset.unwrap_or(0);
    part(whole, offset, length.unwrap_or(whole.size.saturating_sub(offset)))
        .ok_or_else(|| malformed("`coreos/igninfo.json`", &format!("`{file}` has no such range")))
}

/// The kernel arguments, and their areas.
fn arguments(volume: &mut Volume<'_, impl Read + Seek>) -> Result<(String, Vec<Area>)> {
    const INFO: &str = "coreos/kargs.json";
    let wrong = |problem: &str| malformed(&format!("`{INFO}`"), problem);
    let missing = || IsoError::NotLive { missing: format!("`{INFO}`") };
    let ArgumentsInfo { default, files, size } = info(volume, INFO)?.ok_or_else(missing)?;
    let default = default.trim().to_owned();
    let mut areas = Vec::new();
    for ArgumentsFile { path, offset, pad, end } in files {
        let whole = volume.find(&path)?.ok_or_else(|| wrong(&format!("there is no `{path}`")))?;
        let place = part(whole, offset, size).ok_or_else(|| wrong(&format!("`{path}` has no such range")))?;
        let byte = |letter: Option<char>, usual: char| {
            u8::try_from(letter.unwrap_or(usual)).map_err(|_| wrong("its padding is not ASCII"))
        };
        let area = Area { place, pad: byte(pad, '#')?, end: byte(end, '\n')? };
        let held = volume.read(place, LARGEST_ARGUMENTS, "area for kernel arguments")?;
        if area.text(&held) != default.as_bytes() {
            return Err(IsoError::Customized { area: ARGUMENTS });
        }
        areas.push(area);
    }
    areas.sort_by_key(|area| area.place.offset);
    match areas.is_empty() || areas.windows(2).any(|pair| pair[0].place.overlaps(pair[1].place)) {
        true => Err(wrong("its areas are missing or overlap")),
        false => Ok((default, areas)),
    }
}

impl Area {
    /// The content of the area, without padding.
    fn text<'a>(&self, held: &'a [u8]) -> &'a [u8] {
        let without = |bytes: &'a [u8], last: u8| {
            let length = bytes.iter().rposition(|byte| *byte != last).map_or(0, |at| at + 1);
            &bytes[..length]
        };
        without(without(held, self.pad), self.end).trim_ascii()
    }
}

/// A part of an extent, if it lies within it.
fn part(of: Extent, offset: u64, size: u64) -> Option<Extent> {
    let within = offset.checked_add(size).is_some_and(|end| end <= of.size);
    within.then(|| Extent { offset: of.offset + offset, size })
}

/// A description of areas; none if the image has no such file.
fn info<T: DeserializeOwned>(volume: &mut Volume<'_, impl Read + Seek>, path: &str) -> Result<Option<T>> {
    let Some(extent) = volume.find(path)? else { return Ok(None) };
    let bytes = volume.read(extent, LARGEST_INFO, &format!("`{path}`"))?;
    let wrong = |error: serde_json::Error| malformed(&format!("`{path}`"), &error.to_string());
    serde_json::from_slice(&bytes).map(Some).map_err(wrong)
}
