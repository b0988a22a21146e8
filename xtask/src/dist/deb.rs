//! A package of Debian: an `ar` file with what the package is and what it holds.

use md5::{Digest as _, Md5};

use super::tree::{Tree, gzip};

/// The name of the package.
pub(super) const NAME: &str = "kusionstack";

/// What is written into the package beside its files.
pub(super) struct About<'a> {
    pub(super) version: &'a str,
    /// The newest symbol version of the C library that a program asks for.
    pub(super) libc: &'a str,
    pub(super) time: u64,
    pub(super) level: u32,
}

/// The processor as Debian names it.
pub(super) fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// Writes a package.
pub(super) fn package(tree: &Tree, about: &About<'_>) -> Result<Vec<u8>, String> {
    let mut control = Tree::default();
    control.add("control", control_file(tree, about));
    control.add("md5sums", sums(tree));
    let mut out = ar::Builder::new(Vec::new());
    let members = [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", gzip(&control.tar(about.time, "./")?, about.level)?),
        ("data.tar.gz", gzip(&tree.tar(about.time, "./")?, about.level)?),
    ];
    for (name, bytes) in members {
        let mut header = ar::Header::new(name.as_bytes().to_vec(), bytes.len() as u64);
        header.set_mode(0o100_644);
        header.set_mtime(about.time);
        out.append(&header, bytes.as_slice()).map_err(|e| format!("ar: {e}"))?;
    }
    out.into_inner().map_err(|e| format!("ar: {e}"))
}

fn control_file(tree: &Tree, about: &About<'_>) -> String {
    format!(
        "Package: {NAME}\nVersion: {}\nArchitecture: {}\nMaintainer: KusionStack in Rust <maintainers@kusionstack.invalid>\n\
         Installed-Size: {}\nDepends: libc6 (>= {})\nRecommends: git\nSection: admin\nPriority: optional\n\
         Description: configuration as code, from KCL to healthy resources\n \
         kcl evaluates, checks, formats, tests and edits KCL, the configuration and\n policy language; kusion previews \
         and applies stacks of it to Kubernetes and\n Terraform providers and waits until they are healthy.\n",
        about.version,
        architecture(),
        tree.size().div_ceil(1024),
        about.libc
    )
}

fn sums(tree: &Tree) -> String {
    let line = |(path, file): (&String, &super::tree::File)| {
        let sum = Md5::digest(&file.bytes);
        format!("{}  {path}\n", sum.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
    };
    tree.0.iter().map(line).collect()
}
