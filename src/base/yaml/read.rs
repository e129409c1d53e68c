//! Parses YAML into a tree whose nodes know their line and whose scalars keep the text as written. Use it for files
//! that people write: messages, edits, patches. Data that can reach an id is a [`Value`](crate::base::value::Value).
//!
//! It works on parser events because a loaded document has already lost what we report: duplicate keys, aliases,
//! whether `4.10` was quoted. Invariant: for any input, the tree is at most [`MAX_DEPTH`] deep and has at most
//! [`MAX_NODES`] nodes, so later code may recurse and copy.
//!
//! There are two dialects. What users write is read strictly: [`documents`] and [`parse`] refuse whatever two readers
//! could understand differently. What a release carries was written for Go, and [`go_documents`] reads it as
//! [Go does](super::go).

use std::collections::BTreeMap;
use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Tag};

use super::adapt::Adapted;
use super::go;
use super::scalar::{Scalar, resolve};
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
    let (mut documents, complete) = read(source, 1, Dialect::Strict, problems);
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
    read(source, usize::MAX, Dialect::Strict, problems).0
}

/// The same of a file that was written for Go: a manifest of a release, or what an operator rendered.
pub fn go_documents(source: Source<'_>, problems: &mut Problems) -> Vec<YamlNode> {
    read(source, usize::MAX, Dialect::Go, problems).0
}

/// Whose rules apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Strict,
    Go,
}

/// At most `limit` documents, and whether the text could be parsed.
fn read(
    source: Source<'_>,
    limit: usize,
    dialect: Dialect,
    problems: &mut Problems,
) -> (Vec<YamlNode>, bool) {
    let mut adapted = match dialect {
        Dialect::Strict => Adapted::new(source.text),
        Dialect::Go => Adapted::with_newline(source.text),
    };
    loop {
        let mut builder = Builder {
            source,
            adapted: &adapted,
            limit,
            dialect,
            problems: Problems::default(),
            stack: Vec::new(),
            anchors: BTreeMap::new(),
            nodes: 0,
            roots: Vec::new(),
            cursor: (0, 0),
        };
        let complete = match builder.run() {
            Ok(complete) => complete,
            Err(error) => {
                let at = builder.byte(error.marker().index());
                if dialect == Dialect::Go
                    && let Some(again) = adapted.accept(error.info(), at)
                {
                    adapted = again;
                    continue;
                }
                builder.syntax_error(adapted.line(error.marker().line(), at), error.info());
                false
            }
        };
        problems.0.append(&mut builder.problems.0);
        return (builder.roots, complete);
    }
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
    Map { entries: Vec<YamlEntry>, seen: Seen, slot: Slot },
}

/// Which of a mapping's entries has a key.
type Seen = BTreeMap<String, usize>;

/// The role of the next node in a mapping.
enum Slot {
    Key,
    /// The maps whose entries the mapping takes over.
    Merge,
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
    /// What is parsed. Places in it become places of the source before anybody sees them.
    adapted: &'a Adapted<'a>,
    dialect: Dialect,
    problems: Problems,
    stack: Vec<Open>,
    anchors: BTreeMap<usize, YamlNode>,
    nodes: usize,
    limit: usize,
    roots: Vec<YamlNode>,
    /// A position in the parsed text, in characters (which the parser counts) and in bytes.
    cursor: (usize, usize),
}

