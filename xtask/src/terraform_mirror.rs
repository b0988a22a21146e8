//! The providers of the test environment in a folder that tofu and ours install from.

use std::fs;
use std::path::{Path, PathBuf};

/// Namespace, name and the version that hosts believe; executables do not care.
pub(crate) const PROVIDERS: [(&str, &str, &str); 7] = [
    ("hashicorp", "random", "3.9.0"),
    ("hashicorp", "time", "0.14.2"),
    ("hashicorp", "tls", "4.3.0"),
    ("hashicorp", "local", "2.9.0"),
    ("hashicorp", "http", "3.6.1"),
    ("acme", "lab", "1.0.0"),
    ("acme", "lab5", "1.0.0"),
];

/// The host of all of them.
pub(crate) const HOST: &str = "registry.opentofu.org";

/// The executable of a provider, built if it is missing.
pub(crate) fn executable(name: &str) -> Result<PathBuf, String> {
    testenv::build_program(&format!("terraform-provider-{name}")).map_err(|error| error.to_string())
}

/// Lays the mirror out in a folder and writes the CLI configuration that names it alone; the answer is that file.
pub(crate) fn lay_out(folder: &Path) -> Result<PathBuf, String> {
    let mirror = folder.join("mirror");
    let problem = |error: std::io::Error| format!("{}: {error}", mirror.display());
    for (namespace, name, version) in PROVIDERS {
        let place = mirror.join(format!("{HOST}/{namespace}/{name}/{version}/linux_amd64"));
        fs::create_dir_all(&place).map_err(problem)?;
        let to = place.join(format!("terraform-provider-{name}_v{version}"));
        let built = executable(name)?;
        // A link costs nothing; another file system needs a copy.
        if fs::hard_link(&built, &to).is_err() {
            fs::copy(&built, &to).map_err(problem)?;
        }
    }
    let settings = format!(
        "provider_installation {{\n  filesystem_mirror {{\n    path = {:?}\n  }}\n}}\ndisable_checkpoint = true\n",
        mirror.display().to_string()
    );
    let file = folder.join("tofu.rc");
    fs::write(&file, settings).map_err(problem)?;
    Ok(file)
}
