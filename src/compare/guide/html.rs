//! The guide as a page: chapters as sections, artifacts as folds, contents inside of them. Complete without scripts.

use std::collections::BTreeMap;

use super::{Guide, GuideChapter, GuideCheck, GuideEntry, GuideFile, GuidePart, slug, text::places};
use crate::base::hint::Place;
use crate::compare::page::{
    Markup, Page, Tone, code, deadline, el, facts, finder, fold, link, listing, note, prose, section, table,
    tag,
};
use crate::compare::parts::Part;
use crate::openshift::knowledge::{About, Known};

const STYLE: &str = include_str!("guide.css");
const SCRIPT: &str = include_str!("guide.js");

/// The book as one file.
pub(crate) fn html(guide: &Guide) -> String {
    let index = Index::of(guide);
    let chapters: Markup = guide.chapters.iter().map(|chapter| index.chapter(chapter)).collect();
    let titles: Vec<String> =
        guide.chapters.iter().map(|chapter| format!("{}. {}", chapter.number, chapter.title)).collect();
    let contents: Vec<(&str, &str)> = guide
        .chapters
        .iter()
        .zip(&titles)
        .map(|(chapter, title)| (chapter.id.as_str(), title.as_str()))
        .collect();
    let count = guide.entries().count();
    let lead = format!(
        "{}, {}. {count} artifacts in {} chapters: what each is for, who reads it, what breaks without it, and what is in it.",
        guide.domain,
        guide.release,
        guide.chapters.len()
    );
    let label = "Search: a path, an object, a flag, an address";
    let body = [el("p", &[("class", "lead book")], lead), finder("book", label, chapters)];
    Page {
        kind: "guide",
        title: &format!("The guide to {}", guide.cluster),
        style: STYLE,
        script: SCRIPT,
        contents: &contents,
        body: body.into(),
    }
    .render(&())
}

/// Where things are in the book.
struct Index<'g> {
    /// Entries by derivation.
    derivations: BTreeMap<&'g str, &'g str>,
    /// Files of the user whose lines can be linked to.
    files: Vec<&'g str>,
    /// The first entry of each check.
    checks: BTreeMap<&'g str, &'g GuideCheck>,
}

impl<'g> Index<'g> {
    fn of(guide: &'g Guide) -> Self {
        let mut index = Self { derivations: BTreeMap::new(), files: Vec::new(), checks: BTreeMap::new() };
        for entry in guide.entries() {
            if let Some(derivation) = &entry.derivation {
                index.derivations.entry(derivation).or_insert(&entry.id);
            }
            index
                .files
                .extend(entry.files.iter().filter(|file| file.numbered).map(|file| file.path.as_str()));
            for check in &entry.checks {
                index.checks.entry(&check.name).or_insert(check);
            }
        }
        index
    }

    fn chapter(&self, chapter: &GuideChapter) -> Markup {
        let text: Markup =
            chapter.text.iter().map(|text| el("p", &[("class", "prose")], prose(text))).collect();
        let steps = (!chapter.steps.is_empty()).then(|| {
            let steps: Markup = chapter.steps.iter().map(|step| el("li", &[], prose(step))).collect();
            el("ol", &[("class", "steps")], steps)
        });
        let rows = chapter
            .deadlines
            .iter()
            .map(|one| vec![deadline(&one.at), Markup::from(&one.what), prose(&one.then)]);
        let ends = (!chapter.deadlines.is_empty()).then(|| table(&["Ends", "What", "Then"], rows));
        let groups: Markup = chapter
            .groups
            .iter()
            .map(|group| {
                let inside: Markup = group.entries.iter().map(|entry| self.entry(entry)).collect();
                let title = [Markup::from(&group.title), note(format!(" {}", group.entries.len()))];
                el("div", &[("class", "group")], [el("h3", &[], title), inside])
            })
            .collect();
        let checks = (chapter.id == "convergence").then(|| self.all_checks());
        let title = format!("{}. {}", chapter.number, chapter.title);
        let inside = [text, steps.into(), ends.into(), groups, checks.into()];
        // A chapter without anything that is searched for is hidden.
        el("div", &[("class", "group chapter")], section(&chapter.id, &title, "", inside))
    }

    /// Every check that guards something in this book.
    fn all_checks(&self) -> Markup {
        let rows = self.checks.values().map(|check| {
            let name = el("span", &[("id", &format!("check-{}", check.name))], code(&check.name));
            vec![name, prose(&check.rule), prose(&check.breaks)]
        });
        let title = el("h3", &[], "Checks");
        [title, table(&["Check", "What must hold", "What breaks at boot otherwise"], rows)].into()
    }

    fn entry(&self, entry: &GuideEntry) -> Markup {
        let unknown = entry.about.iter().any(|about| about.known == Known::Unknown);
        let yours = entry.about.iter().any(|about| about.known == Known::Yours);
        let is_secret = entry.files.iter().any(|file| file.note.as_deref() == Some("secret"));
        let state = [
            is_secret.then(|| tag("secret", Tone::Notable)),
            yours.then(|| tag("yours", Tone::Good)),
            unknown.then(|| tag("not in the tables", Tone::Breaking)),
        ];
        let first = entry.about.first().map(|about| about.purpose.purpose.as_str()).unwrap_or_default();
        let summary: Markup = [
            code(&entry.title),
            tag(&entry.kind, Tone::Plain),
            state.into_iter().flatten().collect(),
            el("span", &[("class", "summary")], prose(first)),
        ]
        .into();
        let about: Markup =
            entry.about.iter().map(|about| self.about(about, entry.about.len() > 1)).collect();
        let inside = [about, self.around(entry), self.parts(&entry.parts), self.files(entry)];
        el("div", &[("class", "item")], fold(Some(&entry.id), false, summary, inside))
    }

