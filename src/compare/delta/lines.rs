//! Indexes a YAML block by lines and indentation: mapping entries and list items are line ranges.

use std::ops::Range;

/// The indentation of an empty line or a comment.
const NOTHING: u32 = u32::MAX;

pub(super) struct Lines<'t> {
    text: &'t str,
    /// Start of each line, and its indentation. The last entry is the end of the text.
    lines: Vec<(u32, u32)>,
}

/// An entry of a block mapping.
pub(super) struct BlockEntry<'t> {
    pub(super) key: &'t str,
    pub(super) indent: usize,
    /// Whether nothing follows the colon.
    pub(super) is_block: bool,
    /// From its key to its end.
    pub(super) text: &'t str,
    /// All its lines but the first.
    pub(super) body: Range<usize>,
}

impl BlockEntry<'_> {
    /// Whether it is a literal block (`|`).
    pub(super) fn is_literal(&self) -> bool {
        self.text[self.key.len() + 1..].trim_start().starts_with(['|', '>'])
    }
}

impl<'t> Lines<'t> {
    /// None if the text is too large.
    pub(super) fn of(text: &'t str) -> Option<Self> {
        u32::try_from(text.len()).ok()?;
        let bytes = text.as_bytes();
        let mut lines = Vec::with_capacity(bytes.len() / 32);
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', bytes).chain([bytes.len()]) {
            if start == bytes.len() {
                break;
            }
            let indent = bytes[start..end].iter().take_while(|byte| **byte == b' ').count();
            let nothing = matches!(bytes.get(start + indent), None | Some(b'#' | b'\n' | b'\r' | b'\t'));
            lines.push((start as u32, if nothing { NOTHING } else { indent as u32 }));
            start = (end + 1).min(bytes.len());
        }
        lines.push((bytes.len() as u32, NOTHING));
        Some(Self { text, lines })
    }

    pub(super) fn all(&self) -> Range<usize> {
        0..self.lines.len() - 1
    }

    fn slice(&self, lines: Range<usize>) -> &'t str {
        &self.text[self.lines[lines.start].0 as usize..self.lines[lines.end].0 as usize]
    }

    /// The indentation of a block, and whether it is a list.
    pub(super) fn shape(&self, block: &Range<usize>) -> Option<(usize, bool)> {
        let first = block.clone().find(|line| self.lines[*line].1 != NOTHING)?;
        let indent = self.lines[first].1 as usize;
        Some((indent, self.slice(first..first + 1)[indent..].starts_with("- ")))
    }

    /// The entries of a mapping at this indentation; none if it is not a mapping or has duplicate keys.
    pub(super) fn entries(&self, block: Range<usize>, indent: usize) -> Option<Vec<BlockEntry<'t>>> {
        self.mapping(block, indent, false)
    }

    /// The items of a list at this indentation, if all are mappings.
    pub(super) fn items(&self, block: Range<usize>, indent: usize) -> Option<Vec<Vec<BlockEntry<'t>>>> {
        let mut starts = Vec::new();
        for line in block.clone() {
            match self.lines[line].1 {
                NOTHING => {}
                here if here as usize > indent => {}
                here if here as usize == indent && self.slice(line..line + 1)[indent..].starts_with("- ") => {
                    starts.push(line);
                }
                _ => return None,
            }
        }
        let ends = starts.iter().copied().skip(1).chain([block.end]);
        starts.iter().zip(ends).map(|(start, end)| self.mapping(*start..end, indent + 2, true)).collect()
    }

    /// `dash`: the first line starts an item, with a dash in place of its indentation.
    fn mapping(&self, block: Range<usize>, indent: usize, dash: bool) -> Option<Vec<BlockEntry<'t>>> {
        // Line, key, and whether it is a block.
        let mut found: Vec<(usize, &'t str, bool)> = Vec::new();
        for line in block.clone() {
            let first = dash && line == block.start;
            let here = if first { indent } else { self.lines[line].1 as usize };
            if self.lines[line].1 == NOTHING || here > indent {
                if self.lines[line].1 != NOTHING && found.is_empty() {
                    return None;
                }
                continue;
            }
            if here < indent {
                return None;
            }
            let content = self.slice(line..line + 1)[indent..].trim_end();
            if content.starts_with("- ") && found.last().is_some_and(|(.., is_block)| *is_block) && !first {
                continue;
            }
            let (key, is_block) = key_of(content)?;
            found.push((line, key, is_block));
        }
        let ends = found.iter().skip(1).map(|entry| entry.0).chain([block.end]);
        let entries = found.iter().zip(ends).map(|((line, key, is_block), end)| BlockEntry {
            key,
            indent,
            is_block: *is_block,
            text: &self.slice(*line..end)[indent..],
            body: line + 1..end,
        });
        let entries: Vec<BlockEntry<'t>> = entries.collect();
        let mut keys: Vec<&str> = entries.iter().map(|entry| entry.key).collect();
        keys.sort_unstable();
        keys.windows(2).all(|pair| pair[0] != pair[1]).then_some(entries)
    }
}

/// A plain key, and whether nothing follows its colon; none for anything else.
fn key_of(content: &str) -> Option<(&str, bool)> {
    let (key, value) = content.split_once(':')?;
    let plain = |c: u8| c.is_ascii_alphanumeric() || b"_./$-".contains(&c);
    let odd =
        value.trim_start().starts_with(['&', '*', '!']) || !(value.is_empty() || value.starts_with(' '));
    let fits = !key.is_empty() && !key.starts_with('-') && key.bytes().all(plain) && !odd;
    fits.then_some((key, value.is_empty()))
}
