//! The sandbox as clients meet it: TLS, real kubectl, restarts, hostile clients.
#![allow(clippy::unwrap_used)]

mod client;
mod hostile;
mod kept;
mod kubectl;
mod wire;

use sandbox_server::{Sandbox, Setup};
use std::path::Path;

pub(crate) fn start(folder: &Path) -> Sandbox {
    Sandbox::start(Setup { folder: folder.to_owned(), ..Setup::default() }).unwrap()
}
