//! `dist …`: what packages and the reference pages of tinderbox are made from. Hidden: for `.ci/package` and the tests of docs/.

mod image;
mod man;
mod reference;

use super::verbs;

verbs! {
    "Write what packages of tinderbox are made from";
    Man(man::Args),
    Image(image::Args),
    Reference(reference::Args),
}
