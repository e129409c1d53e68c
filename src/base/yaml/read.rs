//! Parses YAML into a tree whose nodes know their line and whose scalars keep the text as written. Use it for files
//! that people write: messages, edits, patches. Data that can reach an id is a [`Value`](crate::base::value::Value).
//!
//! It works on parser events because a loaded document has already lost what we report: duplicate keys, aliases,
//! whether `4.10` was quoted. Invariant: for any input, the tree is at most [`MAX_DEPTH`] deep and has at most
//! [`MAX_NODES`] nodes, so later code may recurse and copy.

use std::collections::BTreeMap;
use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle, Tag};

use crate::base::hint::{Place, Problem, Problems};

/// Maximum nesting; an install-config has about six levels.
const MAX_DEPTH: usize = 64;
/// Maximum number of nodes, with aliases expanded; a thousand cluster nodes need about twenty thousand.
const MAX_NODES: usize = 200_000;
/// The message for text beyond these limits.
pub(crate) const TOO_LARGE: &str = "the file is nested too deeply or repeats too much";

/// The text of a file, and the name that the user knows it by.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    pub name: &'a str,
    pub text: &'a str,
}

/// A value, its first line and its byte range.
#[derive(Debug, Clone)]
pub struct YamlNode {
    /// Line, from 1.
    pub line: usize,
    /// Without surrounding white space and comments. The expansion of an alias keeps the span of the original.
    pub span: Range<usize>,
    pub data: YamlData,
}

/// The kind of a node. Scalars are typed later, by the field that reads them.
#[derive(Debug, Clone)]
pub enum YamlData {
    /// `plain` is false for quoted and block scalars, which are always text.
    Scalar {
        /// Quotes and escapes removed.
        text: String,
        /// Whether it was unquoted.
        plain: bool,
    },
    List(Vec<YamlNode>),
    /// A mapping with unique text keys, in file order.
    Map(Vec<YamlEntry>),
}

/// One `key: value`.
#[derive(Debug, Clone)]
pub struct YamlEntry {
    pub key: String,
    pub line: usize,
    /// Byte offset of the key.
    pub at: usize,
    pub value: YamlNode,
}

impl YamlNode {
    /// Whether this is YAML's null, which the installer treats like an absent field.
    pub fn is_null(&self) -> bool {
        matches!(&self.data, YamlData::Scalar { text, plain: true } if matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL"))
    }

    /// The entry of a mapping.
    pub fn get(&self, key: &str) -> Option<&YamlNode> {
        match &self.data {
            YamlData::Map(entries) => entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value),
            _ => None,
        }
    }

