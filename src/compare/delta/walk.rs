//! The position of a comparison, and its findings so far.

use super::data::Data;
use super::show::Audience;
use super::{CHANGES, Change, ChangeKind, DeltaContext, Edit, PlaceStep, ShownValue, StepKind, Tone, show};
use crate::base::redact;

/// Maximum nesting of files: an Ignition config holds a MachineConfig, which holds a ConfigMap, which holds YAML.
const DEPTH: usize = 8;

/// One comparison on its way down.
pub(super) struct Walk<'c> {
    pub(super) context: &'c DeltaContext,
    /// Only show what is known to be public.
    pub(super) masked: bool,
    /// Show everything but private keys: words of an API type.
    pub(super) public: bool,
    /// The change kind of plain fields here.
    pub(super) kind: ChangeKind,
    /// Nesting of files.
    pub(super) depth: usize,
    place: Vec<PlaceStep>,
    found: Vec<Change>,
    more: usize,
}

impl<'c> Walk<'c> {
    pub(super) fn new(context: &'c DeltaContext) -> Self {
        Self {
            context,
            masked: false,
            public: false,
            kind: ChangeKind::Data,
            depth: 0,
            place: Vec::new(),
            found: Vec::new(),
            more: 0,
        }
    }

    /// Goes one step down and back.
    pub(super) fn step<R>(&mut self, into: StepKind, name: &str, inside: impl FnOnce(&mut Self) -> R) -> R {
        let shown = if self.public { name.into() } else { redact::name(name) };
        self.place.push(PlaceStep { into, name: shown.into_owned() });
        let (masked, public, kind, depth) = (self.masked, self.public, self.kind, self.depth);
        let result = inside(self);
        (self.masked, self.public, self.kind, self.depth) = (masked, public, kind, depth);
        self.place.pop();
        result
    }

    pub(super) fn field<R>(&mut self, name: &str, inside: impl FnOnce(&mut Self) -> R) -> R {
        self.step(StepKind::Field, name, inside)
    }

    pub(super) fn item<R>(&mut self, name: &str, inside: impl FnOnce(&mut Self) -> R) -> R {
        self.step(StepKind::Item, name, inside)
    }

    /// The name of the last step.
    pub(super) fn key(&self) -> String {
        self.place.last().map(|step| step.name.clone()).unwrap_or_default()
    }

    /// Whether embedded files may be opened at this depth.
    pub(super) fn may_open(&self) -> bool {
        self.depth < DEPTH
    }

    pub(super) fn push(&mut self, kind: ChangeKind, edit: Edit) {
        self.record(kind, edit, None, None);
    }

    /// Records a change here.
    pub(super) fn record(&mut self, kind: ChangeKind, edit: Edit, tone: Option<Tone>, note: Option<&str>) {
        let limit = if self.context.limit == 0 { CHANGES } else { self.context.limit };
        if self.found.len() >= limit {
            self.more += 1;
            return;
        }
        let note = note.map(str::to_owned);
        self.found.push(Change { place: self.place.clone(), kind, edit, tone, note });
    }

    /// Records a value that differs or is on one side only.
    pub(super) fn edit(&mut self, kind: ChangeKind, old: Option<&Data>, new: Option<&Data>) {
        let shown = |data: Option<&Data>| data.map(|data| self.shown(data));
        if let Some(edit) = edit(shown(old), shown(new)) {
            self.push(kind, edit);
        }
    }

    /// The same for texts.
    pub(super) fn texts(&mut self, kind: ChangeKind, old: Option<&str>, new: Option<&str>) {
        if old == new {
            return;
        }
        let data = |text: Option<&str>| text.map(|text| Data::Text(text.to_owned()));
        self.edit(kind, data(old).as_ref(), data(new).as_ref());
    }

    /// The same for texts that are public even if they look secret.
    pub(super) fn public(&mut self, kind: ChangeKind, old: Option<String>, new: Option<String>) {
        if let Some(edit) = edit(old.map(ShownValue::Text), new.map(ShownValue::Text)) {
            self.push(kind, edit);
        }
    }

    pub(super) fn count(&self) -> usize {
        self.found.len() + self.more
    }

    pub(super) fn shown(&self, data: &Data) -> ShownValue {
        let key = self.place.iter().rev().find(|step| step.into != StepKind::Item);
        let audience = match (self.masked, self.public) {
            (true, _) => Audience::Nobody,
            (_, true) => Audience::Everybody,
            _ => Audience::Careful,
        };
        show::shown(key.map(|step| step.name.as_str()).unwrap_or_default(), data, audience)
    }

    /// All findings. The last one says how many were omitted.
    pub(super) fn finish(mut self) -> Vec<Change> {
        if self.more > 0 {
            let (place, more) = (self.found.first().map(|first| first.place[..1].to_vec()), self.more);
            self.found.push(Change {
                place: place.unwrap_or_default(),
                kind: ChangeKind::File,
                edit: Edit::Lines { hunks: Vec::new(), cut: more },
                tone: None,
                note: Some(format!("{more} more")),
            });
        }
        self.found
    }
}

/// The edit between two values, one of which may be absent. Secret on one side means secret on both.
pub(super) fn edit(old: Option<ShownValue>, new: Option<ShownValue>) -> Option<Edit> {
    Some(match (old, new) {
        (None, None) => return None,
        (None, Some(new)) => Edit::Added { new },
        (Some(old), None) => Edit::Removed { old },
        (Some(ShownValue::Secret), Some(_)) | (Some(_), Some(ShownValue::Secret)) => {
            Edit::Changed { old: ShownValue::Secret, new: ShownValue::Secret }
        }
        (Some(old), Some(new)) => Edit::Changed { old, new },
    })
}
