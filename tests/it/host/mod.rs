//! Tests with real parts of the host, or that take long: libvirt, a browser, processes that are killed. Tests of one theme
//! with a real part are in a module `host` of that theme.

mod browser;
mod check;
mod crash;
pub(crate) mod emulation;
mod escape;
mod fleet_page;
mod guide_page;
mod iso;
mod media;
mod packages;
mod page;
pub(crate) mod realize;
pub(crate) mod render;
mod report_page;
mod sandbox;
