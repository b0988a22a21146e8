//! Pages that are run: their files are written into a folder, their commands run there, and what they print is compared with
//! what the page says.
//!
//! A block with a path after its language is a file; a `console` block has commands after `$` and their output. A `##` heading
//! begins with an empty folder, unless the page says `<!-- one folder -->`. With `UPDATE` set, the outputs are written anew; read
//! the difference.

use std::fs;
use std::path::Path;

/// Says that all parts of a page work in one folder.
const ONE_FOLDER: &str = "<!-- one folder -->";

/// Who runs the commands of pages.
pub trait Shell {
    /// Runs one command in a folder and returns what it printed, errors where they come.
    fn run(&mut self, folder: &Path, command: &str) -> String;

    /// The text without what differs from run to run.
    fn lasting(&self, text: &str) -> String {
        text.to_owned()
    }

    /// A folder is left: what was started there ends.
    fn leave(&mut self, _folder: &Path) {}
}

/// Runs a page and compares it with itself.
///
/// # Panics
/// If an output is another one than the page says, or the page has too few commands to be a test.
pub fn compare(file: &Path, at_least: usize, shell: &mut dyn Shell) {
    let page = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let (new, commands) = run(&page, shell);
    assert!(commands >= at_least, "{} has only {commands} commands", file.display());
    if shell.lasting(&new) == shell.lasting(&page) {
        return;
    }
    if std::env::var_os("UPDATE").is_some() {
        fs::write(file, new).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        return;
    }
    let (new, page) = (shell.lasting(&new), shell.lasting(&page));
    let differs = new.lines().zip(page.lines()).position(|(new, old)| new != old).unwrap_or(0);
    let around =
        |text: &str| text.lines().skip(differs.saturating_sub(3)).take(12).collect::<Vec<_>>().join("\n");
    panic!("{}: printed\n{}\n\nthe page says\n{}", file.display(), around(&new), around(&page));
}

/// Runs a page and returns it as it should be, with the number of its commands.
fn run(page: &str, shell: &mut dyn Shell) -> (String, usize) {
    let fresh = || tempfile::tempdir().expect("a temporary folder");
    let parts = !page.contains(ONE_FOLDER);
    let mut folder = fresh();
    let mut out = String::new();
    let mut commands = 0;
    for (number, part) in page.split("```").enumerate() {
        if number % 2 == 0 {
            if parts && part.contains("\n## ") {
                shell.leave(folder.path());
                folder = fresh();
            }
            out.push_str(part);
            continue;
        }
        let (info, block) = part.split_once('\n').unwrap_or((part, ""));
        let block = match info.split_once(' ') {
            Some((_, path)) => write(folder.path(), path, block),
            None if info == "console" => {
                commands += format!("\n{block}").matches("\n$ ").count();
                console(folder.path(), block, shell)
            }
            None => block.to_owned(),
        };
        out.push_str(&format!("```{info}\n{block}```"));
    }
    shell.leave(folder.path());
    (out, commands)
}

fn write(folder: &Path, path: &str, text: &str) -> String {
    let path = folder.join(path);
    let parent = path.parent().unwrap_or(folder);
    let written = fs::create_dir_all(parent).and_then(|()| fs::write(&path, text));
    written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.to_owned()
}

/// Runs the commands of a block and returns the block as it should be.
fn console(folder: &Path, block: &str, shell: &mut dyn Shell) -> String {
    let mut out = String::new();
    for part in format!("\n{block}").split("\n$ ").skip(1) {
        let command = part.lines().next().unwrap_or_default();
        let said = shell.run(folder, command);
        let end = if said.is_empty() || said.ends_with('\n') { "" } else { "\n" };
        out.push_str(&format!("$ {command}\n{said}{end}"));
    }
    out
}
