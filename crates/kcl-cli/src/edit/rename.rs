//! `kcl edit rename`: the programs of the module around a target, and the edits in all their files.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kcl::{Compiler, Disk, Files, Request};
use kcl_edit::{Edit, EditPlan, Effect, Member, Refusal, named};
use kcl_syntax::source::SourcePath;

use super::stack::{StackFile, real, request, shown};
use super::workbench::{Answer, Workbench, refused};
use crate::files;

/// Folders below folders, at most.
const MAX_DEPTH: u32 = 64;

impl Workbench {
    /// Gives what a path means another name, in every program of the module.
    pub(super) fn rename(
        &mut self,
        target: &str,
        members: &[Member],
        path: &SourcePath,
        new: &str,
    ) -> Answer {
        let place = match named(members, path) {
            Ok((number, span)) => {
                self.stacks.get(target).and_then(|files| Some((files.get(number)?.place.clone(), span)))
            }
            Err(refusal) => return refused(members, refusal),
        };
        let Some((place, span)) = place else {
            return refused(members, unknown("the file is not known any more"));
        };
        let texts =
            Texts(self.held.iter().map(|(place, held)| (place.clone(), held.file.text.clone())).collect());
        let around = match Around::of(Path::new(target), &place, &texts) {
            Ok(around) => around,
            Err(message) => return refused(members, unknown(&message)),
        };
        let at = place.display().to_string();
        match kcl::rename(&texts, &around.programs, (&at, span.start), new) {
            Ok(renamed) => self.enter_and_make(&around, &place, renamed),
            Err(obstacle) => {
                let (id, message, help) = obstacle.words();
                let spot = obstacle.at.map(|(path, span)| self.spot(Path::new(&path), span.start));
                Answer::Refused { id, message, help: help.to_owned(), spot }
            }
        }
    }

    /// Takes the files of the edits in, that of the target first, and changes them.
    fn enter_and_make(&mut self, around: &Around, place: &Path, renamed: Vec<kcl::Renamed>) -> Answer {
        if renamed.is_empty() {
            return Answer::Done { outcome: Effect::Unchanged, spot: None };
        }
        let mut numbers: HashMap<PathBuf, usize> = HashMap::from([(place.to_path_buf(), 0)]);
        let mut edits: Vec<Edit> = Vec::new();
        for change in renamed {
            let next = numbers.len();
            let file = *numbers.entry(PathBuf::from(change.path)).or_insert(next);
            let (start, end) = (change.span.start as usize, change.span.end as usize);
            edits.push(Edit { file, start, end, text: change.text });
        }
        edits.sort_by_key(|edit| (edit.file, edit.start));
        let mut files: Vec<(usize, StackFile)> = numbers
            .into_iter()
            .map(|(path, number)| {
                let place = real(&path).unwrap_or_else(|_| path.clone());
                let own = around.owns(&place);
                (number, StackFile { shown: shown(&path), place, own })
            })
            .collect();
        files.sort_by_key(|(number, _)| *number);
        let files: Vec<StackFile> = files.into_iter().map(|(_, file)| file).collect();
        let other = files.iter().find(|file| !file.own).map(|file| file.shown.clone());
        let name = format!("rename in {}", around.root.display());
        if let Err(message) = self.enter(&name, files) {
            return refused(&[], unknown(&message));
        }
        let members = self.members(&name);
        let planned = match other {
            Some(file) => Err(Refusal {
                id: "not-own",
                message: format!("it is also named in {file}, which does not belong to the module"),
                help: "rename it where it is declared".into(),
                at: None,
            }),
            None => Ok(EditPlan { edits, outcome: Effect::Renamed, file: Some(0) }),
        };
        self.make(&name, &members, planned)
    }

    fn spot(&self, path: &Path, offset: u32) -> super::workbench::Spot {
        let known =
            real(path).ok().and_then(|place| self.held.get(&place).map(|held| held.file.text.to_string()));
        let text = known.or_else(|| std::fs::read_to_string(path).ok()).unwrap_or_default();
        super::workbench::Spot { file: shown(path), line: base_diag::LineIndex::new(&text).line(offset) }
    }
}

fn unknown(message: &str) -> Refusal {
    Refusal {
        id: "no-target",
        message: message.to_owned(),
        help: "TARGET is a file, or the folder of a stack".into(),
        at: None,
    }
}

/// The module around a target: what may be written, and the programs that are looked at.
struct Around {
    root: PathBuf,
    programs: Vec<Request>,
}

