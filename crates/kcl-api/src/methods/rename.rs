//! `Rename` and `RenameCode`: a variable, a schema or an attribute gets another name, wherever it is named.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use base_file::Turn;
use kcl::{Disk, Entry, Files, MemoryFiles, Obstacle, Request, sources};
use kcl_edit::{File, Member};
use kcl_syntax::source::SourcePath;

use super::overrides::is_ours;
use super::{folder, request};
use crate::messages::{RenameArgs, RenameCodeArgs, RenameCodeResult, RenameResult};
use crate::{Answer, Budget, Failure};

/// Renames in files; returns those that changed.
///
/// # Errors
/// A symbol that is not there, a name that is none, or a file that cannot be written. Nothing is written unless everything fits.
pub fn rename(args: &RenameArgs, budget: &Budget) -> Answer<RenameResult> {
    let root = folder(&args.package_root)?;
    let wish = Wish::new(&args.symbol_path, &args.new_name)?;
    let files: Vec<String> =
        args.file_paths.iter().map(|path| root.join(path).display().to_string()).collect();
    let base = request(root, &[], budget);
    let mut turn = Turn::default();
    loop {
        let before: Vec<Vec<u8>> = files.iter().map(|path| std::fs::read(path).unwrap_or_default()).collect();
        let changed = wish.changes(&Disk, &base, &files)?;
        // All files count: somebody may have named it in one that did not.
        let read: Vec<(&Path, &[u8])> =
            files.iter().map(Path::new).zip(before.iter().map(Vec::as_slice)).collect();
        if !is_ours(&mut turn, &read)? {
            continue;
        }
        for (path, text) in &changed {
            sources::replace(Path::new(path), text).map_err(|why| Failure::wrong(format!("{path} {why}")))?;
        }
        return Ok(RenameResult { changed_files: changed.into_keys().collect() });
    }
}

/// Renames in texts; returns those that changed.
///
/// # Errors
/// As for [`rename`].
pub fn rename_code(args: &RenameCodeArgs, budget: &Budget) -> Answer<RenameCodeResult> {
    let root = folder(&args.package_root)?;
    let wish = Wish::new(&args.symbol_path, &args.new_name)?;
    let (mut memory, mut names) = (MemoryFiles::default(), BTreeMap::new());
    for (path, text) in &args.source_codes {
        let place = root.join(path);
        memory.add(&place, text.as_str());
        names.insert(place.display().to_string(), path.clone());
    }
    let files: Vec<String> = names.keys().cloned().collect();
    let changed = wish.changes(&memory, &request(root, &[], budget), &files)?;
    let named = |(place, text)| (names.get(&place).cloned().unwrap_or(place), text);
    Ok(RenameCodeResult { changed_codes: changed.into_iter().map(named).collect() })
}

/// `pkg.path:Name.attr` and the new name.
struct Wish<'a> {
    shown: &'a str,
    package: &'a str,
    path: SourcePath,
    new: &'a str,
}

impl<'a> Wish<'a> {
    fn new(shown: &'a str, new: &'a str) -> Answer<Wish<'a>> {
        let (package, path) = shown.split_once(':').unwrap_or(("", shown));
        let path =
            SourcePath::parse(path).map_err(|why| Failure::wrong(format!("{shown}: {}", why.message())))?;
        Ok(Wish { shown, package, path, new })
    }

    /// The new texts of the files that name it. All its names must stand in these files: a part of a change is none.
    fn changes(
        &self,
        files: &dyn Files,
        base: &Request,
        paths: &[String],
    ) -> Answer<BTreeMap<String, String>> {
        let folders = folders(paths);
        let (place, offset) = self.declared(files, base, &folders)?;
        let programs: Vec<Request> = folders.values().map(|files| program(base, files)).collect();
        let edits = kcl::rename(files, &programs, (&place, offset), self.new)
            .map_err(|obstacle| self.refusal(files, &obstacle))?;
        let mut out = BTreeMap::new();
        for group in edits.chunk_by(|a, b| a.path == b.path) {
            let path = &group[0].path;
            if !paths.contains(path) {
                let message = format!(
                    "{} cannot be renamed: {path} names it, too, and is not one of the files",
                    self.shown
                );
                return Err(Failure::wrong(message));
            }
            let text = files.read(Path::new(path)).map_err(Failure::wrong)?;
            out.insert(path.clone(), kcl::renamed_text(&text, group));
        }
        Ok(out)
    }

    /// The file and the byte where it is declared.
    fn declared(
        &self,
        files: &dyn Files,
        base: &Request,
        folders: &BTreeMap<PathBuf, Vec<String>>,
    ) -> Answer<(String, u32)> {
        let own = match self.package {
            "" | "__main__" => base.work_dir.clone(),
            path => base.work_dir.join(path.replace('.', "/")),
        };
        // Files that all stand elsewhere are the main package, wherever that is.
        let elsewhere = || folders.values().next().filter(|_| own == base.work_dir);
        let mut members = Vec::new();
        for path in folders.get(&own).or_else(elsewhere).into_iter().flatten() {
            let text = files.read(Path::new(path)).map_err(Failure::wrong)?;
            members.push(Member { file: Rc::new(File::new(path.clone(), text)), own: true });
        }
        match kcl_edit::named(&members, &self.path) {
            Ok((number, span)) => Ok((members[number].file.name.clone(), span.start)),
            Err(refusal) if refusal.id == "not-found" => {
                Err(Failure::wrong(format!("get symbol from symbol path failed, {}", self.shown)))
            }
            Err(refusal) => {
                Err(Failure::wrong(format!("{}: {}; {}", self.shown, refusal.message, refusal.help)))
            }
        }
    }

    fn refusal(&self, files: &dyn Files, obstacle: &Obstacle) -> Failure {
        let (_, message, help) = obstacle.words();
        let place = obstacle.at.as_ref().map(|(path, span)| {
            let text = files.read(Path::new(path)).unwrap_or_default();
            format!(" ({path}:{})", base_diag::LineIndex::new(&text).line(span.start))
        });
        let place = place.unwrap_or_default();
        Failure::wrong(format!("{} cannot be renamed: {message}{place}; {help}", self.shown))
    }
}

/// Files by their folders: those of one folder are a package, and a program.
fn folders(paths: &[String]) -> BTreeMap<PathBuf, Vec<String>> {
    let mut out: BTreeMap<PathBuf, Vec<String>> = BTreeMap::new();
    for path in paths {
        let folder = Path::new(path).parent().unwrap_or(Path::new("")).to_path_buf();
        out.entry(folder).or_default().push(path.clone());
    }
    out
}

fn program(base: &Request, files: &[String]) -> Request {
    Request { entries: files.iter().cloned().map(Entry::Path).collect(), ..base.clone() }
}
