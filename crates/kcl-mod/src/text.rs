//! TOML texts: `kcl.mod`, `kcl.mod.lock`.

use toml::Table;

/// Reads a text; `name` is what its file is called in messages.
///
/// # Errors
/// A sentence with the line of what is no TOML: `kcl.mod:3: duplicate key`.
pub fn read_table(name: &str, text: &str) -> Result<Table, String> {
    text.parse().map_err(|error: toml::de::Error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        format!("{name}:{}: {}", before.matches('\n').count() + 1, error.message())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_has_a_line() {
        let twice = "[package]\nname = \"a\"\nname = \"b\"\n";
        assert!(read_table("kcl.mod", twice).unwrap_err().starts_with("kcl.mod:3: duplicate key"));
        assert!(read_table("x/kcl.mod", "[").unwrap_err().starts_with("x/kcl.mod:1: "));
        assert_eq!(read_table("kcl.mod", "a = 1\n").unwrap().len(), 1);
    }
}
