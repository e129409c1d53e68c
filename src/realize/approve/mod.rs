//! Certificates for kubelets: which requests are approved, and the loop that does it.
//!
//! | file | what it owns |
//! |---|---|
//! | `made` | the nodes that we made, as their own Ignition says |
//! | `rules` | the decision about one request: pure |
//! | `refusal` | why a request is left alone, in words |
//! | `report` | what was done, and what is missing |
//! | `watch` | one pass, and pass after pass until every node is there |
//!
//! A node asks twice. What both requests must be, and nothing less or more:
//!
//! | | client | serving |
//! |---|---|---|
//! | signer | `kubernetes.io/kube-apiserver-client-kubelet` | `kubernetes.io/kubelet-serving` |
//! | who asks | the user of the bootstrap kubeconfig in the node's Ignition | the node itself, in `system:nodes` |
//! | subject | `O=system:nodes`, `CN=system:node:<the name in its /etc/hostname>` | the same |
//! | names | none | its name (its other name too, if it likes) and its addresses |
//! | usages | digital signature, client auth; key encipherment or not | digital signature, server auth; key encipherment or not |
//! | the node | a master or worker of ours that is not in the API | one that is |
//!
//! Invariant: anything else is told and left alone: neither approved nor denied. So is what somebody has decided already.

mod made;
mod refusal;
mod report;
mod rules;
#[cfg(test)]
mod tests;
mod watch;

pub(crate) use made::Made;
pub(crate) use refusal::Refusal;
pub(crate) use report::{Approved, Left, Member, Report};
pub(crate) use rules::Certificate;
pub(crate) use watch::Approver;
