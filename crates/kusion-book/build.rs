//! Puts the pages that `docs/book/src/SUMMARY.md` lists, and the pictures beside them, into the library.
//!
//! A page that is one line `{{#include PATH}}` is the file there. In the table stand paths in the book, paths in the
//! repository, and the texts.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository");
    let book = root.join("docs/book/src");
    println!("cargo:rerun-if-changed={}", book.display());
    let summary = std::fs::read_to_string(book.join("SUMMARY.md")).expect("docs/book/src/SUMMARY.md");
    let mut table = String::from("pub(crate) static FILES: &[(&str, &str, &str)] = &[\n");
    let listed = summary.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(path, _)| path);
    let mut files: Vec<String> = listed.map(str::to_owned).collect();
    files.push("SUMMARY.md".to_owned());
    files.extend(pictures(&book));
    for path in files {
        let page = book.join(&path);
        println!("cargo:rerun-if-changed={}", page.display());
        let text =
            std::fs::read_to_string(&page).unwrap_or_else(|error| panic!("{}: {error}", page.display()));
        let file = included(&page, &text).unwrap_or(page);
        let file = file.canonicalize().unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        println!("cargo:rerun-if-changed={}", file.display());
        let inside = file.strip_prefix(&root).expect("a file of the repository").display().to_string();
        let _ = writeln!(
            table,
            "    ({path:?}, {inside:?}, include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/../../{inside}\"))),"
        );
    }
    table.push_str("];\n");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo says where")).join("files.rs");
    std::fs::write(out, table).expect("cargo's own folder can be written");
}

fn pictures(book: &Path) -> Vec<String> {
    let Ok(folder) = std::fs::read_dir(book.join("pictures")) else { return Vec::new() };
    let names = folder.flatten().map(|entry| format!("pictures/{}", entry.file_name().to_string_lossy()));
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".svg")).collect();
    names.sort();
    names
}

fn included(page: &Path, text: &str) -> Option<PathBuf> {
    let (path, _) = text.trim().strip_prefix("{{#include ")?.split_once("}}")?;
    Some(page.parent()?.join(path))
}
