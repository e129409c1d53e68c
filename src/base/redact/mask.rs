//! Secrets out of what a program said: every part that would give one away, in every form that it may have.

use super::{forms, needles};
use crate::base::secret::{MASK, Secret};

/// Secrets that must not be seen.
#[derive(Debug, Default)]
pub(crate) struct Mask {
    /// Longest first: a part of one secret may be in another.
    patterns: Vec<Secret>,
}

impl Mask {
    /// Adds a secret value: itself, and whatever in it would give it away.
    pub(crate) fn add(&mut self, name: &str, content: &[u8]) {
        let mut found = needles(name, content);
        let whole = content.trim_ascii();
        if whole.len() >= super::SHORTEST {
            found.push(Secret::new(whole.to_vec()));
        }
        for needle in found {
            self.patterns.extend(forms(needle.reveal()).into_iter().map(|(_, form)| form));
        }
    }

    /// The text without them.
    pub(crate) fn apply(&mut self, text: &str) -> String {
        self.patterns.sort_by(|a, b| (b.reveal().len(), a.reveal()).cmp(&(a.reveal().len(), b.reveal())));
        self.patterns.dedup();
        let mut text = text.to_owned();
        for pattern in self.patterns.iter().filter_map(Secret::reveal_text) {
            if text.contains(pattern) {
                text = text.replace(pattern, MASK);
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_masked_in_every_form_and_the_rest_stays() {
        let mut mask = Mask::default();
        mask.add("pullSecret", br#"{"auths":{"example.com":{"auth":"dXNlcjpUMHBTZWNyM3RQdw=="}}}"#);
        let said = "E1116 auth dXNlcjpUMHBTZWNyM3RQdw== of example.com is user:T0pSecr3tPw; ZFhObGNqcFVNSEJUWldOeU0zUlFkdz09";
        let masked = mask.apply(said);
        assert!(
            masked.starts_with("E1116 auth (secret)") && masked.contains("of example.com is user:(secret)"),
            "{masked}"
        );
        assert!(!masked.contains("T0pSecr3tPw") && !masked.contains("ZFhObGNqcFVN"), "{masked}");
    }
}