impl Builder<'_> {
    /// Processes all events; false if a limit was reached.
    fn run(&mut self) -> Result<bool, ScanError> {
        let mut documents = 0;
        for event in Parser::new_from_str(self.adapted.text()) {
            let (event, span) = event?;
            let bytes = self.byte(span.start.index())..self.byte(span.end.index());
            let line = self.adapted.line(span.start.line(), bytes.start);
            if let Event::DocumentStart(explicit) = event {
                documents += 1;
                if documents > self.limit {
                    self.report(
                        line,
                        "a second document starts here",
                        Some("keep one document per file: remove `---`"),
                    );
                    return Ok(true);
                }
                if self.dialect == Dialect::Go && documents > 1 && !explicit {
                    self.report(line, "Go ignores what stands here, between `...` and the next `---`", None);
                    return Ok(false);
                }
            }
            if !self.event(event, line, bytes) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The byte offset of a character. Events are nearly in text order, so the cursor moves little.
    fn byte(&mut self, character: usize) -> usize {
        let (text, (mut characters, mut bytes)) = (self.adapted.text(), self.cursor);
        while let (true, Some(next)) = (characters < character, text[bytes..].chars().next()) {
            (characters, bytes) = (characters + 1, bytes + next.len_utf8());
        }
        while let (true, Some(last)) = (characters > character, text[..bytes].chars().next_back()) {
            (characters, bytes) = (characters - 1, bytes - last.len_utf8());
        }
        self.cursor = (characters, bytes);
        bytes
    }

    /// Processes one event; false if a limit was reached.
    fn event(&mut self, event: Event<'_>, line: usize, bytes: Range<usize>) -> bool {
        let node = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let (text, plain) =
                    self.scalar(text.into_owned(), style == ScalarStyle::Plain, tag.as_deref(), line);
                let written = self.adapted.text().get(bytes.clone()).unwrap_or_default();
                let span = self.place(&(bytes.start..bytes.start + length(written)));
                let node = YamlNode { line, span, data: YamlData::Scalar { text, plain } };
                self.remember(anchor, &node);
                node
            }
            Event::SequenceStart(anchor, tag) => {
                self.check_tag(tag.as_deref(), line);
                return self.open(line, self.place(&bytes).start, anchor, OpenKind::List(Vec::new()));
            }
            Event::MappingStart(anchor, tag) => {
                self.check_tag(tag.as_deref(), line);
                let kind = OpenKind::Map { entries: Vec::new(), seen: Seen::new(), slot: Slot::Key };
                return self.open(line, self.place(&bytes).start, anchor, kind);
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
                let end = if bytes.is_empty() { last.unwrap_or(start) } else { self.place(&bytes).end };
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
                    YamlNode { line, span: self.place(&bytes), data: node.data.clone() }
                }
                None => {
                    self.report(line, "this alias stands inside what it repeats", None);
                    let data = YamlData::Scalar { text: String::new(), plain: true };
                    YamlNode { line, span: self.place(&bytes), data }
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
        let (line, at) = (node.line, node.span.start);
        let refused = match &mut open.kind {
            OpenKind::List(items) => {
                items.push(node);
                return;
            }
            OpenKind::Map { entries, seen, slot } => match std::mem::replace(slot, Slot::Key) {
                Slot::Ignored => return,
                Slot::Value { key, line, at } => {
                    put(entries, seen, YamlEntry { key, line, at, value: node });
                    return;
                }
                Slot::Merge => match go::merged(node) {
                    Ok(merged) => {
                        merged.into_iter().for_each(|entry| put(entries, seen, entry));
                        return;
                    }
                    Err(refused) => (refused.to_owned(), None),
                },
                Slot::Key => match (key_of(node, self.dialect), self.dialect) {
                    (Ok(key), Dialect::Strict) if seen.contains_key(&key) => {
                        *slot = Slot::Ignored;
                        let first =
                            seen.get(&key).and_then(|at| entries.get(*at)).map_or(line, |first| first.line);
                        (format!("`{key}` is given twice, first on line {first}"), Some("keep one of them"))
                    }
                    (Ok(key), _) => {
                        *slot = Slot::Value { key, line, at };
                        return;
                    }
                    (Err(Key::Merge), Dialect::Go) => {
                        *slot = Slot::Merge;
                        return;
                    }
                    (Err(key), _) => {
                        *slot = Slot::Ignored;
                        key.refused()
                    }
                },
            },
        };
        self.report(line, refused.0, refused.1);
    }

    fn remember(&mut self, anchor: usize, node: &YamlNode) {
        if anchor != 0 {
            self.nodes += node.measure().0;
            self.anchors.insert(anchor, node.clone());
        }
    }

    /// The bytes of the source that these bytes of the parsed text are.
    fn place(&self, bytes: &Range<usize>) -> Range<usize> {
        self.adapted.original(bytes.start)..self.adapted.original(bytes.end)
    }

    /// The text of a scalar, and whether it is still to be resolved.
    fn scalar(&mut self, text: String, plain: bool, tag: Option<&Tag>, line: usize) -> (String, bool) {
        let Some(tag) = tag else {
            if self.dialect == Dialect::Go && plain && go::is_not_json(&text) {
                self.report(line, format!("`{text}` is a number that JSON does not have"), None);
            }
            return (text, plain);
        };
        match self.dialect {
            Dialect::Strict => {
                let core = tag.is_yaml_core_schema();
                self.check_tag(Some(tag), line);
                (text, plain && core && tag.suffix != "str")
            }
            Dialect::Go => match go::tagged(tag, text) {
                Ok(scalar) => scalar,
                Err(refused) => {
                    self.report(line, refused, None);
                    (String::new(), false)
                }
            },
        }
    }

    /// Strictly, only tags of YAML itself are accepted; Go ignores those that it does not know.
    fn check_tag(&mut self, tag: Option<&Tag>, line: usize) {
        let Some(tag) = tag.filter(|_| self.dialect == Dialect::Strict) else { return };
        let known = tag.is_yaml_core_schema()
            && matches!(tag.suffix.as_str(), "str" | "int" | "bool" | "null" | "seq" | "map");
        if !known && tag.to_string() != "!" {
            self.report(line, format!("the tag `{tag}` means nothing here"), Some("remove it"));
        }
    }

    fn syntax_error(&mut self, line: usize, info: &str) {
        let text = self.source.text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
        let tab = text.trim_start_matches(' ').starts_with('\t');
        let hint = if tab {
            "indent with spaces: YAML does not allow tabs"
        } else if info.contains("indentation in quoted scalar") {
            "indent the lines of the quoted text deeper than its key, or close the quote on this line"
        } else if info.contains("invalid indentation") {
            "indent what stands in brackets deeper than the key in front of them, the closing bracket too"
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
pub(super) fn length(text: &str) -> usize {
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

/// Adds an entry; one that is there already is replaced, as the last one counts.
fn put(entries: &mut Vec<YamlEntry>, seen: &mut Seen, entry: YamlEntry) {
    match seen.get(&entry.key).and_then(|at| entries.get_mut(*at)) {
        Some(before) => *before = entry,
        None => {
            seen.insert(entry.key.clone(), entries.len());
            entries.push(entry);
        }
    }
}

/// Why a node is not a key.
enum Key {
    Empty,
    Collection,
    NotText(String),
    /// A word that Kubernetes reads as true or false.
    Bool(String, bool),
    Merge,
}

impl Key {
    /// In words, with a hint.
    fn refused(self) -> (String, Option<&'static str>) {
        const QUOTE: &str = "put it in quotes if it is meant as a name";
        match self {
            Self::Empty => ("a key is empty".into(), Some("write `name: value`")),
            Self::Collection => ("a list or map is used as a key".into(), Some("keys are plain names")),
            Self::NotText(text) => (format!("the key `{text}` is not a text"), Some(QUOTE)),
            Self::Bool(text, value) => {
                (format!("the key `{text}` is not a text: Kubernetes reads it as `{value}`"), Some(QUOTE))
            }
            Self::Merge => ("merge keys (`<<`) are not supported".into(), Some("write the fields out")),
        }
    }
}

fn key_of(node: YamlNode, dialect: Dialect) -> Result<String, Key> {
    if node.is_null() {
        return Err(Key::Empty);
    }
    let YamlData::Scalar { text, plain } = node.data else { return Err(Key::Collection) };
    match if plain { resolve(&text) } else { Scalar::Text } {
        Scalar::Text if plain && text == "<<" => Err(Key::Merge),
        Scalar::Text => Ok(text),
        scalar if dialect == Dialect::Go => go::key(scalar).ok_or(Key::NotText(text)),
        Scalar::Bool(value) if text != value.to_string() => Err(Key::Bool(text, value)),
        _ => Err(Key::NotText(text)),
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
        insta::assert_snapshot!(report("on: 1\ny: 2\n0x1: 3\n'no': 4\n"), @r"
        f.yaml:1: the key `on` is not a text: Kubernetes reads it as `true`
          hint: put it in quotes if it is meant as a name
        f.yaml:2: the key `y` is not a text: Kubernetes reads it as `true`
          hint: put it in quotes if it is meant as a name
        f.yaml:3: the key `0x1` is not a text
          hint: put it in quotes if it is meant as a name
        ");
        insta::assert_snapshot!(report("a: 1\n---\nb: 2\n"), @r"
        f.yaml:2: a second document starts here
          hint: keep one document per file: remove `---`
        ");
        insta::assert_snapshot!(report("a:\n\tb: 1\n"), @r"
        f.yaml:2: not valid YAML: tabs disallowed within this context (block indentation)
          hint: indent with spaces: YAML does not allow tabs
        ");
        // Go reads these, so a release may have them; a user is told what to write.
        insta::assert_snapshot!(report("a: 1\nb:\n  c: 'x\n  z'\n"), @r"
        f.yaml:3: not valid YAML: invalid indentation in quoted scalar
          hint: indent the lines of the quoted text deeper than its key, or close the quote on this line
        ");
        insta::assert_snapshot!(report("a: 1\nb:\n  c: [x,\n    z\n]\n"), @r"
        f.yaml:5: not valid YAML: invalid indentation
          hint: indent what stands in brackets deeper than the key in front of them, the closing bracket too
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
