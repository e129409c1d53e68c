//! Reads YAML and JSON: block and flow style, quoted and block scalars, several documents.
//!
//! Small on purpose. Anchors, aliases, tags, directives and keys that are no text are refused by name, and so is every
//! key that stands twice: nothing is guessed.

use std::collections::BTreeMap;

use super::flow::Cursor;
use super::value::Value;

/// Deeper than this is an attack, not a manifest.
const DEPTH: usize = 64;

/// The documents of a text, empty ones left out.
pub(super) fn documents(text: &str) -> Result<Vec<Value>, String> {
    let mut all = Vec::new();
    let mut reader = Reader { lines: Vec::new(), first: 1, at: 0, depth: 0 };
    for (number, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        if line.starts_with('%') && reader.lines.iter().all(|line| is_blank(line)) {
            return Err(format!("line {}: directives are not known to this reader", number + 1));
        }
        let end = line.trim_end();
        if end == "---" || end == "..." || line.starts_with("--- ") {
            if !is_blank(line.get(3..).unwrap_or_default()) {
                return Err(format!("line {}: text beside `---` is not known to this reader", number + 1));
            }
            all.extend(reader.document()?);
            reader = Reader { lines: Vec::new(), first: number + 2, at: 0, depth: 0 };
        } else {
            reader.lines.push(line.to_owned());
        }
    }
    all.extend(reader.document()?);
    Ok(all)
}

/// What an unquoted text means.
pub(super) fn resolve(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => return Value::Bool(true),
        "false" | "False" | "FALSE" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => {
            return Value::Bool(false);
        }
        _ => {}
    }
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return Value::from(text);
    }
    let radix = |prefix: &str, radix| {
        digits.strip_prefix(prefix).and_then(|rest| i64::from_str_radix(rest, radix).ok())
    };
    let octal = if digits.len() > 1 { radix("0", 8) } else { None };
    if let Some(number) = octal.or_else(|| radix("0x", 16)).or_else(|| radix("0o", 8)) {
        let sign = if text.starts_with('-') { "-" } else { "" };
        return Value::Number(format!("{sign}{number}"));
    }
    let numeric = digits.bytes().all(|c| c.is_ascii_digit() || b".eE+-".contains(&c));
    if numeric && digits.parse::<f64>().is_ok_and(f64::is_finite) {
        return Value::Number(text.trim_start_matches('+').to_owned());
    }
    Value::from(text)
}

pub(super) fn is_blank(text: &str) -> bool {
    let text = text.trim_start();
    text.is_empty() || text.starts_with('#')
}

pub(super) fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

struct Reader {
    lines: Vec<String>,
    first: usize,
    at: usize,
    depth: usize,
}

impl Reader {
    fn document(&mut self) -> Result<Option<Value>, String> {
        if self.next()?.is_none() {
            return Ok(None);
        }
        let value = self.node(-1)?;
        match self.next()? {
            None => Ok(Some(value)),
            Some(_) => Err(self.wrong("this belongs to nothing before it; is its indentation right?")),
        }
    }

    fn wrong(&self, problem: &str) -> String {
        format!("line {}: {problem}", self.first + self.at)
    }

    /// Moves to the next line that says something; its indentation.
    fn next(&mut self) -> Result<Option<usize>, String> {
        while self.lines.get(self.at).is_some_and(|line| is_blank(line)) {
            self.at += 1;
        }
        let Some(line) = self.lines.get(self.at) else { return Ok(None) };
        let indent = indent_of(line);
        let flow = line.trim_start().starts_with(['{', '[', '}', ']', '"']);
        if line[indent..].starts_with('\t') && !flow {
            return Err(self.wrong("a tab cannot indent"));
        }
        Ok(Some(indent))
    }

