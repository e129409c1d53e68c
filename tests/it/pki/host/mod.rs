//! What real programs make of our certificates and kubeconfigs.

mod etcd;
mod kubeconfig;
