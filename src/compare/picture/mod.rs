//! Pictures: the graph of derivations by stage, and who trusts what. Each is SVG that is legible on its own, in light
//! and dark, and that a page can include.
//!
//! | file | responsibility |
//! |---|---|
//! | `rails` | lines between stages: one track for everything that a stage feeds, without lines that follow from others |
//! | `stages` | the graph of derivations: a lane for each stage, with its derivations in it |
//! | `trust` | who shows what to whom, by the authority that vouches for it |
//! | `picture.css` | the look; colours are those of the page kit |
//!
//! Text is monospaced and boxes are measured by their longest text, so nothing overlaps (measured in a browser by a
//! test).

mod rails;
mod stages;
mod trust;

pub(crate) use rails::Rails;
pub(crate) use stages::{Lane, Member, stages};
pub(crate) use trust::{Authority, Credential, Phase, by_authority, trust, trust_text};

use super::page::{Markup, el};

/// The look of pictures, for pages that include one.
pub(crate) const STYLE: &str = include_str!("picture.css");
/// The colours of the page kit, for a picture outside of a page.
const COLOURS: &str = "svg{--paper:#faf8f5;--panel:#fff;--ink:#1f2328;--dim:#5c6570;--line:#d8d2c8;--ember:#a2400f;--add:#136229;\
--add-ground:#e5f5ea;--del:#a1201c;--del-ground:#fdecea;--chg:#7a4b00;--chg-ground:#fdf2d9;--h0:#b4541a;--h1:#2f6f9f;--h2:#4f7d32;--h3:#8a4f9e;--h4:#9a7a10;--h5:#2b8078;\
--mono:ui-monospace,'SF Mono','Cascadia Mono','DejaVu Sans Mono',Menlo,Consolas,monospace;background:var(--paper)}\
@media(prefers-color-scheme:dark){svg{--paper:#16181b;--panel:#1d2024;--ink:#e3e6ea;--dim:#9ba5b0;--line:#3a4047;--ember:#f2a06b;\
--add:#7ee2a0;--add-ground:#12301e;--del:#ffaaa3;--del-ground:#3a1c1b;--chg:#f0c66a;--chg-ground:#352a10;--h0:#f2a06b;--h1:#7db8e8;--h2:#9fd07e;--h3:#d3a3e4;--h4:#e3c25c;--h5:#74cfc5}}";

/// Width of a character of 12 px; a font that is narrower leaves room.
const CHARACTER: f64 = 7.3;
/// Width of a character of 11 px.
const SMALL: f64 = 6.7;

/// A drawing with its size.
pub(crate) struct Picture {
    width: usize,
    height: usize,
    title: String,
    drawing: Markup,
}

impl Picture {
    /// As a file of its own.
    pub(crate) fn file(&self) -> String {
        let style = format!("{COLOURS}{STYLE}");
        // The style is ours: there is nothing to escape in it.
        let text = self.element(&[("xmlns", "http://www.w3.org/2000/svg")]);
        let (head, rest) = text.as_str().split_once('>').unwrap_or_default();
        format!("{head}>\n<style>{style}</style>\n{}\n", rest.replace("</g><g", "</g>\n<g"))
    }

    /// As a part of a page with [`STYLE`].
    pub(crate) fn embedded(&self) -> Markup {
        self.element(&[])
    }

    fn element(&self, more: &[(&'static str, &str)]) -> Markup {
        let (width, height) = (self.width.to_string(), self.height.to_string());
        let view = format!("0 0 {width} {height}");
        let own = [
            ("class", "picture"),
            ("viewBox", &view),
            ("width", &width),
            ("height", &height),
            ("role", "img"),
            ("aria-label", &self.title),
        ];
        let attributes: Vec<_> = more.iter().copied().chain(own).collect();
        el("svg", &attributes, [el("title", &[], &self.title), self.drawing.clone()])
    }
}

/// A text at a place.
fn text(class: &str, x: usize, y: usize, text: &str) -> Markup {
    el("text", &[("class", class), ("x", &x.to_string()), ("y", &y.to_string())], text)
}

/// A box with rounded corners.
fn frame(class: &str, [x, y, width, height]: [usize; 4]) -> Markup {
    let [x, y, width, height] = [x, y, width, height].map(|number| number.to_string());
    let place = [("x", x.as_str()), ("y", &y), ("width", &width), ("height", &height), ("rx", "5")];
    el("rect", &[("class", class)].into_iter().chain(place).collect::<Vec<_>>(), "")
}

fn path(class: &str, d: &str) -> Markup {
    el("path", &[("class", class), ("d", d)], "")
}

/// The width of a text, in whole pixels.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "texts are short")]
fn wide(text: &str, character: f64) -> usize {
    (text.chars().count() as f64 * character).ceil() as usize
}
