//! Another name for a thing of a program, wherever it is named, over files and over the programs that import it.
//!
//! The semantic index says where a thing is named. The change is made in memory, everything is checked again, and every name must
//! still mean what it meant: so a name that would be captured, taken or lost is found without a rule for each way in which that can
//! happen. What no type tells is refused (`mentions`).

mod mentions;
mod obstacle;
mod proof;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base_diag::Span;
use kcl_check::index::{DefKind, Role};
use kcl_syntax::token::is_name;

use crate::compiler::Compiler;
use crate::files::{Files, normalise};
use crate::index::{Defined, Index};
use crate::request::Request;
pub use obstacle::{Obstacle, Why};

/// Bytes of a file that become another text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Renamed {
    /// The file.
    pub path: String,
    /// The old name; a quoted key with its quotes.
    pub span: Span,
    /// The new one.
    pub text: String,
}

/// A place: file and first byte.
type At = (String, u32);

/// A thing, and everywhere it is named.
struct Thing {
    name: String,
    kind: DefKind,
    places: BTreeMap<At, (Span, Role)>,
    /// The programs that name it, by number.
    programs: Vec<usize>,
}

/// Finds the edits that give the thing that is named at a place another name, in all of these programs.
///
/// # Errors
/// What stands in the way: then nothing may be changed.
pub fn rename(
    files: &dyn Files,
    programs: &[Request],
    at: (&str, u32),
    new: &str,
) -> Result<Vec<Renamed>, Obstacle> {
    let compiler = Compiler::new(files);
    let before: Vec<Index> = programs.iter().map(|request| compiler.index(request)).collect();
    let thing = find(&before, at)?;
    if thing.name == new {
        return Ok(Vec::new());
    }
    check_programs(&before, &thing)?;
    check_name(&before, &thing, new)?;
    mentions::check(&before, &thing, new)?;
    let edits = edits(&before, &thing, new)?;
    let changed = Changed { below: files, texts: texts(&before, &edits) };
    let compiler = Compiler::new(&changed);
    for number in &thing.programs {
        let after = compiler.index(&programs[*number]);
        proof::same_meanings(&before[*number], &after, &edits)?;
    }
    Ok(edits)
}

fn path_of(index: &Index, file: base_diag::FileId) -> String {
    index.program.sources.get(file).map(|file| file.path.clone()).unwrap_or_default()
}

/// Collects the places of a thing. Two programs may share a file and so one of its places: what the one knows, the other is asked
/// about, too.
fn find(programs: &[Index], at: (&str, u32)) -> Result<Thing, Obstacle> {
    let mut places: BTreeMap<At, (Span, Role)> = BTreeMap::new();
    let mut named: Option<(String, DefKind)> = None;
    let mut known: Vec<BTreeSet<At>> = programs.iter().map(|_| BTreeSet::new()).collect();
    let mut next: Vec<At> = vec![(at.0.to_owned(), at.1)];
    while let Some(place) = next.pop() {
        for (index, known) in programs.iter().zip(&mut known) {
            let Some(file) = index.file(&place.0).filter(|_| !known.contains(&place)) else { continue };
            if named.is_none()
                && let Some(definition) = index.definition(file, place.1)
                && let Defined::Here(kind) = definition.kind
            {
                named = Some((definition.name.to_string(), kind));
            }
            for reference in index.references(file, place.1) {
                let at = (path_of(index, reference.file), reference.span.start);
                known.insert(at.clone());
                if places.insert(at.clone(), (reference.span, reference.role)).is_none() {
                    next.push(at);
                }
            }
        }
    }
    let programs =
        known.iter().enumerate().filter(|(_, known)| !known.is_empty()).map(|(at, _)| at).collect();
    match named {
        Some((name, kind)) if kind != DefKind::Import => Ok(Thing { name, kind, places, programs }),
        _ => Err(Obstacle::at(Why::NoThing, at.0, Span::new(at.1, at.1))),
    }
}

/// A program with errors does not tell what its names mean, unless another one with the same files does.
fn check_programs(programs: &[Index], thing: &Thing) -> Result<(), Obstacle> {
    let main = |number: &usize| -> BTreeSet<String> {
        let index = &programs[*number];
        index.program.main_package().files.iter().map(|file| path_of(index, *file)).collect()
    };
    let (broken, sound): (Vec<usize>, Vec<usize>) =
        thing.programs.iter().partition(|number| !programs[**number].diagnostics.is_empty());
    let sound: BTreeSet<String> = sound.iter().flat_map(main).collect();
    for number in broken.iter().filter(|number| !main(number).is_subset(&sound)) {
        let index = &programs[*number];
        let Some(error) = index.diagnostics.first() else { continue };
        let why = Why::Broken(error.message().to_owned());
        return Err(match error.place() {
            base_diag::Place::Span(file, span) => Obstacle::at(why, &path_of(index, file), span),
            _ => Obstacle { why, at: None },
        });
    }
    Ok(())
}

