//! `fleet`: many clusters at once, of one fleet.yaml. Every other verb works on one of them with `--site NAME`.
//!
//! | module | responsibility |
//! |---|---|
//! | `open` | the fleet, its seed and lock; a site as what every verb works on |
//! | `run` | works on sites in a window, so that memory does not grow with their number |
//! | `memo` | which sites are as they were built |
//! | `outcome` | what became of the sites; equal errors and warnings are told once |
//! | `build`, `check`, `diff`, `expiry`, `export`, `init`, `renew`, `status`, `why` | the verbs |

mod build;
mod check;
mod diff;
mod expiry;
mod export;
mod init;
mod memo;
mod open;
mod outcome;
mod renew;
mod run;
mod status;
mod why;

pub(super) use open::Opened;

use super::verbs;

verbs! {
    "Many clusters of one fleet.yaml: build, check and ask about all of them; `--site NAME` is for one";
    Init(init::Args),
    Build(build::Args),
    Check(check::Args),
    Status(status::Args),
    Why(why::Args),
    Diff(diff::Args),
    Expiry(expiry::Args),
    Renew(renew::Args),
    Export(export::Args),
}
