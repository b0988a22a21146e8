//! What a provider runs on: an operating system and an architecture, in the names of Go.

use std::fmt;

/// `linux_amd64`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Platform {
    os: String,
    arch: String,
}

/// Names that differ between Rust and Go.
const NAMES: &[(&str, &str)] =
    &[("macos", "darwin"), ("x86_64", "amd64"), ("x86", "386"), ("aarch64", "arm64")];

impl Platform {
    /// The platform that this program runs on.
    pub fn here() -> Platform {
        let name =
            |rust: &str| NAMES.iter().find(|(from, _)| *from == rust).map_or(rust, |(_, to)| *to).to_owned();
        Platform { os: name(std::env::consts::OS), arch: name(std::env::consts::ARCH) }
    }

    /// Reads `linux_amd64`.
    ///
    /// # Errors
    /// A sentence.
    pub fn parse(text: &str) -> Result<Platform, String> {
        let word = |word: &str| {
            !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        };
        match text.split_once('_') {
            Some((os, arch)) if word(os) && word(arch) => {
                Ok(Platform { os: os.to_owned(), arch: arch.to_owned() })
            }
            _ => Err(format!("`{}` is no platform: as in linux_amd64", text.escape_debug())),
        }
    }

    /// The operating system.
    pub fn os(&self) -> &str {
        &self.os
    }

    /// The architecture.
    pub fn arch(&self) -> &str {
        &self.arch
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", self.os, self.arch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn platforms_have_the_names_of_go() {
        let here = Platform::here().to_string();
        assert_eq!(Platform::parse(&here).unwrap().to_string(), here);
        assert!(!here.contains("x86_64") && !here.contains("macos"), "{here}");
        for wrong in ["linux", "linux_", "_amd64", "../x_y", "linux_x86_64"] {
            assert!(Platform::parse(wrong).is_err(), "{wrong}");
        }
    }
}