fn check_name(programs: &[Index], thing: &Thing, new: &str) -> Result<(), Obstacle> {
    let plain = new.chars().all(|c| c.is_ascii_graphic() && !matches!(c, '"' | '\'' | '\\' | '$'));
    let fits = is_name(new) || thing.kind == DefKind::Key && !new.is_empty() && plain;
    if !fits {
        return Err(Obstacle { why: Why::BadName(new.to_owned()), at: None });
    }
    if matches!(thing.kind, DefKind::Key | DefKind::Attribute | DefKind::IndexKey) {
        return Ok(());
    }
    if kcl_check::index::is_builtin(new) {
        return Err(Obstacle { why: Why::Taken(new.to_owned()), at: None });
    }
    for number in &thing.programs {
        let index = &programs[*number];
        for (package, names) in index.program.packages.iter().zip(&index.packages) {
            let declares = |file| thing.places.keys().any(|(path, _)| *path == path_of(index, file));
            let Some(spot) = names.global(new).filter(|_| package.files.iter().any(|file| declares(*file)))
            else {
                continue;
            };
            let (file, start) = package.locate(spot.span.start);
            let span = Span::new(start, start + (spot.span.end - spot.span.start));
            return Err(Obstacle::at(Why::Taken(new.to_owned()), &path_of(index, file), span));
        }
    }
    Ok(())
}

fn edits(programs: &[Index], thing: &Thing, new: &str) -> Result<Vec<Renamed>, Obstacle> {
    let mut out = Vec::new();
    for ((path, _), (span, role)) in &thing.places {
        let text = programs.iter().find_map(|index| text(index, path)).unwrap_or_default();
        let old = text.get(span.start as usize..span.end as usize).unwrap_or_default();
        let quote = old.chars().next().filter(|c| matches!(c, '"' | '\''));
        let bare = old.trim_start_matches('$').trim_matches(['"', '\'']);
        if bare != thing.name {
            return Err(Obstacle::at(Why::Odd(old.to_owned()), path, *span));
        }
        let text = match quote {
            Some(quote) => format!("{quote}{new}{quote}"),
            None if is_name(new) => new.to_owned(),
            None if *role != Role::Read => format!("\"{new}\""),
            None => return Err(Obstacle::at(Why::BadName(new.to_owned()), path, *span)),
        };
        out.push(Renamed { path: path.clone(), span: *span, text });
    }
    Ok(out)
}

fn text(index: &Index, path: &str) -> Option<Arc<str>> {
    index.file(path).and_then(|file| index.program.sources.get(file)).map(|file| file.text.clone())
}

/// The files as they will be.
fn texts(programs: &[Index], edits: &[Renamed]) -> BTreeMap<PathBuf, Arc<str>> {
    let mut out = BTreeMap::new();
    for group in edits.chunk_by(|a, b| a.path == b.path) {
        let path = &group[0].path;
        let Some(old) = programs.iter().find_map(|index| text(index, path)) else { continue };
        out.insert(normalise(Path::new(path)), renamed_text(&old, group).into());
    }
    out
}

/// Makes the edits of one file, which are in order, in its text.
pub fn renamed_text<'r>(old: &str, edits: impl IntoIterator<Item = &'r Renamed>) -> String {
    let (mut new, mut end) = (String::with_capacity(old.len()), 0);
    for edit in edits {
        new.push_str(old.get(end..edit.span.start as usize).unwrap_or_default());
        new.push_str(&edit.text);
        end = edit.span.end as usize;
    }
    new.push_str(old.get(end..).unwrap_or_default());
    new
}

/// Files with other texts in some of their places.
struct Changed<'f> {
    below: &'f dyn Files,
    texts: BTreeMap<PathBuf, Arc<str>>,
}

impl Files for Changed<'_> {
    fn read(&self, path: &Path) -> Result<Arc<str>, String> {
        self.texts.get(path).map_or_else(|| self.below.read(path), |text| Ok(text.clone()))
    }

    fn is_file(&self, path: &Path) -> bool {
        self.below.is_file(path)
    }

    fn is_dir(&self, path: &Path) -> bool {
        self.below.is_dir(path)
    }

    fn list(&self, path: &Path) -> Vec<String> {
        self.below.list(path)
    }

    fn prove(&self, folder: &Path, sum: &str, packages: Option<&Path>) -> Result<(), String> {
        self.below.prove(folder, sum, packages)
    }
}
