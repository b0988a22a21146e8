//! A Terraform provider on this machine.
//!
//! [`Installer::install`] takes an [`Address`] and [`Constraints`] and gives a folder whose content is proved: by the
//! publisher's signature, by the sums of a mirror, by the [`Lock`] file of an earlier time. Where providers come from is
//! said by the [`CliConfig`] that users of Terraform and OpenTofu have already.
//!
//! Pure: `address`, `version`, `platform`, `hcl`, `lock`, `openpgp`, `url`. With a rim: `config` (reads files), `net`,
//! `registry`, `mirror`, `archive`, `cache`, `install`, `outbound`.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod address;
mod archive;
mod cache;
mod compare;
mod config;
mod hash;
mod hcl;
mod install;
mod lock;
mod mirror;
mod net;
pub mod openpgp;
mod outbound;
mod platform;
mod progress;
mod registry;
mod source;
mod trouble;
mod url;
mod version;

pub use address::{Address, OPENTOFU, TERRAFORM};
pub use archive::Limits;
pub use config::{CliConfig, Method, MethodKind, Surroundings};
pub use hash::{h1, h1_folder};
pub use install::{Installed, Installer, Options};
pub use lock::{LOCK_FILE, Lock, Locked};
pub use platform::Platform;
pub use progress::{Progress, Watch};
pub use registry::Strictness;
pub use rim::Net;
pub use trouble::{Kind, Trouble};
pub use version::{Constraints, Version};
