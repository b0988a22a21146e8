//! The files a control plane is started from: kubeconfigs, tokens, nodes, the kubelet simulation's stages.
//!
//! In: the plane's folder with its certificates. Out: files in that folder. Every client has a kubeconfig of its own.

use std::fs;
use std::path::Path;

use crate::{Context, Error};

/// What kwok does to nodes, pods, services, claims and ingresses.
const STAGES: &str = include_str!("../../../xtask/testenv/kwok.yaml");
/// Two nodes and a default storage class.
pub(crate) const NODES: &str = include_str!("../../../xtask/testenv/nodes.yaml");

/// The administrator's bearer token; the client certificate works too.
pub(crate) const ADMIN_TOKEN: &str = "admin-token-000";

/// Writes everything but the certificates.
pub(crate) fn write(folder: &Path, url: &str) -> Result<(), Error> {
    for client in ["admin", "kcm", "scheduler", "kwok"] {
        write_file(&folder.join(format!("{client}.kubeconfig")), &kubeconfig(folder, client, url))?;
    }
    write_file(&folder.join("tokens.csv"), &format!("{ADMIN_TOKEN},token-admin,1,\"system:masters\"\n"))?;
    write_file(&folder.join("kwok.yaml"), STAGES)
}

pub(crate) fn write_file(path: &Path, text: &str) -> Result<(), Error> {
    fs::write(path, text).context(|| format!("writing {}", path.display()))
}

fn kubeconfig(folder: &Path, client: &str, url: &str) -> String {
    let pki = folder.join("pki");
    let pki = pki.display();
    format!(
        "apiVersion: v1
kind: Config
current-context: testenv
contexts:
- name: testenv
  context: {{cluster: testenv, user: {client}}}
clusters:
- name: testenv
  cluster:
    server: {url}
    certificate-authority: {pki}/ca.crt
users:
- name: {client}
  user:
    client-certificate: {pki}/{client}.crt
    client-key: {pki}/{client}.key
"
    )
}