    /// A node that is indented deeper than `parent`; null if there is none.
    fn node(&mut self, parent: isize) -> Result<Value, String> {
        let Some(indent) = self.next()?.filter(|indent| *indent as isize > parent) else {
            return Ok(Value::Null);
        };
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(self.wrong("nested too deeply"));
        }
        let content = &self.lines[self.at][indent..];
        let value = if is_item(content) {
            self.sequence(indent)
        } else if key_end(content).map_err(|problem| self.wrong(&problem))?.is_some() {
            self.mapping(indent)
        } else {
            self.inline(indent, parent)
        };
        self.depth -= 1;
        value
    }

    fn sequence(&mut self, indent: usize) -> Result<Value, String> {
        let mut list = Vec::new();
        while self.next()? == Some(indent) && is_item(&self.lines[self.at][indent..]) {
            // `- x` is x on a line of its own, as far in as it stands.
            self.lines[self.at].replace_range(indent..=indent, " ");
            if is_blank(&self.lines[self.at]) {
                self.at += 1;
            }
            list.push(self.node(indent as isize)?);
        }
        Ok(Value::List(list))
    }

    fn mapping(&mut self, indent: usize) -> Result<Value, String> {
        let mut map = BTreeMap::new();
        while self.next()? == Some(indent) {
            let content = self.lines[self.at][indent..].to_owned();
            if is_item(&content) {
                break;
            }
            let Some((key, colon)) = key_end(&content).map_err(|problem| self.wrong(&problem))? else {
                return Err(self.wrong("expected `key: value`"));
            };
            if map.contains_key(&key) {
                return Err(self.wrong(&format!("key `{key}` stands twice")));
            }
            let rest = &content[colon + 1..];
            let value = if is_blank(rest) {
                self.at += 1;
                match self.next()? {
                    Some(below) if below == indent && is_item(&self.lines[self.at][indent..]) => {
                        self.sequence(indent)?
                    }
                    _ => self.node(indent as isize)?,
                }
            } else {
                self.inline(indent + colon + 1 + (rest.len() - rest.trim_start().len()), indent as isize)?
            };
            map.insert(key, value);
        }
        Ok(Value::Map(map))
    }

    /// A scalar or a flow collection that begins on this line at this column.
    fn inline(&mut self, column: usize, parent: isize) -> Result<Value, String> {
        let text = &self.lines[self.at][column..];
        let known = |what: &str| format!("{what} are not known to this reader");
        match text.as_bytes().first() {
            Some(b'|' | b'>') => self.block_scalar(column, parent),
            Some(b'"' | b'\'' | b'[' | b'{') => {
                let mut cursor = Cursor::new(&self.lines, self.at, column);
                let value = cursor.value(0);
                self.at = cursor.row;
                let value = value.map_err(|problem| self.wrong(&problem))?;
                let rest = &self.lines[self.at][cursor.column..];
                if !is_blank(rest) {
                    return Err(self.wrong(&format!("`{}` follows a finished value", rest.trim())));
                }
                self.at += 1;
                Ok(value)
            }
            Some(b'&') => Err(self.wrong(&known("anchors"))),
            Some(b'*') => Err(self.wrong(&known("aliases"))),
            Some(b'!') => Err(self.wrong(&known("tags"))),
            Some(c @ (b'%' | b'@' | b'`' | b',' | b']' | b'}')) => {
                Err(self.wrong(&format!("a value cannot begin with `{}`", char::from(*c))))
            }
            _ => self.plain(column, parent),
        }
    }

    fn plain(&mut self, column: usize, parent: isize) -> Result<Value, String> {
        let mut text = uncommented(&self.lines[self.at][column..]).to_owned();
        if text.contains(": ") || text.ends_with(':') {
            return Err(self.wrong("a mapping cannot begin here; quote the text if it is one"));
        }
        self.at += 1;
        let (mut blank, mut more) = (0, false);
        while let Some(line) = self.lines.get(self.at) {
            if line.trim().is_empty() {
                blank += 1;
                self.at += 1;
                continue;
            }
            if indent_of(line) as isize <= parent || is_blank(line) {
                break;
            }
            let next = uncommented(line.trim_start());
            if next.contains(": ") || next.ends_with(':') {
                return Err(self.wrong("a mapping cannot begin here; is its indentation right?"));
            }
            text.push_str(&if blank == 0 { " ".to_owned() } else { "\n".repeat(blank) });
            text.push_str(next);
            (blank, more) = (0, true);
            self.at += 1;
        }
        Ok(if more { Value::Text(text) } else { resolve(&text) })
    }

    fn block_scalar(&mut self, column: usize, parent: isize) -> Result<Value, String> {
        let header = uncommented(&self.lines[self.at][column..]).to_owned();
        let folded = header.starts_with('>');
        let (mut chomp, mut width) = (' ', None);
        for c in header.chars().skip(1) {
            match c {
                '+' | '-' => chomp = c,
                '1'..='9' => width = c.to_digit(10),
                _ => return Err(self.wrong(&format!("`{header}` does not begin a block of text"))),
            }
        }
        self.at += 1;
        let least = (parent + 1).max(0) as usize;
        let mut indent = width.map(|width| parent.max(0) as usize + width as usize);
        let mut lines: Vec<String> = Vec::new();
        while let Some(line) = self.lines.get(self.at) {
            let here = indent_of(line);
            if here == line.len() {
                lines.push(line.get(indent.unwrap_or(here)..).unwrap_or_default().to_owned());
            } else if here >= *indent.get_or_insert(here.max(least)) {
                lines.push(line[indent.unwrap_or(here)..].to_owned());
            } else {
                break;
            }
            self.at += 1;
        }
        let end = lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
        let trailing = lines.split_off(end).len();
        let mut text = if folded { fold(&lines) } else { lines.join("\n") };
        match chomp {
            '-' => {}
            '+' => text.push_str(&"\n".repeat(trailing + usize::from(end > 0))),
            _ => text.push_str(if end > 0 { "\n" } else { "" }),
        }
        Ok(Value::Text(text))
    }
}

