//! `OverrideFile`: values in a file by path, with the edits of `kcl edit`.

use std::path::Path;
use std::rc::Rc;

use base_diag::{Place, SourceMap};
use base_file::Turn;
use kcl::{Disk, Request, sources};
use kcl_edit::{Action, Effect, File, Member, apply, changes_of_override, plan};
use kcl_syntax::ast::{Import, Stmt, Tree};

use crate::messages::{Error, OverrideFileArgs, OverrideFileResult};
use crate::{Answer, Budget, Failure, texts};

/// Changes values in a file; only the bytes of the values change, and nothing if one of the specs cannot be applied exactly.
///
/// # Errors
/// A file that cannot be read or written, or a spec that is none or cannot be applied.
pub fn override_file(args: &OverrideFileArgs, _: &Budget) -> Answer<OverrideFileResult> {
    let path = Path::new(&args.file);
    if !path.exists() {
        let message = format!("Cannot find the kcl file, please check the file path {}", args.file);
        return Err(Failure::wrong(message));
    }
    let mut turn = Turn::default();
    loop {
        if let Some(result) = overridden(args, path, &mut turn)? {
            return Ok(result);
        }
    }
}

/// Changes values in what the file is now; nothing if somebody else changed it meanwhile: then it is to be done again.
fn overridden(args: &OverrideFileArgs, path: &Path, turn: &mut Turn) -> Answer<Option<OverrideFileResult>> {
    let before = read(path)?;
    let file = File::new(args.file.clone(), before.as_str());
    if !file.errors().is_empty() {
        return Ok(Some(OverrideFileResult { result: false, parse_errors: errors(&file) }));
    }
    let file = with_imports(file, &args.import_paths)?;
    let mut members = vec![Member { file: Rc::new(file), own: true }];
    let mut result = !args.import_paths.is_empty();
    for spec in &args.specs {
        result |= change(&mut members, spec)?;
    }
    let after = &members[0].file.text;
    if **after != *before {
        if !is_ours(turn, &[(path, before.as_bytes())])? {
            return Ok(None);
        }
        sources::replace(path, after).map_err(|why| Failure::wrong(format!("{} {why}", args.file)))?;
    }
    Ok(Some(OverrideFileResult { result, parse_errors: Vec::new() }))
}

pub(super) fn is_ours(turn: &mut Turn, files: &[(&Path, &[u8])]) -> Answer<bool> {
    let name = files.first().map(|(path, _)| path.display().to_string()).unwrap_or_default();
    turn.is_ours(files).map_err(|error| Failure::wrong(format!("{name} cannot be changed: {error}")))
}

/// Writes the overrides of a run into its files, as `kcl run -d -O` does.
pub(super) fn write_back(request: &Request, specs: &[String]) -> Answer<()> {
    let mut turn = Turn::default();
    while !written_back(request, specs, &mut turn)? {}
    Ok(())
}

/// Writes overrides into what the files are now; false if somebody else changed one of them meanwhile.
fn written_back(request: &Request, specs: &[String], turn: &mut Turn) -> Answer<bool> {
    let mut paths = Vec::new();
    let mut members = Vec::new();
    for path in kcl::entry_files(request, &Disk) {
        let path = path.map_err(Failure::wrong)?;
        let own = path.starts_with(&request.work_dir);
        let file = File::new(path.display().to_string(), read(&path)?);
        members.push(Member { file: Rc::new(file), own });
        paths.push(path);
    }
    let before = members.clone();
    for spec in specs {
        change(&mut members, spec)?;
    }
    let all = paths.iter().zip(before.iter().zip(&members));
    let changed: Vec<_> = all.filter(|(_, (before, after))| before.file.text != after.file.text).collect();
    let read: Vec<(&Path, &[u8])> =
        changed.iter().map(|(path, (before, _))| (path.as_path(), before.file.text.as_bytes())).collect();
    if !is_ours(turn, &read)? {
        return Ok(false);
    }
    for (path, (_, after)) in changed {
        sources::replace(path, &after.file.text)
            .map_err(|why| Failure::wrong(format!("{} {why}", path.display())))?;
    }
    Ok(true)
}

fn read(path: &Path) -> Answer<String> {
    sources::text(path).map_err(Failure::wrong)
}

/// Applies one spec; false if there was nothing to take out.
fn change(members: &mut [Member], spec: &str) -> Answer<bool> {
    let told = |refusal: kcl_edit::Refusal| match refusal.id {
        // The reference's own sentence, without ours around it.
        "override-format" => Failure::wrong(refusal.message),
        _ => Failure::wrong(format!("`{spec}` cannot be applied: {}; {}", refusal.message, refusal.help)),
    };
    let mut changed = false;
    for change in changes_of_override(spec).map_err(told)? {
        let planned = match plan(members, &change) {
            Err(refusal) if change.action == Action::Unset && refusal.id == "not-found" => continue,
            other => other.map_err(told)?,
        };
        changed |= change.action != Action::Unset || planned.outcome != Effect::Unchanged;
        for (number, file) in apply(members, &planned).map_err(told)? {
            members[number].file = Rc::new(file);
        }
    }
    Ok(changed)
}

fn errors(file: &File) -> Vec<Error> {
    let mut map = SourceMap::default();
    map.add(file.name.clone(), file.text.clone());
    texts::messages(file.errors().iter().filter(|error| error.place() != Place::None), &map)
}

/// Adds the imports that are not there: above the first statement, below what is said about the file.
fn with_imports(file: File, wanted: &[String]) -> Answer<File> {
    let mut tree = Tree::default();
    kcl_syntax::parse_file(&mut tree, &file.text, base_diag::FileId(0));
    let body = tree.files.first().map(|file| file.body.as_slice()).unwrap_or_default();
    let written = |import: &Import| match &import.alias {
        Some(alias) => format!("{} as {}", import.raw_path(), alias.name),
        None => import.raw_path(),
    };
    let known: Vec<String> = body
        .iter()
        .filter_map(|stmt| match tree.stmt(*stmt) {
            Stmt::Import(import) => Some(written(import)),
            _ => None,
        })
        .collect();
    let normal = |text: &String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let missing: Vec<String> = wanted.iter().map(normal).filter(|path| !known.contains(path)).collect();
    if missing.is_empty() {
        return Ok(file);
    }
    let imports: String = missing.iter().map(|path| format!("import {path}\n")).collect();
    let first = body.first().map_or(file.text.len(), |stmt| tree.stmt_span(*stmt).start as usize);
    let gap = if known.is_empty() { "\n" } else { "" };
    let (head, tail) = file.text.split_at(first);
    let new = File::new(file.name.clone(), format!("{head}{imports}{gap}{tail}"));
    match new.errors().first() {
        None => Ok(new),
        Some(error) => Err(Failure::wrong(format!("the imports cannot be added: {}", error.message()))),
    }
}
