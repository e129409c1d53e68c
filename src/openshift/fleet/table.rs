//! Tables in CSV (RFC 4180): a header, a row per site. Empty lines and lines that begin with `#` are skipped.

use std::collections::BTreeSet;

use super::bounds;
use crate::base::hint::{Place, Problem, Problems};

/// A row: its line, and its cells by column. Empty cells are not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) line: usize,
    pub(super) cells: Vec<(String, String)>,
}

/// Reads a table. Reports every row that does not match the header.
pub(super) fn rows(file: &str, text: &str, problems: &mut Problems) -> Vec<Row> {
    let mut report = |line: usize, message: String, hint: Option<&str>| {
        let place = Place { file: file.to_owned(), line: Some(line), field: String::new() };
        problems.push(Problem::new(place, message).hint(hint.map(str::to_owned)));
    };
    let mut records = match records(text.strip_prefix('\u{feff}').unwrap_or(text)) {
        Ok(records) => records.into_iter(),
        Err(line) => {
            report(line, "a quoted cell has no end".into(), Some("write `\"` in a quoted cell as `\"\"`"));
            return Vec::new();
        }
    };
    let Some((line, header)) = records.next() else {
        report(1, "the table is empty".into(), Some("its first line names the columns: name,groups,…"));
        return Vec::new();
    };
    if header.len() > bounds::COLUMNS || header.iter().any(|name| name.len() > bounds::NAME) {
        let message =
            format!("a table has at most {} columns, with names of {} bytes", bounds::COLUMNS, bounds::NAME);
        report(line, message, Some("its first line names the columns: name,groups,…"));
        return Vec::new();
    }
    let mut seen = BTreeSet::new();
    for (at, name) in header.iter().enumerate() {
        if name.is_empty() {
            report(line, format!("column {} has no name", at + 1), None);
        } else if !seen.insert(name) {
            report(line, format!("two columns are called `{name}`"), Some("rename one of them"));
        }
    }
    if !header.iter().any(|name| name == "name") {
        let hint = match header.as_slice() {
            [only] if only.contains(';') => "separate columns with commas: this table uses semicolons",
            _ => "the names of the sites are in a column `name`",
        };
        report(line, "the table has no column `name`".into(), Some(hint));
        return Vec::new();
    }
    let (mut rows, mut wrong, mut values) = (Vec::new(), 0, 0);
    for (line, record) in records {
        if values > bounds::VALUES {
            break; // whoever counts those of all tables says so
        }
        if record.len() != header.len() {
            wrong += 1;
            if wrong > bounds::PROBLEMS {
                report(line, "and more rows that do not match the header".into(), None);
                break;
            }
            let message = format!("{} cells, and the header has {} columns", record.len(), header.len());
            report(line, message, Some("quote cells that have commas in them"));
            continue;
        }
        let cells = header.iter().cloned().zip(record).filter(|(_, text)| !text.is_empty()).collect();
        let row: Row = Row { line, cells };
        values += row.cells.len();
        rows.push(row);
    }
    rows
}

/// The records, each with its line; the line of a quoted cell without end otherwise.
fn records(text: &str) -> Result<Vec<(usize, Vec<String>)>, usize> {
    let (mut records, mut record, mut line) = (Vec::new(), Vec::new(), 1);
    let mut rest = text;
    let mut start = line;
    while !rest.is_empty() {
        if record.is_empty() && rest.starts_with(['\n', '\r', '#']) {
            rest = rest.split_once('\n').map_or("", |(_, after)| after);
            line += 1;
            start = line;
            continue;
        }
        let (cell, after) = match rest.strip_prefix('"') {
            Some(quoted) => {
                let (cell, after) = quoted_cell(quoted).ok_or(line)?;
                line += cell.matches('\n').count();
                (cell, after)
            }
            None => {
                let end = rest.find([',', '\n']).unwrap_or(rest.len());
                (rest[..end].trim().to_owned(), &rest[end..])
            }
        };
        record.push(cell);
        rest = after.trim_start_matches([' ', '\t', '\r']);
        match rest.strip_prefix(',') {
            Some("") => record.push(String::new()),
            Some(after) => {
                rest = after;
                if rest.starts_with(['\n', '\r']) {
                    record.push(String::new());
                } else {
                    continue;
                }
            }
            None => {}
        }
        // What follows a quoted cell is no part of it; the number of cells shows that.
        let (trailing, after) = rest.split_once('\n').unwrap_or((rest, ""));
        if !trailing.trim().is_empty() && !trailing.starts_with(',') {
            record.push(trailing.to_owned());
        }
        rest = after;
        records.push((start, std::mem::take(&mut record)));
        line += 1;
        start = line;
    }
    Ok(records)
}

/// The text up to the closing quote, and what follows it.
fn quoted_cell(mut rest: &str) -> Option<(String, &str)> {
    let mut cell = String::new();
    loop {
        let (before, after) = rest.split_once('"')?;
        cell.push_str(before);
        match after.strip_prefix('"') {
            Some(more) => {
                cell.push('"');
                rest = more;
            }
            None => return Some((cell, after)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<Row>, String) {
        let mut problems = Problems::default();
        let rows = rows("sites.csv", text, &mut problems);
        (rows, problems.to_string())
    }

    #[test]
    fn cells_lines_and_quotes() {
        let text = "\u{feff}name, ip ,note\r\n# moved in March\r\n\r\nberlin,10.0.0.1,\"a, \"\"b\"\"\nc\"\nparis, ,\"\"\nrome,10.0.0.3,";
        let (rows, problems) = read(text);
        assert_eq!(problems, "");
        let cells =
            |row: &Row| row.cells.iter().map(|(key, text)| format!("{key}={text}")).collect::<Vec<_>>();
        assert_eq!(rows.iter().map(|row| row.line).collect::<Vec<_>>(), [4, 6, 7]);
        assert_eq!(cells(&rows[0]), ["name=berlin", "ip=10.0.0.1", "note=a, \"b\"\nc"]);
        assert_eq!(cells(&rows[1]), ["name=paris"]);
        assert_eq!(cells(&rows[2]), ["name=rome", "ip=10.0.0.3"]);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        insta::assert_snapshot!(read("name,ip\nberlin\nparis,1,2\n").1, @r"
        sites.csv:2: 1 cells, and the header has 2 columns
          hint: quote cells that have commas in them
        sites.csv:3: 3 cells, and the header has 2 columns
          hint: quote cells that have commas in them
        ");
        insta::assert_snapshot!(read("name;ip\nberlin;1\n").1, @r"
        sites.csv:1: the table has no column `name`
          hint: separate columns with commas: this table uses semicolons
        ");
        insta::assert_snapshot!(read("name,ip,ip\na,\"1\n").1, @r#"
        sites.csv:2: a quoted cell has no end
          hint: write `"` in a quoted cell as `""`
        "#);
        insta::assert_snapshot!(read("").1, @r"
        sites.csv:1: the table is empty
          hint: its first line names the columns: name,groups,…
        ");
        insta::assert_snapshot!(read("name,ip,ip,\n").1, @r"
        sites.csv:1: two columns are called `ip`
          hint: rename one of them
        sites.csv:1: column 4 has no name
        ");
    }
}
