//! Applies patches to one document. An error says what exists instead, but shows no value of a secret document.

use super::pointer::index;
use super::{Action, Change, Fault, Operation, Pointer};
use crate::base::hint::near;
use crate::base::yaml::{YamlData, YamlEntry, YamlNode, flow};

/// Longer values are not shown in errors.
const SHOWN: usize = 60;

/// How deep a document may become: nobody could read a deeper one again.
const DEPTH: usize = 64;

/// Bytes that a patch may copy within one document: every copy can double it.
const COPIED: usize = 64 << 20;

/// What a node takes besides its text.
const NODE: usize = 64;

/// The patched document. With `secret`, errors do not repeat its content.
pub(crate) fn apply(change: &Change, document: &YamlNode, secret: bool) -> Result<YamlNode, Fault> {
    let mut document = document.clone();
    match change {
        Change::Merge(patch) => merge(&mut document, patch),
        Change::Operations(operations) => {
            let mut copied = 0;
            for operation in operations {
                Work { document: &mut document, secret, operation, copied: &mut copied }.run()?;
            }
        }
    }
    Ok(document)
}

/// RFC 7396: maps are merged, null removes, everything else replaces.
fn merge(target: &mut YamlNode, patch: &YamlNode) {
    let YamlData::Map(changes) = &patch.data else {
        target.data = patch.data.clone();
        return;
    };
    if !matches!(target.data, YamlData::Map(_)) {
        target.data = YamlData::Map(Vec::new());
    }
    let YamlData::Map(entries) = &mut target.data else { return };
    for change in changes {
        if change.value.is_null() {
            entries.retain(|entry| entry.key != change.key);
            continue;
        }
        let at = entries.iter().position(|entry| entry.key == change.key).unwrap_or_else(|| {
            let nothing = YamlData::Scalar { text: String::new(), plain: true };
            let value = YamlNode { line: change.line, span: 0..0, data: nothing };
            entries.push(YamlEntry { key: change.key.clone(), line: change.line, at: 0, value });
            entries.len() - 1
        });
        merge(&mut entries[at].value, &change.value);
    }
}

/// One operation of a JSON patch on its document.
struct Work<'a> {
    document: &'a mut YamlNode,
    secret: bool,
    operation: &'a Operation,
    /// Bytes that were copied so far.
    copied: &'a mut usize,
}

/// How many bytes a node takes, about, and how deep it is.
fn measure(node: &YamlNode) -> (usize, usize) {
    let add =
        |(bytes, depth): (usize, usize), (more, below): (usize, usize)| (bytes + more, depth.max(below + 1));
    match &node.data {
        YamlData::Scalar { text, .. } => (NODE + text.len(), 1),
        YamlData::List(items) => items.iter().map(measure).fold((NODE, 1), add),
        YamlData::Map(entries) => {
            let measured = entries.iter().map(|entry| {
                let (bytes, depth) = measure(&entry.value);
                (bytes + entry.key.len(), depth)
            });
            measured.fold((NODE, 1), add)
        }
    }
}

