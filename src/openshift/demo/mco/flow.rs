//! Quoted text and flow collections: what may run over several lines. JSON is a part of this.

use std::collections::BTreeMap;

use super::read::{is_blank, resolve};
use super::value::Value;

const DEPTH: usize = 64;

/// A place in the lines of a document. The end of a line reads as a newline.
pub(super) struct Cursor<'a> {
    lines: &'a [String],
    pub(super) row: usize,
    pub(super) column: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(lines: &'a [String], row: usize, column: usize) -> Self {
        Self { lines, row, column }
    }

    /// A quoted text, a list, a map, or a plain scalar inside of one.
    pub(super) fn value(&mut self, depth: usize) -> Result<Value, String> {
        if depth > DEPTH {
            return Err("nested too deeply".into());
        }
        match self.peek()? {
            '"' => self.double_quoted().map(Value::Text),
            '\'' => self.single_quoted().map(Value::Text),
            '[' => self.list(depth),
            '{' => self.map(depth),
            '&' | '*' | '!' => Err("anchors, aliases and tags are not known to this reader".into()),
            _ => self.plain().map(|text| resolve(&text)),
        }
    }

    fn rest(&self) -> &'a str {
        let lines = self.lines;
        lines.get(self.row).and_then(|line| line.get(self.column..)).unwrap_or_default()
    }

    fn peek(&self) -> Result<char, String> {
        match self.rest().chars().next() {
            Some(c) => Ok(c),
            None if self.row + 1 < self.lines.len() => Ok('\n'),
            None => Err("the text ends inside a value".into()),
        }
    }

    fn take(&mut self) -> Result<char, String> {
        let c = self.peek()?;
        if self.rest().is_empty() {
            (self.row, self.column) = (self.row + 1, 0);
        } else {
            self.column += c.len_utf8();
        }
        Ok(c)
    }

    /// Past white space, line ends and comments.
    fn skip(&mut self) -> Result<char, String> {
        loop {
            if is_blank(self.rest()) {
                self.column = self.lines[self.row].len();
            }
            match self.peek()? {
                ' ' | '\t' | '\n' => self.take()?,
                c => return Ok(c),
            };
        }
    }

    fn list(&mut self, depth: usize) -> Result<Value, String> {
        self.take()?;
        let mut list = Vec::new();
        while self.skip()? != ']' {
            list.push(self.value(depth + 1)?);
            self.separator(']')?;
        }
        self.take()?;
        Ok(Value::List(list))
    }

    fn map(&mut self, depth: usize) -> Result<Value, String> {
        self.take()?;
        let mut map = BTreeMap::new();
        while self.skip()? != '}' {
            let key = match self.peek()? {
                '"' => self.double_quoted()?,
                '\'' => self.single_quoted()?,
                _ => self.plain()?,
            };
            let mut value = Value::Null;
            if self.skip()? == ':' {
                self.take()?;
                if !matches!(self.skip()?, ',' | '}') {
                    value = self.value(depth + 1)?;
                }
            }
            if map.contains_key(&key) {
                return Err(format!("key `{key}` stands twice"));
            }
            map.insert(key, value);
            self.separator('}')?;
        }
        self.take()?;
        Ok(Value::Map(map))
    }

    fn separator(&mut self, end: char) -> Result<(), String> {
        match self.skip()? {
            ',' => self.take().map(|_| ()),
            c if c == end => Ok(()),
            c => Err(format!("expected `,` or `{end}`, found `{c}`")),
        }
    }

    fn plain(&mut self) -> Result<String, String> {
        let rest = self.rest();
        let end = rest.char_indices().find(|(at, c)| match c {
            ',' | '[' | ']' | '{' | '}' => true,
            ':' => rest[at + 1..].chars().next().is_none_or(|next| " \t,[]{}".contains(next)),
            '#' => rest[..*at].ends_with([' ', '\t']),
            _ => false,
        });
        let text = &rest[..end.map_or(rest.len(), |(at, _)| at)];
        if text.is_empty() {
            return Err(format!("expected a value, found `{}`", self.peek()?));
        }
        self.column += text.len();
        Ok(text.trim_end().to_owned())
    }

    fn single_quoted(&mut self) -> Result<String, String> {
        self.take()?;
        let mut text = String::new();
        loop {
            match self.take()? {
                '\'' if self.rest().starts_with('\'') => text.push(self.take()?),
                '\'' => return Ok(text),
                '\n' => self.fold(&mut text)?,
                c => text.push(c),
            }
        }
    }

    fn double_quoted(&mut self) -> Result<String, String> {
        self.take()?;
        let mut text = String::new();
        loop {
            match self.take()? {
                '"' => return Ok(text),
                '\\' => self.escape(&mut text)?,
                '\n' => self.fold(&mut text)?,
                c => text.push(c),
            }
        }
    }

    /// A line end inside quotes is a space; blank lines after it are the line ends.
    fn fold(&mut self, text: &mut String) -> Result<(), String> {
        text.truncate(text.trim_end_matches([' ', '\t']).len());
        let mut blank = 0;
        while matches!(self.peek()?, ' ' | '\t' | '\n') {
            blank += usize::from(self.take()? == '\n');
        }
        text.push_str(&if blank == 0 { " ".to_owned() } else { "\n".repeat(blank) });
        Ok(())
    }

    fn escape(&mut self, text: &mut String) -> Result<(), String> {
        let c = self.take()?;
        text.push(match c {
            '0' => '\0',
            'a' => '\u{7}',
            'b' => '\u{8}',
            't' | '\t' => '\t',
            'n' => '\n',
            'v' => '\u{b}',
            'f' => '\u{c}',
            'r' => '\r',
            'e' => '\u{1b}',
            ' ' | '"' | '/' | '\\' => c,
            'x' => self.code(2)?,
            'u' => self.code(4)?,
            'U' => self.code(8)?,
            '\n' => {
                while matches!(self.peek()?, ' ' | '\t') {
                    self.take()?;
                }
                return Ok(());
            }
            _ => return Err(format!("`\\{c}` is not an escape")),
        });
        Ok(())
    }

    fn code(&mut self, digits: usize) -> Result<char, String> {
        let high = self.hex(digits)?;
        if (0xd800..0xdc00).contains(&high) && self.rest().starts_with("\\u") {
            self.column += 2;
            let low = self.hex(4)?;
            if (0xdc00..0xe000).contains(&low) {
                let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                return char::from_u32(code).ok_or_else(|| "an escape names no character".into());
            }
        }
        char::from_u32(high).ok_or_else(|| "an escape names no character".into())
    }

    fn hex(&mut self, digits: usize) -> Result<u32, String> {
        let text = self.rest().get(..digits).filter(|text| text.bytes().all(|c| c.is_ascii_hexdigit()));
        let text = text.ok_or_else(|| format!("an escape needs {digits} hex digits"))?;
        self.column += digits;
        u32::from_str_radix(text, 16).map_err(|_| "an escape names no character".into())
    }
}