    /// The text of a scalar.
    pub fn text(&self) -> Option<&str> {
        match &self.data {
            YamlData::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// The elements of a sequence; empty for any other node.
    pub fn items(&self) -> &[YamlNode] {
        match &self.data {
            YamlData::List(items) => items,
            _ => &[],
        }
    }

    /// The number of nodes and levels; [`MAX_DEPTH`] bounds the recursion.
    fn measure(&self) -> (usize, usize) {
        let below = |nodes: &mut dyn Iterator<Item = &YamlNode>| {
            nodes.map(YamlNode::measure).fold((1, 0), |(size, height), (s, h)| (size + s, height.max(h)))
        };
        let (size, height) = match &self.data {
            YamlData::Scalar { .. } => (1, 0),
            YamlData::List(items) => below(&mut items.iter()),
            YamlData::Map(entries) => below(&mut entries.iter().map(|entry| &entry.value)),
        };
        (size, height + 1)
    }
}

/// The only document of a file; none (and at least one problem) if there is no usable tree.
pub fn parse(source: Source<'_>, problems: &mut Problems) -> Option<YamlNode> {
    let (mut documents, complete) = read(source, 1, problems);
    if !complete {
        return None;
    }
    if documents.is_empty() {
        let hint = Some("`tinderbox init` writes a commented example".to_owned());
        problems.push(Problem::new(Place::file(source.name), "the file is empty").hint(hint));
    }
    documents.pop()
}

/// All non-empty documents of a file; fewer (and at least one problem) if it cannot be parsed to its end.
pub fn documents(source: Source<'_>, problems: &mut Problems) -> Vec<YamlNode> {
    read(source, usize::MAX, problems).0
}

/// At most `limit` documents, and whether the text could be parsed.
fn read(source: Source<'_>, limit: usize, problems: &mut Problems) -> (Vec<YamlNode>, bool) {
    let mut builder = Builder {
        source,
        limit,
        problems,
        stack: Vec::new(),
        anchors: BTreeMap::new(),
        nodes: 0,
        roots: Vec::new(),
        cursor: (0, 0),
    };
    let complete = builder.run();
    (builder.roots, complete)
}

/// A collection whose end has not been seen yet.
struct Open {
    line: usize,
    start: usize,
    anchor: usize,
    kind: OpenKind,
}

enum OpenKind {
    List(Vec<YamlNode>),
    Map { entries: Vec<YamlEntry>, seen: BTreeMap<String, usize>, slot: Slot },
}

/// The role of the next node in a mapping.
enum Slot {
    Key,
    Value {
        key: String,
        line: usize,
        at: usize,
    },
    /// The value of a rejected key.
    Ignored,
}

struct Builder<'a> {
    source: Source<'a>,
    problems: &'a mut Problems,
    stack: Vec<Open>,
    anchors: BTreeMap<usize, YamlNode>,
    nodes: usize,
    limit: usize,
    roots: Vec<YamlNode>,
    /// A position in the text, in characters (which the parser counts) and in bytes.
    cursor: (usize, usize),
}

impl Builder<'_> {
    /// Processes all events; false if the text could not be parsed to its end.
    fn run(&mut self) -> bool {
        let mut documents = 0;
        for event in Parser::new_from_str(self.source.text) {
            let (event, span) = match event {
                Ok(event) => event,
                Err(error) => {
                    self.syntax_error(error.marker().line(), error.info());
                    return false;
                }
            };
            let line = span.start.line();
            if let Event::DocumentStart(_) = event {
                documents += 1;
                if documents > self.limit {
                    self.report(
                        line,
                        "a second document starts here",
                        Some("keep one document per file: remove `---`"),
                    );
                    return true;
                }
            }
            let bytes = self.byte(span.start.index())..self.byte(span.end.index());
            if !self.event(event, line, bytes) {
                return false;
            }
        }
        true
    }

    /// The byte offset of a character. Events are nearly in text order, so the cursor moves little.
    fn byte(&mut self, character: usize) -> usize {
        let (mut characters, mut bytes) = self.cursor;
        while let (true, Some(next)) = (characters < character, self.source.text[bytes..].chars().next()) {
            (characters, bytes) = (characters + 1, bytes + next.len_utf8());
        }
        while let (true, Some(last)) = (characters > character, self.source.text[..bytes].chars().next_back())
        {
            (characters, bytes) = (characters - 1, bytes - last.len_utf8());
        }
        self.cursor = (characters, bytes);
        bytes
    }

