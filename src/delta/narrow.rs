//! Two objects in YAML without what both have word for word, so that only what differs is read.
//!
//! Works on lines and their indentation, as programs write YAML, and gives up on anything else: then the whole is read.
//! Invariant: what is left differs by exactly what the whole differs by. So only whole blocks go, from both sides and from
//! the same place, and what tells objects and items apart stays: `apiVersion`, `kind`, `metadata` and all single lines.

/// Deeper nesting is left as it is.
const DEPTH: usize = 48;

/// An entry of a block mapping.
struct Entry<'t> {
    key: &'t str,
    /// Whether nothing stands behind the colon.
    is_block: bool,
    /// All its lines.
    text: &'t str,
    /// Its lines but for the first.
    body: &'t str,
}

impl Entry<'_> {
    /// Whether it is a single line, but for comments: it may be what tells an item of a list from others.
    fn is_line(&self) -> bool {
        self.body.lines().map(str::trim_start).all(|line| line.is_empty() || line.starts_with('#'))
    }
}

/// Both without their common blocks; none if they are no plain objects.
pub(super) fn narrow(old: &str, new: &str) -> Option<(String, String)> {
    let (old, new) = (start(old), start(new));
    let (one, two) = (entries(old, 0)?, entries(new, 0)?);
    let is_object = |entries: &[Entry<'_>]| {
        ["apiVersion", "kind", "metadata"].iter().all(|key| entries.iter().any(|entry| entry.key == *key))
    };
    if !is_object(&one) || !is_object(&two) {
        return None;
    }
    let mut out = (String::new(), String::new());
    mappings(&one, &two, 0, &mut out);
    Some(out)
}

/// The text behind the line that starts the document.
fn start(text: &str) -> &str {
    match text.strip_prefix("---").map(|rest| rest.trim_start_matches([' ', '\r'])) {
        Some(rest) => rest.strip_prefix('\n').unwrap_or(text),
        None => text,
    }
}

type Out = (String, String);

fn mappings(old: &[Entry<'_>], new: &[Entry<'_>], depth: usize, out: &mut Out) {
    for one in old {
        match new.iter().find(|two| two.key == one.key) {
            None => push(&mut out.0, one.text),
            Some(two) if one.text == two.text => {
                let telling = depth == 0 && matches!(one.key, "apiVersion" | "kind" | "metadata");
                if telling || one.is_line() {
                    push(&mut out.0, one.text);
                    push(&mut out.1, two.text);
                }
            }
            Some(two) => pair(one, two, depth, out),
        }
    }
    for two in new.iter().filter(|two| !old.iter().any(|one| one.key == two.key)) {
        push(&mut out.1, two.text);
    }
}

/// One key of both sides, with something different behind it.
fn pair(one: &Entry<'_>, two: &Entry<'_>, depth: usize, out: &mut Out) {
    let mut inner = Out::default();
    let narrowed =
        one.is_block && two.is_block && depth < DEPTH && bodies(one.body, two.body, depth + 1, &mut inner);
    if !narrowed || (depth == 0 && one.key == "metadata") {
        push(&mut out.0, one.text);
        push(&mut out.1, two.text);
        return;
    }
    for (entry, inner, out) in [(one, inner.0, &mut out.0), (two, inner.1, &mut out.1)] {
        let head = entry.text.split('\n').next().unwrap_or_default();
        push(out, head);
        match inner.is_empty() {
            // An empty block would be null.
            true => out.insert_str(out.len() - 1, " {}"),
            false => out.push_str(&inner),
        }
    }
}

