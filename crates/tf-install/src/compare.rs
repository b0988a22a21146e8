//! Sentences about packages that are not what they should be, and the first comparison.

use std::fs::File;
use std::path::Path;

use data_encoding::HEXLOWER;

use crate::address::Address;
use crate::cache::Record;
use crate::hash::{sha256, zh};
use crate::source::Package;
use crate::trouble::{Kind, Trouble};
use crate::version::Version;

/// Compares an archive with its promised size and sum, and returns its `zh:` hash.
pub(crate) fn checked(archive: &Path, package: &Package, shown: &str) -> Result<String, Trouble> {
    let told = |e: std::io::Error| Trouble::disk("read", archive, &e);
    let mut file = File::open(archive).map_err(told)?;
    let size = file.metadata().map_err(told)?.len();
    if let Some(wanted) = package.size.filter(|wanted| *wanted != size) {
        return Err(altered(shown, &format!("it has {size} bytes instead of {wanted}")));
    }
    let sum = sha256(&mut file).map_err(told)?;
    let hex = HEXLOWER.encode(&sum);
    match &package.sum {
        Some(wanted) if *wanted != hex => Err(altered(shown, &format!("sha256 {hex} instead of {wanted}"))),
        _ => Ok(zh(&sum)),
    }
}

pub(crate) fn altered(shown: &str, how: &str) -> Trouble {
    Trouble::new(Kind::Checksum, format!("{shown}: what came is not what was promised: {how}"))
        .next("the host, or something before it, is damaged; nothing was kept")
}

pub(crate) fn not_locked(address: &Address, version: &Version, record: &Record) -> Trouble {
    let zh = record.zh.as_ref().map(|zh| format!(" and {zh}")).unwrap_or_default();
    Trouble::new(
        Kind::Locked,
        format!("{address} {version} is not the package that the lock file names: it is {}{zh}", record.h1),
    )
    .next("if the change is meant, remove its block from the lock file and lock it anew")
}
