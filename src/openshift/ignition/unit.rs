//! The syntax of systemd unit files: sections, assignments, comments, continuation lines.

/// A parsed unit file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Unit {
    /// Sections with their assignments, in order. Sections and keys may repeat.
    pub sections: Vec<(String, Vec<(String, String)>)>,
    pub faults: Vec<Fault>,
}

/// A line that systemd would ignore or reject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// From 1.
    pub line: usize,
    pub problem: &'static str,
}

impl Unit {
    /// The values of a key, in order.
    pub(crate) fn values<'u>(&'u self, section: &'u str, key: &'u str) -> impl Iterator<Item = &'u str> {
        let sections = self.sections.iter().filter(move |(name, _)| name == section);
        let entries = sections.flat_map(|(_, entries)| entries);
        entries.filter(move |(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    pub(crate) fn has(&self, section: &str) -> bool {
        self.sections.iter().any(|(name, _)| name == section)
    }
}

/// Parses a unit file. Lines that end with a backslash continue; comments between them are dropped.
pub(crate) fn unit(text: &str) -> Unit {
    let mut unit = Unit::default();
    let mut lines = text.lines().enumerate();
    while let Some((at, first)) = lines.next() {
        let line = at + 1;
        let first = first.trim();
        if first.is_empty() || is_comment(first) {
            continue;
        }
        let mut whole = first.to_owned();
        while let Some(head) = whole.strip_suffix('\\').map(str::to_owned) {
            match lines.by_ref().map(|(_, next)| next.trim()).find(|next| !is_comment(next)) {
                Some(next) => whole = format!("{head} {next}"),
                None => {
                    unit.faults.push(Fault { line, problem: "it continues after the end of the file" });
                    whole = head;
                }
            }
        }
        read(&mut unit, line, &whole);
    }
    unit
}

fn read(unit: &mut Unit, line: usize, text: &str) {
    let mut fault = |problem| unit.faults.push(Fault { line, problem });
    if let Some(name) = text.strip_prefix('[') {
        match name.strip_suffix(']') {
            Some(name) if !name.is_empty() && !name.contains(['[', ']']) => {
                unit.sections.push((name.to_owned(), Vec::new()));
            }
            _ => fault("it is not a section"),
        }
        return;
    }
    match (text.split_once('='), unit.sections.last_mut()) {
        (Some((key, value)), Some((_, entries))) if is_key(key.trim()) => {
            entries.push((key.trim().to_owned(), value.trim().to_owned()));
        }
        (Some(_), None) => fault("it is outside any section"),
        _ => fault("it is not an assignment"),
    }
}

fn is_comment(line: &str) -> bool {
    line.starts_with(['#', ';'])
}

fn is_key(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}
