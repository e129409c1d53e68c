//! Tables that fit the terminal.
//!
//! Cells are broken between words, never inside one. The last column gives way first, then the widest of the others. If
//! that is not enough, the first columns stay side by side and the other cells go below them, indented; where even that
//! does not fit, every cell is on a line of its own. Into a pipe or a file, every row is one line.

use super::output::{Colour, line, stdout_paint, terminal};
use crate::base::text::{one_line, width, wrap};

/// Blanks between columns.
const GAP: usize = 2;
/// A column is not made narrower than this if it has more to say.
const NARROW: usize = 20;
/// The same for the last column, which usually has sentences; on narrow terminals, half of the room is enough.
const PROSE: usize = 36;
/// How far cells below their row are indented.
const INDENT: usize = 2;

/// Prints rows in columns.
pub(super) fn table(header: &[&str], rows: &[Vec<String>]) {
    let width = terminal().map(|(columns, _)| columns);
    let lines = lines(header, rows, width);
    for (at, text) in lines.iter().enumerate() {
        // Without two columns side by side there are no headings.
        let is_heading = at == 0 && header.first().is_some_and(|first| text.starts_with(first));
        line(if is_heading { stdout_paint(text, Colour::Dim) } else { text.clone() });
    }
}

/// The lines of a table, at most `room` wide where words allow it.
fn lines(header: &[&str], rows: &[Vec<String>], room: Option<usize>) -> Vec<String> {
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|cell| one_line(cell).into_owned()).collect()).collect();
    let (rows, natural) = (&*rows, natural_widths(header, &rows));
    let Some(room) = room else { return columns(header, rows, &natural) };
    if let Some(widths) = fitting_widths(header, rows, natural.clone(), room, PROSE.min(room / 2)) {
        return columns(header, rows, &widths);
    }
    // Nothing helps an id or path that is wider than the terminal, or hardly fits beside a number.
    let ids = rows.iter().filter_map(|row| row.get(header.len() - 1)).flat_map(|cell| cell.split(' '));
    let longest = ids.map(width).max().unwrap_or(0);
    if longest + INDENT > room || header.len() == 2 && natural[0] < NARROW && longest > PROSE {
        return columns(header, rows, &natural);
    }
    let beside = (2..header.len()).rev().find_map(|count| {
        let widths = fitting_widths(&header[..count], rows, natural[..count].to_vec(), room, NARROW)?;
        Some((count, widths))
    });
    let (count, widths) = beside.unwrap_or((1, vec![room]));
    let mut lines = if count > 1 { columns(&header[..count], &[], &widths) } else { Vec::new() };
    for row in rows {
        let (beside, below) = row.split_at(count.min(row.len()));
        lines.extend(cells(beside, &widths));
        lines.extend(cells_below(&header[count..], below, room));
    }
    lines
}

/// Every column as wide as its widest cell.
fn natural_widths(header: &[&str], rows: &[Vec<String>]) -> Vec<usize> {
    let cell = |row: &Vec<String>, column: usize| row.get(column).map_or(0, |cell| width(cell));
    let widest = |column: usize| {
        rows.iter().map(|row| cell(row, column)).max().unwrap_or(0).max(width(header[column]))
    };
    (0..header.len()).map(widest).collect()
}

/// The same columns, narrowed until a row fits; none if words are too long for that.
fn fitting_widths(
    header: &[&str],
    rows: &[Vec<String>],
    mut widths: Vec<usize>,
    room: usize,
    least_last: usize,
) -> Option<Vec<usize>> {
    let longest_word = |column: usize| {
        let words = rows.iter().filter_map(|row| row.get(column)).flat_map(|cell| cell.split(' ')).map(width);
        words.chain([width(header[column])]).max().unwrap_or(0)
    };
    let last = header.len().checked_sub(1)?;
    loop {
        let total: usize = widths.iter().sum::<usize>() + GAP * last;
        let excess = match total.checked_sub(room) {
            None | Some(0) => return Some(widths),
            Some(excess) => excess,
        };
        let narrowest = |column: usize| if column == last { least_last } else { NARROW };
        let least = |column: usize| longest_word(column).max(narrowest(column).min(widths[column]));
        let least: Vec<usize> = (0..widths.len()).map(least).collect();
        let spare = |column: usize| widths[column].saturating_sub(least[column]);
        let widest = (0..last).filter(|column| spare(*column) > 0).max_by_key(|column| widths[*column]);
        let column = if spare(last) > 0 { last } else { widest? };
        widths[column] -= excess.min(spare(column));
    }
}

/// Rows in columns below their headings.
fn columns(header: &[&str], rows: &[Vec<String>], widths: &[usize]) -> Vec<String> {
    let heading: Vec<String> = header.iter().map(|cell| (*cell).to_owned()).collect();
    std::iter::once(&heading).chain(rows).flat_map(|row| cells(row, widths)).collect()
}

