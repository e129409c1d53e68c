//! Certificates for kubelets: which requests are approved, and the loop that approves them.
//!
//! | file | what it owns |
//! |---|---|
//! | `identity` | the names, addresses and users of our nodes, from their own Ignition configs |
//! | `rules` | the decision about one request: pure |
//! | `claim` | the decision about several keys that ask for one node: pure |
//! | `refusal` | why a request is left alone |
//! | `report` | what was approved, and what is missing |
//! | `watch` | one pass, or passes until every node has joined |
//!
//! A node asks twice. A request is approved only if it matches exactly:
//!
//! | | client | serving |
//! |---|---|---|
//! | signer | `kubernetes.io/kube-apiserver-client-kubelet` | `kubernetes.io/kubelet-serving` |
//! | requestor | the user of the bootstrap kubeconfig in that node's Ignition, in `system:bootstrappers` | the node itself, in `system:nodes` |
//! | subject | `O=system:nodes`, `CN=system:node:<the name in its /etc/hostname>` | the same |
//! | SANs | none | its name (optionally its short or full name too) and its addresses |
//! | usages | digital signature, client auth; optionally key encipherment | digital signature, server auth; optionally key encipherment |
//! | the node | a master or worker of ours that is not in the API yet | one that is |
//! | other requests | none for the same node with another key (see `claim`), unless the user chose this key | |
//!
//! Invariant: everything else is reported and left alone, neither approved nor denied, and so is what is already decided.

mod claim;
mod identity;
mod refusal;
mod report;
mod rules;
#[cfg(test)]
mod tests;
mod watch;

pub(crate) use claim::{Claim, SHOWN};
pub(crate) use identity::NodeIdentity;
pub(crate) use refusal::Refusal;
pub(crate) use report::{ApprovalReport, Approved, LeftAlone, Member};
pub(crate) use rules::KubeletCertificate;
pub(crate) use watch::{Approver, Choice};
