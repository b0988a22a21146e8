//! What a text imports, without loading it.

use base_diag::FileId;
use kcl_syntax::ast::{Stmt, Tree};

/// Returns the paths that a text imports, as they are written (`konfig.models`, `.sibling`), in their order.
pub fn imports(text: &str) -> Vec<String> {
    let mut tree = Tree::default();
    kcl_syntax::parse_file(&mut tree, text, FileId::default());
    let body = tree.files.first().map(|file| file.body.as_slice()).unwrap_or_default();
    let path = |stmt| match tree.stmt(stmt) {
        Stmt::Import(import) => Some(import.raw_path()),
        _ => None,
    };
    body.iter().filter_map(|stmt| path(*stmt)).collect()
}

/// Tells whether a text imports a module or a package of it.
pub fn imports_module(text: &str, module: &str) -> bool {
    imports(text).iter().any(|path| path.split('.').next() == Some(module))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_statements_not_lines() {
        let text = "import konfig as k # ours\nimport  a.b\nimport .c\nx = \"\"\"\nimport no\n\"\"\"\n";
        assert_eq!(imports(text), ["konfig", "a.b", ".c"]);
        assert!(imports_module(text, "konfig") && imports_module(text, "a"));
        assert!(
            !imports_module(text, "no")
                && !imports_module(text, "c")
                && !imports_module("konfig = 1\n", "konfig")
        );
    }
}
