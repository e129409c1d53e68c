//! `store gc`: removes what no root needs.

use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use super::open;
use crate::base::event::Event;
use crate::cli::arguments::{parse_age, parse_count, parse_size};
use crate::cli::document::{Document, Documented};
use crate::cli::output::{count, line, size, table};
use crate::cli::{Printer, Result};
use crate::engine::store::{GcOptions, GcPlan};
use crate::openshift::workspace::Env;

/// Remove what no generation needs
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tinderbox store gc --dry-run
  tinderbox store gc --keep-last 3
  tinderbox store gc --older-than 30d --max-size 10G")]
pub(crate) struct Args {
    /// Forget all but the newest N generations of each cluster; the current one always stays
    #[arg(long, value_name = "N", value_parser = parse_count)]
    keep_last: Option<u64>,
    /// Forget generations older than this (`12h`, `30d`), and keep younger objects
    #[arg(long, value_name = "AGE", value_parser = parse_age)]
    older_than: Option<Duration>,
    /// Remove the oldest unneeded objects, only until the store is at most this large (`500M`, `10G`)
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    max_size: Option<u64>,
    /// Forget clusters whose directory does not exist now; otherwise their generations are kept for 30 more days
    #[arg(long)]
    forget_missing: bool,
    /// Only say what would be removed
    #[arg(long)]
    dry_run: bool,
}

impl Documented for Args {
    const DOCUMENTS: &'static [Document] = &[Document::of::<GcPlan>()];
}

impl Args {
    #[expect(clippy::disallowed_methods, reason = "ages are counted from now; gc is not a derivation")]
    pub(super) fn run(self, env: Env<'_>, printer: Printer<'_>) -> Result<ExitCode> {
        let Self { keep_last, older_than, max_size, forget_missing, dry_run } = self;
        let now = Some(SystemTime::now());
        let options = GcOptions {
            keep_last: keep_last.map(|count| usize::try_from(count).unwrap_or(usize::MAX)),
            older_than,
            max_size,
            forget_missing,
            now,
        };
        let store = open(env)?;
        let plan = if dry_run { store.plan_gc(&options)? } else { store.gc(&options)? };
        for directory in &plan.gone {
            let text = format!("`{}` is gone; its generations are no longer kept", directory.display());
            env.events.emit(Event::Notice { text });
        }
        for (directory, days) in &plan.missing {
            let text = format!(
                "`{}` does not exist; its generations are kept for {days} more days (`--forget-missing` forgets them now)",
                directory.display()
            );
            env.events.emit(Event::Notice { text });
        }
        Ok(printer.answer(&plan, || show(&plan, dry_run)))
    }
}

fn show(plan: &GcPlan, dry_run: bool) {
    for (directory, number) in &plan.generations {
        line(format!("generation {number} of {}", directory.display()));
    }
    if !plan.objects.is_empty() {
        let rows = plan.objects.iter().map(|garbage| vec![size(garbage.size), garbage.name.clone()]);
        table(&["SIZE", "OBJECT"], &rows.collect::<Vec<_>>());
    }
    if plan.blobs > 0 {
        line(format!("{} downloaded blobs", plan.blobs));
    }
    for download in &plan.downloads {
        line(format!("{}  download {}", size(download.size), download.name));
    }
    let verb = if dry_run { "would free" } else { "freed" };
    line(format!(
        "{verb} {} in {}; {} stay",
        size(plan.freed),
        count(plan.objects.len(), "object"),
        plan.kept
    ));
}
