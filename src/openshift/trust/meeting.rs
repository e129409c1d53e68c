//! What a meeting is: who shows what to whom, and where each finds what it shows and what it goes by.

use super::Role;

/// An object of the hand-over, and a key of its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Object {
    /// `Secret` or `ConfigMap`.
    pub kind: &'static str,
    pub name: &'static str,
    /// Where in its data.
    pub key: &'static str,
}

/// Kubeconfigs, all of which count.
#[derive(Debug, Clone, Copy)]
pub enum Kubeconfigs {
    /// Those of these names on the bootstrap node; the administrator has the same.
    Named(&'static [&'static str]),
    /// Those that the flag `--kubeconfig` of these static pods names.
    Flagged(&'static [&'static str]),
    /// What masters and workers join with.
    Joining,
}

/// What is shown, and where its presenter finds it.
#[derive(Debug, Clone, Copy)]
pub enum Shown {
    /// A certificate and its key, in files that flags of a static pod name.
    Flag(&'static str, [&'static str; 2]),
    /// The client certificates of kubeconfigs.
    Kubeconfig(Kubeconfigs),
    /// A certificate and its key in a Secret.
    Object(Object),
    /// Whatever the authority in a Secret signs: an operator goes on with it, and gives servers the authority along.
    SignedBy(Object),
    /// Whatever the authority in a flag's file signs; it is not sent along.
    SignedByFlag(&'static str, &'static str),
    /// The private key in a flag's file.
    Key(&'static str, &'static str),
}

/// What its verifier goes by.
#[derive(Debug, Clone, Copy)]
pub enum Trusted {
    /// The authorities in a flag's file.
    Flag(&'static str, &'static str),
    /// The same for whatever runs in a pod: some programs accept a chain only if it ends in a root.
    FlagToRoot(&'static str, &'static str),
    /// The authorities of kubeconfigs.
    Kubeconfig(Kubeconfigs),
    /// The authorities in an object, or the public key.
    Object(Object),
    /// A file of the bootstrap node, read by a program that accepts a chain only if it ends in a root.
    File(&'static str),
    /// What kubelets' own configuration names, on masters and workers.
    Kubelets,
    /// The public keys in the files that a flag names, which may be there several times.
    Keys(&'static str, &'static str),
}

/// Under which name a server is called, or must be known as a client.
#[derive(Debug, Clone, Copy)]
pub enum Called {
    Unasked,
    /// By the host in the kubeconfig that its verifier has.
    Kubeconfig,
    /// By the host in the kubeconfig that nodes join with.
    Joining,
    /// By the hosts in a flag's URLs.
    Urls(&'static str, &'static str),
    /// By the address in an annotation.
    Annotated(Object),
    Names(&'static [&'static str]),
    /// Its common name is in the list of a flag.
    Allowed(&'static str, &'static str),
}

/// A verification to be.
#[derive(Debug, Clone, Copy)]
pub struct Encounter {
    pub shown: Shown,
    /// What it is verified with.
    pub trusted: Trusted,
    /// The name that counts.
    pub called: Called,
}

/// What `check/hand-over` says of a meeting, by names of certificates in the PKI.
#[derive(Debug, Clone, Copy)]
pub enum Checked {
    /// Nothing: another meeting with the same object says it.
    No,
    /// The object has the issuer of this certificate.
    Issued(&'static str),
    /// The object has this authority itself.
    Holds(&'static str),
    /// The object is the public half of the key in this Secret.
    Half(&'static str),
}

#[derive(Debug, Clone, Copy)]
pub struct Meeting {
    /// A name that does not change.
    pub id: &'static str,
    pub presenter: &'static str,
    /// What it is called in the PKI; for what is signed later, the signer.
    pub credential: &'static str,
    /// What it is shown as.
    pub role: Role,
    /// Who must accept it.
    pub verifier: &'static str,
    /// While the bootstrap node serves the API.
    pub before: Option<Encounter>,
    /// When operators have taken over.
    pub after: Option<Encounter>,
    /// What happens if it is not accepted.
    pub breaks: &'static str,
    /// What is checked without nodes.
    pub checked: Checked,
}

impl Meeting {
    /// The hand-over object that it depends on.
    pub fn handed(&self) -> Option<Object> {
        match self.after?.trusted {
            Trusted::Object(object) => Some(object),
            _ => match self.after?.shown {
                Shown::SignedBy(object) => Some(object),
                _ => None,
            },
        }
    }
}
