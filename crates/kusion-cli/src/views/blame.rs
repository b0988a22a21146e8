//! Who wrote a line, as git knows it. Nothing is said outside a repository or without git.

use std::path::Path;

use kusion_model::Timestamp;

/// The author of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Author {
    pub(crate) name: String,
    /// Absent for a line that is not committed yet.
    pub(crate) at: Option<Timestamp>,
}

/// Asks git about one line of a file.
pub(crate) fn author(file: &Path, line: u32) -> Option<Author> {
    let range = format!("{line},{line}");
    let name = file.file_name()?.to_str()?;
    let told = kusion::git(file.parent()?, &["blame", "--porcelain", "-L", &range, "--", name])?;
    read(&told)
}

/// Reads the porcelain format: `author NAME`, `author-time SECONDS`; a hash of zeros is not committed.
fn read(text: &str) -> Option<Author> {
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    let hash = text.split_whitespace().next()?;
    if hash.chars().all(|digit| digit == '0') {
        return Some(Author { name: "not committed".to_owned(), at: None });
    }
    let seconds: Option<u64> = field("author-time").and_then(|text| text.trim().parse().ok());
    Some(Author {
        name: field("author")?.trim().to_owned(),
        at: seconds.map(|seconds| Timestamp::from_millis(seconds.saturating_mul(1000))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn porcelain_is_read() {
        let text = "9f31c2aa 7 7 1\nauthor Wang Li\nauthor-mail <w@corp>\nauthor-time 1767225600\nsummary x\n\treplicas = 5\n";
        let found = read(text).unwrap();
        assert_eq!(
            (found.name.as_str(), found.at),
            ("Wang Li", Some(Timestamp::from_millis(1_767_225_600_000)))
        );
        let fresh = read("0000000000 1 1 1\nauthor Not Committed Yet\nauthor-time 1\n").unwrap();
        assert_eq!((fresh.name.as_str(), fresh.at), ("not committed", None));
        assert_eq!(read(""), None);
    }

    #[test]
    fn outside_a_repository_nobody_is_named() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.k"), "a = 1\n").unwrap();
        assert_eq!(author(&folder.path().join("a.k"), 1), None);
    }
}
