//! `expiry` and `renew`: certificates and their dates.

use super::output::{Colour, line, stdout_paint, table};
use crate::cli::ops::adoption::Adoption;
use crate::cli::ops::expiry::Expiry;
use crate::cli::ops::lock::Moved;
use crate::cli::ops::renew::Renewal;

pub(super) fn expiry(expiry: &Expiry) {
    let rows = expiry.certificates.iter().map(|one| {
        let left = match one.hours_left {
            hours if hours < 0 => stdout_paint("ended", Colour::Red),
            hours @ 0..48 => stdout_paint(&format!("{hours} h"), Colour::Yellow),
            hours => format!("{} d", hours / 24),
        };
        let kind = if one.authority { "authority" } else { "" };
        vec![one.not_after.clone(), left, one.name.clone(), kind.to_owned(), one.subject.clone()]
    });
    table(&["ENDS", "LEFT", "CERTIFICATE", "", "SUBJECT"], &rows.collect::<Vec<_>>());
    match (&expiry.boots_until, expiry.expired) {
        (None, _) => line("there are no certificates"),
        (Some(until), true) => {
            let text = format!(
                "These artifacts could boot until {until}; that is past. `tinderbox renew` moves the dates."
            );
            line(stdout_paint(&text, Colour::Red));
        }
        (Some(until), false) => line(format!("These artifacts can boot until {until}.")),
    }
    handed_over(&expiry.handed_over);
}

/// Authorities that are handed to operators, and until when that works.
fn handed_over(adoptions: &[Adoption]) {
    let Some(first) = adoptions.first() else { return };
    line("");
    let rows = adoptions.iter().map(|one| {
        let left = match one.hours_left {
            hours if hours < 0 => stdout_paint("past", Colour::Red),
            hours @ 0..48 => stdout_paint(&format!("{hours} h"), Colour::Yellow),
            hours => format!("{} d", hours / 24),
        };
        vec![one.adopted_until.clone(), left, one.object.clone(), one.authority.clone()]
    });
    table(&["ADOPTED UNTIL", "LEFT", "HANDED TO OPERATORS AS", "AUTHORITY"], &rows.collect::<Vec<_>>());
    let text = format!(
        "Operators adopt all of them unchanged until {}; `tinderbox renew` moves the dates.",
        first.adopted_until
    );
    line(if first.hours_left < 0 { stdout_paint(&text, Colour::Red) } else { text });
}

/// What a renewal changes.
pub(super) fn renewal(done: &Renewal, dry_run: bool) {
    moved(&done.moved);
    if done.would_build.is_empty() {
        line("nothing is to be built");
        return;
    }
    line(format!("{} derivations will be built:", done.would_build.len()));
    done.would_build.iter().for_each(|name| line(format!("  {name}")));
    line(format!("{} keys and certificates stay as they are", done.kept.len()));
    if !dry_run {
        line("`tinderbox build` makes them");
    }
}

/// Fields of the lock, before and after.
pub(super) fn moved(fields: &[Moved]) {
    for field in fields {
        let from = field.from.as_deref().unwrap_or("(missing)");
        line(format!("{}: {from} → {}", field.field, field.to.as_deref().unwrap_or("(gone)")));
    }
}
