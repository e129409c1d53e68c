//! Writes the result for mermaid and Graphviz. Solid lines are accepted; dashed red lines are refusals, each with its
//! reason and consequence. The order is that of the table.

use std::fmt::Write as _;

use super::{Trust, TrustVerification, VerifiedEdge};

const RED: &str = "#c0392b";
/// Names of the phases, and their titles in pictures.
pub(crate) const TIMES: [(&str, &str); 2] = [
    ("before", "before the pivot: the bootstrap node serves the API"),
    ("after", "after the pivot: operators have taken over"),
];

/// One verification in a picture.
struct Line<'a> {
    edge: &'a VerifiedEdge,
    verification: &'a TrustVerification,
}

impl Line<'_> {
    /// The credential, and its role.
    fn shown(&self) -> String {
        format!("{} ({})", self.verification.short, self.edge.role.as_str())
    }

    /// The label, in lines.
    fn label(&self) -> Vec<String> {
        let Self { edge, verification } = self;
        let mut label = vec![self.shown(), short(&verification.by)];
        if !verification.holds {
            label.extend([format!("REFUSED: {}", verification.why), edge.breaks.clone()]);
        }
        label
    }
}

/// A text without the common directories.
pub(crate) fn short(text: &str) -> String {
    let directories = ["/etc/kubernetes/bootstrap-secrets/", "/etc/kubernetes/kubeconfigs/"];
    directories.iter().fold(text.to_owned(), |text, directory| text.replace(directory, ""))
}

/// The verifications of one phase, and all participants in order of appearance.
fn at<'a>(trust: &'a Trust, when: &str) -> (Vec<Line<'a>>, Vec<&'a str>) {
    let of = |edge: &'a VerifiedEdge| {
        let (_, verification) = edge.verifications().find(|(time, _)| *time == when)?;
        Some(Line { edge, verification })
    };
    let lines: Vec<Line<'a>> = trust.presentations.iter().filter_map(of).collect();
    let mut actors: Vec<&str> = Vec::new();
    for actor in lines.iter().flat_map(|line| [line.edge.presenter.as_str(), &line.edge.verifier]) {
        if !actors.contains(&actor) {
            actors.push(actor);
        }
    }
    (lines, actors)
}

/// The legend: from, label, to, and whether it holds.
const LEGEND: [(&str, &str, &str, bool); 2] = [
    ("who shows", "what is shown (as what)\nwhat it is verified with", "who verifies", true),
    ("who shows ", "REFUSED: why\nwhat follows", "who verifies ", false),
];

/// For code hosts and documentation.
pub(crate) fn mermaid(trust: &Trust) -> String {
    let clean = |text: &str| {
        let text = text.replace('&', "&amp;").replace('"', "#quot;").replace('`', "'");
        text.replace('<', "&lt;").replace('>', "&gt;").replace('\n', "<br/>")
    };
    let mut text = String::from("graph LR\n");
    let mut edges = String::new();
    let mut red = Vec::new();
    let mut count = 0;
    let mut edge = |from: &str, to: &str, label: &str, holds: bool| {
        let (open, close) = if holds { ("--", "-->") } else { ("-.", ".->") };
        let _ = writeln!(edges, "  {from} {open} \"{}\" {close} {to}", clean(label));
        if !holds {
            red.push(count.to_string());
        }
        count += 1;
    };
    for (when, title) in TIMES {
        let (lines, actors) = at(trust, when);
        let id = |actor: &str| {
            let place = actors.iter().position(|known| *known == actor).unwrap_or_default();
            format!("{when}{place}")
        };
        let _ = writeln!(text, "  subgraph {when}[\"{title}\"]");
        for actor in &actors {
            let _ = writeln!(text, "    {}[\"{actor}\"]", id(actor));
        }
        text.push_str("  end\n");
        for line in lines {
            edge(
                &id(&line.edge.presenter),
                &id(&line.edge.verifier),
                &line.label().join("\n"),
                line.verification.holds,
            );
        }
    }
    text.push_str("  subgraph legend\n");
    for (place, (from, label, to, holds)) in LEGEND.into_iter().enumerate() {
        let _ = writeln!(text, "    from{place}[\"{}\"]\n    to{place}[\"{}\"]", from.trim(), to.trim());
        edge(&format!("from{place}"), &format!("to{place}"), label, holds);
    }
    text.push_str("  end\n");
    text.push_str(&edges);
    let _ = writeln!(text, "  linkStyle {} stroke:{RED},color:{RED}", red.join(","));
    text
}

pub(crate) fn dot(trust: &Trust) -> String {
    let clean = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let mut text = String::from(
        "digraph trust {\n  rankdir=LR;\n  node [shape=box, style=rounded];\n  edge [fontsize=10];\n",
    );
    let style = |holds: bool| {
        if holds { String::new() } else { format!(", style=dashed, color=\"{RED}\", fontcolor=\"{RED}\"") }
    };
    for (when, title) in TIMES {
        let (lines, actors) = at(trust, when);
        let _ = writeln!(text, "  subgraph \"cluster_{when}\" {{\n    label=\"{title}\";");
        for actor in actors {
            let _ = writeln!(text, "    \"{when} {actor}\" [label=\"{actor}\"];");
        }
        for line in lines {
            let (from, to) = (&line.edge.presenter, &line.edge.verifier);
            let (label, style) = (clean(&line.label().join("\n")), style(line.verification.holds));
            let _ = writeln!(text, "    \"{when} {from}\" -> \"{when} {to}\" [label=\"{label}\"{style}];");
        }
        text.push_str("  }\n");
    }
    text.push_str("  subgraph \"cluster_legend\" {\n    label=\"legend\";\n");
    for (from, label, to, holds) in LEGEND {
        let (label, style) = (clean(label), style(holds));
        let _ = writeln!(text, "    \"{from}\" -> \"{to}\" [label=\"{label}\"{style}];");
    }
    text.push_str("  }\n}\n");
    text
}