/// What stands below a key: mappings, or lists of as many items with the same names. False if it is something else.
fn bodies(old: &str, new: &str, depth: usize, out: &mut Out) -> bool {
    let (Some((indent, list)), Some((other, also))) = (shape(old), shape(new)) else { return false };
    if indent != other || list != also {
        return false;
    }
    if !list {
        let (Some(one), Some(two)) = (entries(old, indent), entries(new, indent)) else { return false };
        mappings(&one, &two, depth, out);
        return true;
    }
    let (Some(old), Some(new)) = (items(old, indent), items(new, indent)) else { return false };
    let mut names = Vec::new();
    if old.len() != new.len() {
        return false;
    }
    for (one, two) in old.iter().zip(&new) {
        let (Some(one), Some(two)) = (entries(one, indent + 2), entries(two, indent + 2)) else {
            return false;
        };
        let name = |entries: &[Entry<'_>]| {
            entries.iter().find(|entry| entry.key == "name").map(|entry| entry.text.trim().to_owned())
        };
        if name(&one) != name(&two) || (name(&one).is_none() && old.len() > 1) || names.contains(&name(&one))
        {
            return false;
        }
        names.push(name(&one));
        let mut item = Out::default();
        mappings(&one, &two, depth, &mut item);
        for (item, out) in [(item.0, &mut out.0), (item.1, &mut out.1)] {
            let (head, rest) = (" ".repeat(indent) + "- ", item.get(indent + 2..));
            out.push_str(&head);
            out.push_str(rest.filter(|rest| !rest.is_empty()).unwrap_or("{}\n"));
        }
    }
    true
}

fn push(to: &mut String, text: &str) {
    to.push_str(text);
    if !text.ends_with('\n') {
        to.push('\n');
    }
}

/// How far a block is indented, and whether it is a list.
fn shape(body: &str) -> Option<(usize, bool)> {
    let line = body.lines().find(|line| !is_nothing(line))?;
    let text = line.trim_start_matches(' ');
    Some((line.len() - text.len(), text.starts_with("- ")))
}

fn is_nothing(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

/// The entries of a mapping at this indentation; none if it is not one, or has a key twice.
fn entries(text: &str, indent: usize) -> Option<Vec<Entry<'_>>> {
    // Start of an entry, end of its first line, its key, and whether it is a block.
    let mut found: Vec<(usize, usize, &str, bool)> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let (start, end) = (at, at + line.len());
        at = end;
        let spaces = line.len() - line.trim_start_matches(' ').len();
        let rest = line[spaces..].trim_end();
        if spaces > indent || is_nothing(rest) {
            if spaces > indent && found.is_empty() && !is_nothing(rest) {
                return None;
            }
            continue;
        }
        if spaces < indent {
            return None;
        }
        if rest.starts_with("- ") && found.last().is_some_and(|(.., is_block)| *is_block) {
            continue;
        }
        let (key, value) = rest.split_once(':')?;
        let plain = |c: u8| c.is_ascii_alphanumeric() || b"_./$-".contains(&c);
        let odd =
            value.trim_start().starts_with(['&', '*', '!']) || !(value.is_empty() || value.starts_with(' '));
        if key.is_empty() || key.starts_with('-') || !key.bytes().all(plain) || odd {
            return None;
        }
        found.push((start, end, key, value.is_empty()));
    }
    let ends = found.iter().skip(1).map(|entry| entry.0).chain([text.len()]);
    let entries = found.iter().zip(ends).map(|((start, head, key, is_block), end)| Entry {
        key,
        is_block: *is_block,
        text: &text[*start..end],
        body: &text[*head..end],
    });
    let entries: Vec<Entry<'_>> = entries.collect();
    let mut keys: Vec<&str> = entries.iter().map(|entry| entry.key).collect();
    keys.sort_unstable();
    keys.windows(2).all(|pair| pair[0] != pair[1]).then_some(entries)
}

/// The items of a list at this indentation, each as a mapping: two spaces stand for its dash.
fn items(text: &str, indent: usize) -> Option<Vec<String>> {
    let mut found: Vec<String> = Vec::new();
    for line in text.split_inclusive('\n') {
        let spaces = line.len() - line.trim_start_matches(' ').len();
        match line[spaces..].strip_prefix("- ") {
            Some(rest) if spaces == indent => found.push(format!("{:1$}{rest}", "", indent + 2)),
            _ if spaces > indent || is_nothing(line) => {
                if let Some(item) = found.last_mut() {
                    item.push_str(line);
                }
            }
            _ => return None,
        }
    }
    Some(found)
}
