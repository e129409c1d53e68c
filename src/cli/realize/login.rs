//! How people get into a cluster: shown by `apply` and `status`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::output::{command_line, line};
use crate::openshift::workspace::{Env, Workspace};

/// Where the console and the API are, and how to log in.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Login {
    console: String,
    api: String,
    /// The administrator's file.
    kubeconfig: String,
    user: &'static str,
    /// The command that prints the password.
    password: String,
}

/// A result, and how to log in.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct WithLogin<T> {
    #[serde(flatten)]
    pub(super) result: T,
    pub(super) login: Login,
}

impl Login {
    /// Of the cluster that a closure describes.
    pub(super) fn new(env: Env<'_>, workspace: &Workspace, closure: &str) -> Self {
        let domain = workspace.cluster.domain();
        Self {
            console: format!("https://console-openshift-console.apps.{domain}"),
            api: format!("https://api.{domain}:6443"),
            kubeconfig: format!("{closure}/auth/kubeconfig"),
            user: "kubeadmin",
            password: command_line(env, "show cluster:auth/kubeadmin-password --reveal"),
        }
    }

    pub(super) fn show(&self) {
        let Self { console, api: _, kubeconfig, user, password } = self;
        line(format!("console   {console}"));
        line(format!("log in    as `{user}`; the password: `{password}`"));
        line(format!("oc        export KUBECONFIG={kubeconfig}"));
    }
}
