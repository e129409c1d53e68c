//! Finds the line of a template that wrote a line of its output.
//!
//! Matches the text outside `{{ … }}` and `{% … %}`. Except for loops, lines come in the template's order, so the next
//! of several matches is taken. A line that is all value belongs to the `{{ … }}` after the preceding line.

use crate::base::hint::Place;
use crate::base::value::Value;
use crate::engine::recipe::GraphNode;

/// The lines of a template, with its includes expanded.
pub(in crate::cli) struct Template {
    pub(in crate::cli) lines: Vec<Line>,
}

pub(in crate::cli) struct Line {
    /// As shown to the user.
    file: String,
    /// From 1.
    number: usize,
    pub(in crate::cli) text: String,
    /// The text between tags.
    literals: Vec<String>,
    /// Whether a tag determines how often a part of it is written.
    blocks: bool,
}

impl Template {
    pub(in crate::cli) fn new(node: &GraphNode, file: &str) -> Self {
        let mut template = Self { lines: Vec::new() };
        template.add(node, file, 0);
        template
    }

    fn add(&mut self, node: &GraphNode, file: &str, depth: usize) {
        let Some(Value::Map(files)) = node.params.get("files") else { return };
        let Some(text) = files.get(file).and_then(Value::as_text) else { return };
        let shown = node.files.get(file).cloned().unwrap_or_else(|| file.to_owned());
        let mut open = None;
        for (at, text) in text.lines().enumerate() {
            let (literals, blocks) = cut(text, &mut open);
            let included = text.split_once("{% include \"").and_then(|(_, rest)| rest.split_once('"'));
            match included {
                Some((part, _)) if depth < 8 => self.add(node, part, depth + 1),
                _ => self.lines.push(Line {
                    file: shown.clone(),
                    number: at + 1,
                    text: text.to_owned(),
                    literals,
                    blocks,
                }),
            }
        }
    }

    pub(in crate::cli) fn place(&self, at: usize) -> Place {
        let line = &self.lines[at];
        Place { file: line.file.clone(), line: Some(line.number), field: String::new() }
    }

    /// For every line of the output, the line that wrote it.
    pub(in crate::cli) fn align(&self, output: &[&str]) -> Vec<Option<usize>> {
        let mut next = 0;
        let mut last = None;
        let mut found = Vec::with_capacity(output.len());
        for line in output {
            let fits = |at: &usize| self.lines[*at].wrote(line);
            let at = (next..self.lines.len()).find(fits).or_else(|| (0..next).rev().find(fits));
            if let Some(at) = at {
                next = at + 1;
                last = Some(at);
            }
            let value = || {
                let from = last.map_or(0, |at| at + 1);
                let mut rest = (from..self.lines.len()).take_while(|at| self.lines[*at].weight() == 0);
                rest.find(|at| self.lines[*at].text.contains("{{"))
            };
            found.push(if line.trim().is_empty() { None } else { at.or_else(value) });
        }
        found
    }
}

impl Line {
    /// How much literal text it has to match.
    fn weight(&self) -> usize {
        self.literals.iter().map(|literal| literal.trim().len()).sum()
    }

    fn wrote(&self, output: &str) -> bool {
        let [first, rest @ ..] = self.literals.as_slice() else { return false };
        if self.weight() == 0 {
            return false;
        }
        let Some(mut left) = output.strip_prefix(first.as_str()) else { return false };
        let [middle @ .., end] = rest else { return left.is_empty() };
        if !self.blocks {
            for literal in middle {
                let Some(at) = left.find(literal.as_str()) else { return false };
                left = &left[at + literal.len()..];
            }
        }
        left.ends_with(end.as_str())
    }
}

/// Splits a line at its tags. `open` is the end of a tag that started on an earlier line. True if it has blocks.
fn cut(line: &str, open: &mut Option<&'static str>) -> (Vec<String>, bool) {
    let mut literals = Vec::new();
    let mut blocks = false;
    let mut rest = line;
    if let Some(end) = *open {
        let Some((_, after)) = rest.split_once(end) else { return (literals, false) };
        *open = None;
        literals.push(String::new());
        rest = after;
    }
    const TAGS: [(&str, &str); 3] = [("{{", "}}"), ("{%", "%}"), ("{#", "#}")];
    while let Some((at, begin, end)) = TAGS
        .iter()
        .filter_map(|(begin, end)| Some((rest.find(begin)?, *begin, *end)))
        .min_by_key(|found| found.0)
    {
        literals.push(rest[..at].to_owned());
        blocks |= begin == "{%";
        match rest[at..].split_once(end) {
            Some((_, after)) => rest = after,
            None => {
                *open = Some(end);
                literals.push(String::new());
                return (literals, blocks);
            }
        }
    }
    literals.push(rest.to_owned());
    (literals, blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(text: &str) -> Template {
        let mut open = None;
        let lines = text.lines().enumerate().map(|(at, text)| {
            let (literals, blocks) = cut(text, &mut open);
            Line { file: "t.j2".into(), number: at + 1, text: text.into(), literals, blocks }
        });
        Template { lines: lines.collect() }
    }

    #[test]
    fn a_line_is_found_by_what_is_not_a_value() {
        let template = template(
            "{% set a = [\n  1] %}\nargs:\n- --name={{ name }}\n- --urls={% for u in us %}{{ u }},{% endfor %}x\n{% for n in ns %}\n- n: {{ n }}\n{% endfor %}\nlist:\n  {{ list | yaml(2) }}\nend: {{ a }}/{{ b }}\n",
        );
        let output = [
            "args:",
            "- --name=one",
            "- --urls=u1,u2,x",
            "- n: 1",
            "- n: 2",
            "list:",
            "  - p",
            "  - q",
            "end: 1/2",
            "",
        ];
        let numbers: Vec<usize> = template
            .align(&output)
            .into_iter()
            .map(|at| at.map_or(0, |at| template.lines[at].number))
            .collect();
        assert_eq!(numbers, [3, 4, 5, 7, 7, 9, 10, 10, 11, 0]);
    }
}
