//! Recipe files: the user's own on top of the built-in ones, which are embedded in the binary.

use std::borrow::Cow;
use std::collections::BTreeMap;

use include_dir::{Dir, include_dir};

/// The folder of tables: data that recipes may use as files, not recipes themselves.
pub(crate) const TABLES: &str = "knowledge/";

static BUILT_IN: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/recipes");

/// One text file below a recipes folder.
#[derive(Debug, Clone)]
pub struct SourceFile {
    /// As shown to the user.
    pub shown: String,
    pub text: Cow<'static, str>,
}

/// All recipe files by path below the recipes folder (`50-manifest/dns.toml`).
#[derive(Debug, Clone, Default)]
pub struct Sources {
    files: BTreeMap<String, SourceFile>,
}

impl SourceFile {
    /// Whether it is built in, and so was tested.
    pub(crate) fn is_built_in(&self) -> bool {
        matches!(self.text, Cow::Borrowed(_))
    }
}

impl Sources {
    /// The recipes embedded in this binary.
    pub fn built_in() -> Self {
        let mut sources = Self::default();
        sources.embed(&BUILT_IN);
        sources
    }

    fn embed(&mut self, dir: &'static Dir<'static>) {
        for file in dir.files() {
            if let (Some(path), Some(text)) = (file.path().to_str(), file.contents_utf8()) {
                let shown = format!("built-in recipes/{path}");
                self.files.insert(path.to_owned(), SourceFile { shown, text: Cow::Borrowed(text) });
            }
        }
        dir.dirs().for_each(|dir| self.embed(dir));
    }

    /// Adds a file, or replaces the file at that path.
    pub fn add(&mut self, path: String, shown: String, text: String) {
        self.files.insert(path, SourceFile { shown, text: Cow::Owned(text) });
    }

    pub fn get(&self, path: &str) -> Option<&SourceFile> {
        self.files.get(path)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &SourceFile)> {
        self.files.iter().map(|(path, file)| (path.as_str(), file))
    }
}