    fn about(&self, about: &About, is_one_of_several: bool) -> Markup {
        let subject = if is_one_of_several { code(&about.subject) } else { Markup::default() };
        facts([
            ("Object", subject),
            ("For", prose(&about.purpose.purpose)),
            ("Read by", prose(&about.purpose.reader)),
            ("Without it", prose(&about.purpose.without)),
        ])
    }

    /// Origin, nodes, checks, users.
    fn around(&self, entry: &GuideEntry) -> Markup {
        let origins = entry.origins.iter().map(|origin| {
            let places = origin.places.iter().map(|place| self.place(place));
            let arrow = if origin.places.is_empty() { "" } else { " ← " };
            el("div", &[], [code(&origin.from), arrow.into(), Markup::join(places, ", ")])
        });
        let shown = entry.shown.iter().map(|one| {
            let who = format!("{} to {}, as {}. ", one.presenter, one.verifier, one.role);
            el("div", &[], [Markup::from(who), note(format!("If refused: {}.", one.breaks))])
        });
        let checks = entry.checks.iter().map(|check| {
            let name = link(&format!("check-{}", check.name), code(&check.name));
            el("div", &[], [name, ": ".into(), prose(&check.rule)])
        });
        let users = entry.goes_into.iter().map(|name| match self.derivations.get(name.as_str()) {
            Some(id) => link(id, code(name)),
            None => code(name),
        });
        let nodes = if entry.places.is_empty() { Markup::default() } else { Markup::from(places(entry)) };
        facts([
            ("Shown by", shown.collect()),
            ("On", nodes),
            ("Decided by", origins.collect()),
            ("Checked by", checks.collect()),
            ("Goes into", Markup::join(users, ", ")),
            ("Recipe", entry.recipe.as_deref().map(code).into()),
            ("In a terminal", code(&entry.command)),
        ])
    }

    /// A line of the user's files; a link if the book has it.
    fn place(&self, place: &Place) -> Markup {
        let text = match place.line {
            Some(line) => format!("{}:{line}", place.file),
            None => place.file.clone(),
        };
        match (self.files.contains(&place.file.as_str()), place.line) {
            (true, Some(line)) => link(&line_id(&place.file, line), code(&text)),
            _ => code(&text),
        }
    }

    fn parts(&self, parts: &[GuidePart]) -> Markup {
        if parts.is_empty() {
            return Markup::default();
        }
        let rows = parts.iter().map(|part| {
            let meaning = part.meaning.as_deref().unwrap_or_default();
            let words = match (part.part.comment.as_str(), meaning) {
                ("", meaning) => prose(meaning),
                (comment, "") => prose(comment),
                (comment, meaning) => [prose(comment), " ".into(), note(prose(meaning))].into(),
            };
            vec![code(&part.part.name), value_of(&part.part), words]
        });
        let summary = [Markup::from("Part by part "), note(parts.len().to_string())];
        fold(None, false, summary, table(&["Part", "Value", "Meaning"], rows))
    }

    fn files(&self, entry: &GuideEntry) -> Markup {
        let one = |file: &GuideFile| {
            let said = file.note.as_deref().map(|said| note(format!(" {said}")));
            let Some(content) = &file.content else {
                return el("p", &[("class", "lead")], [code(&file.path), Markup::from(said)]);
            };
            let content = if file.numbered { numbered(&file.path, content) } else { listing(content) };
            let count = note(format!(" {} lines", content_lines(file)));
            fold(None, false, [code(&file.path), count, said.into()], content)
        };
        entry.files.iter().map(one).collect()
    }
}

/// A value: as it is if it is short, item by item if it is a list, else behind a line that opens.
fn value_of(part: &Part) -> Markup {
    /// A longer list opens.
    const FEW: usize = 24;
    if let Some(items) = part.items() {
        let count = items.len();
        let items: Markup = items.into_iter().map(|item| el("li", &[], code(item))).collect();
        let list = el("ul", &[("class", "items")], items);
        return if count <= FEW { list } else { fold(None, false, note(format!("{count} items")), list) };
    }
    let lines: Vec<&str> = part.value.lines().collect();
    match lines.as_slice() {
        [] => Markup::default(),
        [only] if only.len() < 400 => code(only),
        more => fold(None, false, note(format!("{} lines", more.len())), listing(&part.value)),
    }
}

fn content_lines(file: &GuideFile) -> usize {
    file.content.as_deref().unwrap_or_default().lines().count()
}

fn line_id(file: &str, line: usize) -> String {
    format!("{}-line-{line}", slug(file))
}

/// A listing whose lines can be linked to.
fn numbered(file: &str, content: &str) -> Markup {
    let lines = content.lines().enumerate().map(|(at, text)| {
        let number = el("span", &[("class", "number"), ("aria-hidden", "true")], (at + 1).to_string());
        el(
            "span",
            &[("class", "line"), ("id", &line_id(file, at + 1))],
            [number, Markup::from(format!("{text}\n"))],
        )
    });
    el("pre", &[("class", "listing numbered"), ("tabindex", "0")], el("code", &[], lines.collect::<Markup>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_ids() {
        assert_eq!(line_id("cluster.yaml", 7), "cluster-yaml-line-7");
    }
}