impl Work<'_> {
    fn run(mut self) -> Result<(), Fault> {
        let Operation { path, action, .. } = self.operation;
        match action {
            Action::Test(wanted) => self.test(path, wanted),
            Action::Add(value) => self.add(path, value.clone()),
            Action::Remove => self.remove(path).map(drop),
            Action::Replace(value) => {
                self.find(path)?;
                self.fits(path, value)?;
                self.put(path, value.clone())
            }
            Action::Copy(from) => {
                let value = self.find(from)?;
                let copied = self.copied.saturating_add(measure(value).0);
                if copied > COPIED {
                    let message = format!("the patch copies more than {} MiB", COPIED >> 20);
                    return Err(self.fault(message, None));
                }
                let value = value.clone();
                *self.copied = copied;
                self.add(path, value)
            }
            Action::Move(from) => {
                if from != path && from.holds(path) {
                    return Err(self.fault(format!("`{from}` cannot be moved into itself"), None));
                }
                let value = self.remove(from)?;
                self.add(path, value)
            }
        }
    }

    fn test(&self, path: &Pointer, wanted: &YamlNode) -> Result<(), Fault> {
        let found = self.find(path)?;
        if found.means(wanted) {
            return Ok(());
        }
        let message = match self.secret {
            true => format!("the test of `{path}` fails: it has another value, which is secret"),
            false => {
                // Show quotes only where nothing else distinguishes the two: `10` and `"10"`.
                let bare = found.text().zip(wanted.text()).filter(|(one, two)| one != two);
                let texts =
                    bare.map_or_else(|| (shown(found), shown(wanted)), |(one, two)| (short(one), short(two)));
                format!("the test of `{path}` fails: it is {}, not {}", texts.0, texts.1)
            }
        };
        let hint = "check whether the patch is still right, then update its test".to_owned();
        Err(self.fault(message, Some(hint)))
    }

    /// Fails if a value would make the document too deep.
    fn fits(&self, path: &Pointer, value: &YamlNode) -> Result<(), Fault> {
        match path.0.len() + measure(value).1 > DEPTH {
            true => Err(self.fault(format!("the document would be nested deeper than {DEPTH} levels"), None)),
            false => Ok(()),
        }
    }

    fn add(&mut self, path: &Pointer, value: YamlNode) -> Result<(), Fault> {
        self.fits(path, &value)?;
        let Some((parent, step)) = path.split() else { return self.put(path, value) };
        self.find(&parent)?;
        let length = match parent.find_mut(self.document).map(|node| &mut node.data) {
            Some(YamlData::Map(entries)) => {
                match entries.iter_mut().find(|entry| entry.key == step) {
                    Some(entry) => entry.value = value,
                    None => entries.push(YamlEntry { key: step.to_owned(), line: value.line, at: 0, value }),
                }
                return Ok(());
            }
            Some(YamlData::List(items)) => {
                let at = if step == "-" { Some(items.len()) } else { index(step) };
                if let Some(at) = at.filter(|at| *at <= items.len()) {
                    items.insert(at, value);
                    return Ok(());
                }
                items.len()
            }
            _ => {
                return Err(self.fault(format!("`{parent}` is not a map or list, so it has no fields"), None));
            }
        };
        let message = format!("there is no position `{step}` in `{parent}`, {}", items(length));
        Err(self.fault(message, Some("use an index, or `-` for the end of the list".into())))
    }

    fn remove(&mut self, path: &Pointer) -> Result<YamlNode, Fault> {
        self.find(path)?;
        let removed =
            path.split().and_then(|(parent, step)| match &mut parent.find_mut(self.document)?.data {
                YamlData::Map(entries) => {
                    let at = entries.iter().position(|entry| entry.key == step)?;
                    Some(entries.remove(at).value)
                }
                YamlData::List(items) => Some(items.remove(index(step)?)),
                YamlData::Scalar { .. } => None,
            });
        removed.ok_or_else(|| self.fault("the whole document cannot be removed".into(), None))
    }

    fn put(&mut self, path: &Pointer, value: YamlNode) -> Result<(), Fault> {
        if let Some(node) = path.find_mut(self.document) {
            node.data = value.data;
        }
        Ok(())
    }

    /// The node at a path, or an error that says how far the path exists.
    fn find(&self, path: &Pointer) -> Result<&YamlNode, Fault> {
        let (mut node, mut so_far): (&YamlNode, Pointer) = (&*self.document, Pointer(Vec::new()));
        for step in &path.0 {
            let next = Pointer(vec![step.clone()]).find(node);
            match next {
                Some(next) => (node, so_far) = (next, so_far.below(step)),
                None => return Err(self.nothing(path, &so_far, node, step)),
            }
        }
        Ok(node)
    }

    fn nothing(&self, path: &Pointer, so_far: &Pointer, node: &YamlNode, step: &str) -> Fault {
        let place = if so_far.0.is_empty() { "the document".to_owned() } else { format!("`{so_far}`") };
        let (there, hint) = match &node.data {
            YamlData::Map(entries) => {
                let keys: Vec<&str> = entries.iter().map(|entry| entry.key.as_str()).collect();
                let meant = near(step, keys.iter().copied()).map(|key| {
                    let rest = &path.0[so_far.0.len() + 1..];
                    let meant = rest.iter().fold(so_far.below(key), |path, step| path.below(step));
                    format!("did you mean `{meant}`?")
                });
                let keys = keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
                (if keys.is_empty() { "is empty".to_owned() } else { format!("has {keys}") }, meant)
            }
            YamlData::List(list) => (format!("is a list {}", items(list.len())), None),
            YamlData::Scalar { .. } if self.secret => ("is a single value".to_owned(), None),
            YamlData::Scalar { .. } => (format!("is {}", shown(node)), None),
        };
        self.fault(format!("there is no `{path}`: {place} {there}"), hint)
    }

    fn fault(&self, message: String, hint: Option<String>) -> Fault {
        Fault { line: self.operation.line, message, hint }
    }
}

fn items(length: usize) -> String {
    format!("of {length} {}", if length == 1 { "item" } else { "items" })
}

/// A value for an error: short, or only its kind.
fn shown(node: &YamlNode) -> String {
    let text = flow(node);
    match &node.data {
        YamlData::Scalar { text: written, plain: true } if !node.is_null() => short(written),
        YamlData::List(list) if text.len() > SHOWN => format!("a list {}", items(list.len())),
        YamlData::Map(entries) if text.len() > SHOWN => {
            let keys: Vec<String> = entries.iter().map(|entry| format!("`{}`", entry.key)).collect();
            format!("a map with {}", keys.join(", "))
        }
        _ => short(&text),
    }
}

/// The start of a text, on one line.
fn short(text: &str) -> String {
    let clean = |c: char| if c.is_control() { '·' } else { c };
    let shown: String = text.chars().take(SHOWN).map(clean).collect();
    format!("`{shown}{}`", if text.chars().count() > SHOWN { "…" } else { "" })
}