impl Around {
    fn of(target: &Path, place: &Path, texts: &Texts) -> Result<Around, String> {
        let target = real(target)?;
        let folder = if target.is_dir() {
            target.clone()
        } else {
            place.parent().map(Path::to_path_buf).unwrap_or_default()
        };
        let module = folder.ancestors().find(|above| above.join("kcl.mod").is_file()).map(Path::to_path_buf);
        if let (None, false) = (&module, target.is_dir()) {
            return Around::of_file(place, folder, texts);
        }
        let root = module.unwrap_or(folder);
        let mut programs = Vec::new();
        for (folder, files) in folders(&root)? {
            programs.push(Request { vendor: kcl::package_folder(), ..request(&folder)? });
            programs.extend(tests(&folder, &files)?);
        }
        Ok(Around { root, programs })
    }

    /// A file that belongs to no module is a program, and with the files beside it perhaps another one.
    fn of_file(file: &Path, folder: PathBuf, texts: &Texts) -> Result<Around, String> {
        let alone = Request { work_dir: folder.clone(), ..Request::paths([file.display().to_string()]) };
        let package = request(&folder)?;
        let compiler = Compiler::new(texts);
        let sound = |request: &Request| compiler.index(request).diagnostics.is_empty();
        let programs = match (sound(&alone), sound(&package)) {
            (true, false) => vec![alone],
            (false, true) => vec![package],
            _ => vec![alone, package],
        };
        Ok(Around { root: folder, programs })
    }

    /// Whether a file may be written: it is the module's, and no copy of another one.
    fn owns(&self, place: &Path) -> bool {
        let inside = place.strip_prefix(&self.root);
        inside.is_ok_and(|inside| !inside.components().any(|part| part.as_os_str() == "vendor"))
    }
}

/// The folders of a module that have source files, in order, with those files.
fn folders(root: &Path) -> Result<BTreeMap<PathBuf, Vec<PathBuf>>, String> {
    let mut found: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
    let mut next = vec![(root.to_path_buf(), 0)];
    while let Some((folder, depth)) = next.pop() {
        let problem = |error: std::io::Error| format!("{} cannot be read: {error}", folder.display());
        if depth > MAX_DEPTH {
            return Err(format!("{} is more than {MAX_DEPTH} folders deep", folder.display()));
        }
        for entry in std::fs::read_dir(&folder).map_err(problem)? {
            let entry = entry.map_err(problem)?;
            let (path, kind) = (entry.path(), entry.file_type().map_err(problem)?);
            let name = entry.file_name().to_string_lossy().into_owned();
            if kind.is_dir() && !name.starts_with('.') && name != "vendor" {
                next.push((path, depth + 1));
            } else if kind.is_file() && name.ends_with(".k") {
                found.entry(folder.clone()).or_default().push(path);
            }
        }
    }
    found.values_mut().for_each(|files| files.sort());
    Ok(found)
}

/// The program of the tests of a folder.
fn tests(folder: &Path, files: &[PathBuf]) -> Result<Option<Request>, String> {
    if !files.iter().any(|file| kcl_test::is_test_file(&file.to_string_lossy())) {
        return Ok(None);
    }
    let texts = files::texts(files)?;
    let base =
        Request { vendor: kcl::package_folder(), work_dir: folder.to_path_buf(), ..Request::default() };
    Ok(Some(kcl_test::request(&base, &folder.display().to_string(), &texts)))
}

/// The disk, with what earlier changes of the call have made of its files.
struct Texts(BTreeMap<PathBuf, Arc<str>>);

impl Files for Texts {
    fn read(&self, path: &Path) -> Result<Arc<str>, String> {
        match real(path).ok().and_then(|place| self.0.get(&place)) {
            Some(text) => Ok(text.clone()),
            None => Disk.read(path),
        }
    }

    fn is_file(&self, path: &Path) -> bool {
        Disk.is_file(path)
    }

    fn is_dir(&self, path: &Path) -> bool {
        Disk.is_dir(path)
    }

    fn list(&self, path: &Path) -> Vec<String> {
        Disk.list(path)
    }

    fn sources(&self, path: &Path) -> Arc<Vec<String>> {
        Disk.sources(path)
    }

    fn prove(&self, folder: &Path, sum: &str, packages: Option<&Path>) -> Result<(), String> {
        Disk.prove(folder, sum, packages)
    }
}