/// The cells of a row side by side.
fn cells(row: &[String], widths: &[usize]) -> Vec<String> {
    let cells: Vec<Vec<String>> =
        row.iter().zip(widths).map(|(cell, width)| wrap(cell, (*width).max(1))).collect();
    let line = |at: usize| {
        let mut text = String::new();
        for (cell, width) in cells.iter().zip(widths) {
            let part = cell.get(at).map_or("", String::as_str);
            text.push_str(&format!("{part:<width$}{:GAP$}", "", width = *width));
        }
        text.trim_end().to_owned()
    };
    (0..cells.iter().map(Vec::len).max().unwrap_or(0)).map(line).collect()
}

/// The cells of a row below each other, with their headings if there are several.
fn cells_below(header: &[&str], row: &[String], room: usize) -> Vec<String> {
    let names: Vec<String> = match header {
        [_] => vec![String::new()],
        _ => header.iter().map(|name| name.to_lowercase()).collect(),
    };
    let label =
        names.iter().map(|name| width(name)).max().filter(|width| *width > 0).map_or(0, |width| width + GAP);
    let mut lines = Vec::new();
    for (cell, name) in row.iter().zip(&names).filter(|(cell, _)| !cell.is_empty()) {
        for (at, part) in wrap(cell, room.saturating_sub(INDENT + label).max(NARROW)).iter().enumerate() {
            let name = if at == 0 { name.as_str() } else { "" };
            lines.push(format!("{:INDENT$}{name:<label$}{part}", ""));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::lines;
    use crate::base::text::width;

    fn row(cells: &[&str]) -> Vec<String> {
        cells.iter().map(|cell| (*cell).to_owned()).collect()
    }

    #[test]
    fn the_last_column_gives_way_first() {
        let rows = [row(&["a", "one two three four five"])];
        let at = |room| lines(&["NAME", "WHAT"], &rows, room);
        assert_eq!(at(None), ["NAME  WHAT", "a     one two three four five"]);
        assert_eq!(at(Some(29)), ["NAME  WHAT", "a     one two three four five"]);
        assert_eq!(at(Some(28)), ["NAME  WHAT", "a     one two three four", "      five"]);
        let broken = [row(&["a\nb", "c\nNAME"])];
        assert_eq!(lines(&["NAME", "WHAT"], &broken, None), ["NAME  WHAT", "a\\nb  c\\nNAME"]);
    }

    #[test]
    fn then_the_widest_of_the_others() {
        let rows = [row(&["a", "one two three four five six seven", "eight nine ten"])];
        assert_eq!(
            lines(&["N", "MIDDLE", "LAST"], &rows, Some(44)),
            [
                "N  MIDDLE                     LAST",
                "a  one two three four five    eight nine ten",
                "   six seven",
            ]
        );
    }

    #[test]
    fn what_cannot_fit_goes_below_its_row() {
        let id = "x".repeat(40);
        let rows = [row(&["a", "1", "one two three four five six seven eight nine"]), row(&["b", "2", &id])];
        assert_eq!(
            lines(&["NAME", "N", "WHAT"], &rows, Some(42)),
            [
                "NAME  N",
                "a     1",
                "  one two three four five six seven eight",
                "  nine",
                "b     2",
                &format!("  {id}"),
            ]
        );
    }

    #[test]
    fn where_no_two_columns_fit_every_cell_has_a_line() {
        let id = "x".repeat(40);
        let rows = [row(&[&id, "", "one two three four five six"]), row(&["b", &id, "seven"])];
        assert_eq!(
            lines(&["ID", "FROM", "WHAT"], &rows, Some(50)),
            [
                id.as_str(),
                "  what  one two three four five six",
                "b",
                &format!("  from  {id}"),
                "  what  seven"
            ]
        );
    }

    proptest! {
        /// No word is broken or lost, and only a line with a long word is longer than the terminal is wide.
        #[test]
        fn words_stay_whole(cells in proptest::collection::vec("[a-z]{1,30}( [a-z]{1,12}){0,9}", 6), room in 40usize..130) {
            let rows: Vec<Vec<String>> = cells.chunks(3).map(<[String]>::to_vec).collect();
            let shown = lines(&["ONE", "TWO", "THREE"], &rows, Some(room));
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            for word in cells.iter().flat_map(|cell| words(cell)) {
                prop_assert!(shown.iter().any(|line| words(line).contains(&word)), "{word} in {shown:#?}");
            }
            prop_assert!(shown.iter().all(|line| width(line) <= room), "{room}: {shown:#?}");
        }
    }
}