    /// Processes one event; false if a limit was reached.
    fn event(&mut self, event: Event<'_>, line: usize, bytes: Range<usize>) -> bool {
        let node = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain && !self.is_text(tag.as_deref(), line);
                let written = self.source.text.get(bytes.clone()).unwrap_or_default();
                let span = bytes.start..bytes.start + length(written);
                let node = YamlNode { line, span, data: YamlData::Scalar { text: text.into_owned(), plain } };
                self.remember(anchor, &node);
                node
            }
            Event::SequenceStart(anchor, tag) => {
                self.is_text(tag.as_deref(), line);
                return self.open(line, bytes.start, anchor, OpenKind::List(Vec::new()));
            }
            Event::MappingStart(anchor, tag) => {
                self.is_text(tag.as_deref(), line);
                let kind = OpenKind::Map { entries: Vec::new(), seen: BTreeMap::new(), slot: Slot::Key };
                return self.open(line, bytes.start, anchor, kind);
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(Open { line, start, anchor, kind }) = self.stack.pop() else { return true };
                let (data, last) = match kind {
                    OpenKind::List(items) => {
                        let last = items.last().map(|item| item.span.end);
                        (YamlData::List(items), last)
                    }
                    OpenKind::Map { entries, .. } => {
                        let last = entries.last().map(|entry| entry.value.span.end);
                        (YamlData::Map(entries), last)
                    }
                };
                // The end event of a block has no text of its own; a closing bracket has.
                let end = if bytes.is_empty() { last.unwrap_or(start) } else { bytes.end };
                let node = YamlNode { line, span: start..end.max(start), data };
                self.remember(anchor, &node);
                node
            }
            Event::Alias(anchor) => match self.anchors.get(&anchor) {
                Some(node) => {
                    // Measured before it is copied: here a small file could grow into a large tree.
                    let (size, height) = node.measure();
                    self.nodes += size;
                    if self.stack.len() + height > MAX_DEPTH || self.nodes > MAX_NODES {
                        self.report(line, TOO_LARGE, None);
                        return false;
                    }
                    YamlNode { line, span: bytes, data: node.data.clone() }
                }
                None => {
                    self.report(line, "this alias stands inside what it repeats", None);
                    YamlNode {
                        line,
                        span: bytes,
                        data: YamlData::Scalar { text: String::new(), plain: true },
                    }
                }
            },
            _ => return true,
        };
        self.attach(node);
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            self.report(line, TOO_LARGE, None);
            return false;
        }
        true
    }

    fn open(&mut self, line: usize, start: usize, anchor: usize, kind: OpenKind) -> bool {
        self.stack.push(Open { line, start, anchor, kind });
        if self.stack.len() >= MAX_DEPTH {
            self.report(line, TOO_LARGE, None);
            return false;
        }
        true
    }

    /// Attaches a finished node to its parent: document, list, key or value.
    fn attach(&mut self, node: YamlNode) {
        let Some(open) = self.stack.last_mut() else {
            if !node.is_null() {
                self.roots.push(node);
            }
            return;
        };
        match &mut open.kind {
            OpenKind::List(items) => items.push(node),
            OpenKind::Map { entries, seen, slot } => match std::mem::replace(slot, Slot::Key) {
                Slot::Ignored => {}
                Slot::Value { key, line, at } => entries.push(YamlEntry { key, line, at, value: node }),
                Slot::Key => {
                    let (line, at) = (node.line, node.span.start);
                    match key_of(node, seen) {
                        Ok(key) => {
                            seen.insert(key.clone(), line);
                            *slot = Slot::Value { key, line, at };
                        }
                        Err((message, hint)) => {
                            *slot = Slot::Ignored;
                            self.report(line, message, hint);
                        }
                    }
                }
            },
        }
    }

    fn remember(&mut self, anchor: usize, node: &YamlNode) {
        if anchor != 0 {
            self.nodes += node.measure().0;
            self.anchors.insert(anchor, node.clone());
        }
    }

    /// Whether a tag makes a scalar text (`!!str`, `!`). All other tags are rejected.
    fn is_text(&mut self, tag: Option<&Tag>, line: usize) -> bool {
        let Some(tag) = tag else { return false };
        let core = tag.is_yaml_core_schema();
        if !(core && matches!(tag.suffix.as_str(), "str" | "int" | "bool" | "null" | "seq" | "map"))
            && tag.to_string() != "!"
        {
            self.report(line, format!("the tag `{tag}` means nothing here"), Some("remove it"));
        }
        !core || tag.suffix == "str"
    }

    fn syntax_error(&mut self, line: usize, info: &str) {
        let text = self.source.text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
        let tab = text.trim_start_matches(' ').starts_with('\t');
        let hint = if tab {
            "indent with spaces: YAML does not allow tabs"
        } else {
            "look at this line and the one above it"
        };
        self.report(line, format!("not valid YAML: {info}"), Some(hint));
    }

    fn report(&mut self, line: usize, message: impl Into<String>, hint: Option<&str>) {
        let place = Place { file: self.source.name.to_owned(), line: Some(line), field: String::new() };
        self.problems.push(Problem::new(place, message).hint(hint.map(str::to_owned)));
    }
}

/// Length of the scalar at the start of a text that reaches up to the next token, as the parser reports it.
fn length(text: &str) -> usize {
    let (quote, mut escaped) = (text.chars().next(), false);
    let ends = |(_, c): &(usize, char)| {
        let end = !escaped && Some(*c) == quote;
        escaped = quote == Some('"') && *c == '\\' && !escaped;
        end
    };
    match quote {
        Some('"' | '\'') => {
            // In single quotes, two quotes are one: `'it''s'` continues after the second.
            let mut ends = text.char_indices().skip(1).filter(ends).map(|(at, _)| at).peekable();
            while let Some(at) = ends.next() {
                match quote == Some('\'') && ends.next_if_eq(&(at + 1)).is_some() {
                    true => {}
                    false => return at + 1,
                }
            }
            text.trim_end().len()
        }
        _ => text.trim_end().len(),
    }
}