/// Joins lines with a space; blank lines and lines that are indented deeper keep their breaks.
fn fold(lines: &[String]) -> String {
    let mut text = String::new();
    let deep = |line: &str| line.starts_with([' ', '\t']);
    let (mut last, mut blank): (Option<&str>, usize) = (None, 0);
    for line in lines {
        if line.is_empty() {
            blank += 1;
            continue;
        }
        if let Some(last) = last {
            let kept = deep(last) || deep(line);
            text.push_str(&match (blank, kept) {
                (0, false) => " ".to_owned(),
                (blank, false) => "\n".repeat(blank),
                (blank, true) => "\n".repeat(blank + 1),
            });
        } else {
            text.push_str(&"\n".repeat(blank));
        }
        text.push_str(line);
        (last, blank) = (Some(line.as_str()), 0);
    }
    text
}

/// Without a comment at its end, and without the space before it.
fn uncommented(text: &str) -> &str {
    let end = text.find(" #").or_else(|| text.find("\t#")).unwrap_or(text.len());
    text[..end].trim_end()
}

fn is_item(content: &str) -> bool {
    content == "-" || content.starts_with("- ") || content.starts_with("-\t")
}

/// The key that this line begins with, and where its colon is; nothing if it begins with no key.
fn key_end(content: &str) -> Result<Option<(String, usize)>, String> {
    if content.starts_with("? ") || content == "?" {
        return Err("keys with `?` are not known to this reader".into());
    }
    if content.starts_with(['[', '{', '|', '>', '#']) {
        return Ok(None);
    }
    let ends = |rest: &str| rest.is_empty() || rest.starts_with([' ', '\t']);
    if content.starts_with(['"', '\'']) {
        let lines = [content.to_owned()];
        let mut cursor = Cursor::new(&lines, 0, 0);
        let Ok(Value::Text(key)) = cursor.value(0) else { return Ok(None) };
        let rest = &content[cursor.column..];
        let colon = cursor.column + (rest.len() - rest.trim_start().len());
        let is_key = cursor.row == 0 && content[colon..].strip_prefix(':').is_some_and(ends);
        return Ok(is_key.then_some((key, colon)));
    }
    let comment = content.find(" #").unwrap_or(content.len());
    let colon = content[..comment].match_indices(':').find(|(at, _)| ends(&content[at + 1..]));
    match colon {
        Some((0, _)) => Err("a key is missing before `:`".into()),
        Some(_) if content.starts_with(['&', '*', '!']) => {
            Err("anchors, aliases and tags are not known to this reader".into())
        }
        Some((at, _)) if &content[..at] == "<<" => Err("merge keys are not known to this reader".into()),
        Some((at, _)) => Ok(Some((content[..at].trim_end().to_owned(), at))),
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::super::write::json;
    use super::*;

    fn read(text: &str) -> String {
        match documents(text) {
            Ok(all) => all.iter().map(json).collect::<Vec<_>>().join(" "),
            Err(problem) => problem,
        }
    }

    #[test]
    fn block_style() {
        assert_eq!(
            read("a: 1\nb:\n  c: x y # note\n  d:\nl:\n- 1\n- - 2\n  - 3\n- k: v\n  w: z\n"),
            r#"{"a":1,"b":{"c":"x y","d":null},"l":[1,[2,3],{"k":"v","w":"z"}]}"#
        );
        assert_eq!(read("a:\n    - x\n    -\n      y: 1\n    -   z\n"), r#"{"a":["x",{"y":1},"z"]}"#);
        assert_eq!(
            read("a: one\n  two\n\n  three\nb: http://x:80/#y\n"),
            r#"{"a":"one two\nthree","b":"http://x:80/#y"}"#
        );
        assert_eq!(read("\"a b\": 'it''s'\n'c': \"x\\u00e9\\n\"\n"), r#"{"a b":"it's","c":"xé\n"}"#);
    }

    #[test]
    fn several_documents_and_comments() {
        assert_eq!(read("# c\n---\na: 1\n---\n# nothing\n---\nb: 2\n...\n"), r#"{"a":1} {"b":2}"#);
        assert_eq!(read(""), "");
        assert_eq!(read("just words\n"), r#""just words""#);
    }

    #[test]
    fn flow_style_and_json() {
        assert_eq!(
            read("a: {b: [1, x y, \"z\"], c: , d}\n"),
            r#"{"a":{"b":[1,"x y","z"],"c":null,"d":null}}"#
        );
        assert_eq!(
            read("{\n\t\"a\": [\n\t\ttrue,\n\t\tnull\n\t],\n \"u\": \"\\ud83d\\ude00\\/\"\n}\n"),
            r#"{"a":[true,null],"u":"😀/"}"#
        );
        assert_eq!(read("a: [\n  1, # one\n  2,\n]\nb: []\n"), r#"{"a":[1,2],"b":[]}"#);
        assert_eq!(read("a: {u: http://x:1/y, v: 1}\n"), r#"{"a":{"u":"http://x:1/y","v":1}}"#);
    }

    #[test]
    fn block_scalars() {
        assert_eq!(
            read("a: |\n  x\n   y\n\n  z\nb: |-\n  x\n\nc: |+\n  x\n\nd: |2\n   x\n"),
            r#"{"a":"x\n y\n\nz\n","b":"x","c":"x\n\n","d":" x\n"}"#
        );
        assert_eq!(read("a: >\n  x\n  y\n\n  z\n    deep\n  w\n"), r#"{"a":"x y\nz\n  deep\nw\n"}"#);
        assert_eq!(read("- |\n  # no comment\n  a: b\n- x\n"), "[\"# no comment\\na: b\\n\",\"x\"]");
    }

    #[test]
    fn scalars_mean_what_go_says() {
        assert_eq!(
            read("[0644, 420, 0x1F, -1, 1.5, yes, off, ~, 1.2.3, 4.18.0, 08, 1e3, +3, \"0644\"]"),
            r#"[420,420,31,-1,1.5,true,false,null,"1.2.3","4.18.0",08,1e3,3,"0644"]"#
        );
    }

    #[test]
    fn what_is_not_known_is_refused_by_name() {
        for (text, problem) in [
            ("a: &x 1\n", "line 1: anchors are not known to this reader"),
            ("a: 1\nb: *x\n", "line 2: aliases are not known to this reader"),
            ("a: !!str 1\n", "line 1: tags are not known to this reader"),
            ("&x a: 1\n", "line 1: anchors, aliases and tags are not known to this reader"),
            ("%YAML 1.2\n---\na: 1\n", "line 1: directives are not known to this reader"),
            ("? a\n: b\n", "line 1: keys with `?` are not known to this reader"),
            ("a:\n  <<: {}\n", "line 2: merge keys are not known to this reader"),
            ("a: 1\na: 2\n", "line 2: key `a` stands twice"),
            ("{a: 1, a: 2}\n", "line 1: key `a` stands twice"),
            ("a:\n\tb: 1\n", "line 2: a tab cannot indent"),
            ("a: b: c\n", "line 1: a mapping cannot begin here; quote the text if it is one"),
            ("a: 1\n   b: 2\n", "line 2: a mapping cannot begin here; is its indentation right?"),
            ("  a: 1\nb: 2\n", "line 2: this belongs to nothing before it; is its indentation right?"),
            ("a: [1, 2\n", "line 1: the text ends inside a value"),
            ("a: \"x\n", "line 1: the text ends inside a value"),
            ("a: 'x' y\n", "line 1: `y` follows a finished value"),
            ("a: \"\\q\"\n", "line 1: `\\q` is not an escape"),
            ("a: @x\n", "line 1: a value cannot begin with `@`"),
            ("--- a\n", "line 1: text beside `---` is not known to this reader"),
            ("a: |x\n", "line 1: `|x` does not begin a block of text"),
        ] {
            assert_eq!(read(text), problem, "{text}");
        }
        assert!(read(&"[".repeat(100_000)).contains("nested too deeply"));
        assert!(read(&"- ".repeat(100_000)).contains("nested too deeply"));
    }

    proptest::proptest! {
        #[test]
        fn reading_never_panics(text in "[-a:#'\"|>\\[\\]{},&*!? \t\n0.é+\\\\]{0,60}") {
            let _ = documents(&text);
        }
    }
}
