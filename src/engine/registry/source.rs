//! An image source and the image that a build starts from; opened on first use.

use std::fmt;
use std::sync::{Arc, OnceLock};

use super::metered::Metered;
use super::{ImageName, Images, Result};

#[derive(Clone)]
pub struct Opened {
    /// The source of the release and its components.
    pub images: Arc<dyn Images>,
    pub name: ImageName,
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Opened({})", self.name)
    }
}

/// A source that is opened on first use: a build with nothing to fetch must not pay for a TLS client. It has a limit for
/// all images of the build together.
pub struct Deferred {
    open: Box<dyn Fn() -> Result<Opened> + Send + Sync>,
    opened: OnceLock<Opened>,
}

impl Deferred {
    pub fn new(open: impl Fn() -> Result<Opened> + Send + Sync + 'static) -> Self {
        Self { open: Box::new(open), opened: OnceLock::new() }
    }

    /// Opens the source on the first call.
    pub fn get(&self) -> Result<&Opened> {
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        let Opened { images, name } = (self.open)()?;
        Ok(self.opened.get_or_init(|| Opened { images: Arc::new(Metered::new(images)), name }))
    }
}

impl fmt::Debug for Deferred {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Deferred({:?})", self.opened.get())
    }
}