/// The key that a node stands for, or the error and a hint.
fn key_of(node: YamlNode, seen: &BTreeMap<String, usize>) -> Result<String, (String, Option<&'static str>)> {
    if node.is_null() {
        return Err(("a key is empty".to_owned(), Some("write `name: value`")));
    }
    let YamlData::Scalar { text, plain } = node.data else {
        return Err(("a list or map is used as a key".to_owned(), Some("keys are plain names")));
    };
    if plain && (text.parse::<f64>().is_ok() || matches!(text.as_str(), "true" | "false")) {
        return Err((
            format!("the key `{text}` is not a text"),
            Some("put it in quotes if it is meant as a name"),
        ));
    }
    if plain && text == "<<" {
        return Err(("merge keys (`<<`) are not supported".to_owned(), Some("write the fields out")));
    }
    match seen.get(&text) {
        Some(first) => {
            Err((format!("`{text}` is given twice, first on line {first}"), Some("keep one of them")))
        }
        None => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(text: &str) -> String {
        let mut problems = Problems::default();
        parse(Source { name: "f.yaml", text }, &mut problems);
        problems.to_string()
    }

    #[test]
    fn every_node_knows_its_line_and_its_text() {
        let mut problems = Problems::default();
        let text = "a: 4.10\nb:\n- 'x'\n- {c: d}\n";
        let root = parse(Source { name: "f.yaml", text }, &mut problems).unwrap();
        let YamlData::Map(entries) = &root.data else { unreachable!() };
        assert!(matches!(&entries[0].value.data, YamlData::Scalar { text, plain: true } if text == "4.10"));
        let YamlData::List(items) = &entries[1].value.data else { unreachable!() };
        assert_eq!((entries[1].line, items[0].line, items[1].line), (2, 3, 4));
        assert!(problems.0.is_empty());
    }

    #[test]
    fn what_yaml_allows_and_we_do_not() {
        insta::assert_snapshot!(report("a: 1\nb: 2\na: 3\n1: x\n[q]: y\n? {}\n<<: {z: 1}\nc: !foo 1\n"), @r"
        f.yaml:3: `a` is given twice, first on line 1
          hint: keep one of them
        f.yaml:4: the key `1` is not a text
          hint: put it in quotes if it is meant as a name
        f.yaml:5: a list or map is used as a key
          hint: keys are plain names
        f.yaml:6: a list or map is used as a key
          hint: keys are plain names
        f.yaml:7: merge keys (`<<`) are not supported
          hint: write the fields out
        f.yaml:8: the tag `!foo` means nothing here
          hint: remove it
        ");
        insta::assert_snapshot!(report("a: 1\n---\nb: 2\n"), @r"
        f.yaml:2: a second document starts here
          hint: keep one document per file: remove `---`
        ");
        insta::assert_snapshot!(report("a:\n\tb: 1\n"), @r"
        f.yaml:2: not valid YAML: tabs disallowed within this context (block indentation)
          hint: indent with spaces: YAML does not allow tabs
        ");
        insta::assert_snapshot!(report("a: *nope\n"), @r"
        f.yaml:1: not valid YAML: while parsing node, found unknown anchor
          hint: look at this line and the one above it
        ");
        insta::assert_snapshot!(report("a: &x [*x]\n"), @"f.yaml:1: this alias stands inside what it repeats");
        insta::assert_snapshot!(report("# nothing\n"), @r"
        f.yaml: the file is empty
          hint: `tinderbox init` writes a commented example
        ");
    }

    #[test]
    fn bombs_are_refused() {
        let mut laughs = String::from("l0: &l0 [x,x,x,x,x,x,x,x,x]\n");
        for level in 1..10 {
            let below = format!("*l{},", level - 1).repeat(9);
            laughs.push_str(&format!("l{level}: &l{level} [{below}]\n"));
        }
        assert!(report(&laughs).contains("repeats too much"));
        let chain: String = (1..500)
            .fold("a0: &a0 []\n".to_owned(), |text, n| text + &format!("a{n}: &a{n} [*a{}]\n", n - 1));
        assert!(report(&chain).contains("too deeply"));
        assert!(report(&"[".repeat(10_000)).contains("recursion limit"));
        assert!(report(&"- ".repeat(10_000)).contains("too deeply"));
    }
}
