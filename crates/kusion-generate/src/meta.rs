//! Reading `project.yaml`, `stack.yaml` and `component.yaml`: strictly, with the line of what is wrong.
//!
//! A key that nobody knows is an error, because a mistyped one would silently mean another cluster or another rule. Keys that
//! upstream has and this version does not use are accepted with a note.

use std::path::Path;

use base_diag::nearest;
use base_yaml::{Data, Limits, MapEntry};
use kcl::Files;
use kusion_model::{MetaError, MetaFile, WorkspaceFile};

use crate::documents::value_of;
use crate::error::FileProblem;

/// Reads a file; what is accepted but not used is added to the notes.
pub(crate) fn read<T: MetaFile>(
    files: &dyn Files,
    path: &Path,
    notes: &mut Vec<String>,
) -> Result<T, FileProblem> {
    let place = path.display().to_string();
    let text = files.read(path).map_err(|e| FileProblem::new(e).place(place.clone()))?;
    let entries = entries::<T>(&text, &place)?;
    for entry in &entries {
        let at = || format!("{place}:{}", entry.key_span.line);
        if T::UNUSED.contains(&entry.key.as_str()) {
            notes.push(format!("`{}` is accepted, but this version does not use it ({})", entry.key, at()));
        } else if !T::keys().contains(&entry.key) {
            return Err(unknown::<T>(&entry.key).place(at()));
        }
    }
    let all = base_yaml::Node { value: Data::Map(entries.clone()), span: Default::default() };
    let value = value_of(all, "");
    T::from_value(value).map_err(|error| {
        let wrong = blamed::<T>(&entries, &error);
        let place = wrong.map_or(place.clone(), |entry| format!("{place}:{}", entry.key_span.line));
        let problem = match (&error, wrong) {
            (MetaError::Unreadable { message, .. }, Some(entry)) => {
                FileProblem::new(format!("`{}` in {} cannot be used", entry.key, T::FILE))
                    .cause(message.clone())
            }
            _ => FileProblem::new(error.to_string()),
        };
        let problem = problem.place(place);
        match error {
            MetaError::NoName { .. } => problem.next("write at least `name: NAME`"),
            _ => problem.next("correct it, or remove it"),
        }
    })
}

/// Reads the file of a workspace in Kusion's home, with notes about keys that are not used; nothing if there is none.
///
/// # Errors
/// A file that cannot be used.
pub fn read_workspace(
    files: &dyn Files,
    home: &Path,
    workspace: &str,
) -> Result<(WorkspaceFile, Vec<String>), FileProblem> {
    if workspace.is_empty() || workspace.contains(['/', '\\']) || workspace.starts_with('.') {
        return Err(FileProblem::new(format!("`{workspace}` is no name of a workspace")));
    }
    let path = home.join("workspaces").join(format!("{workspace}.yaml"));
    let mut notes = Vec::new();
    if !files.is_file(&path) {
        return Ok((WorkspaceFile::default(), notes));
    }
    let file = read(files, &path, &mut notes)?;
    Ok((file, notes))
}

/// The keys of a file that is one mapping, or empty.
fn entries<T: MetaFile>(text: &str, place: &str) -> Result<Vec<MapEntry>, FileProblem> {
    let documents = base_yaml::parse_documents(text, &Limits::default()).map_err(|e| {
        FileProblem::new(format!("{} is not YAML", T::FILE))
            .cause(e.message)
            .place(format!("{place}:{}", e.line))
            .next("correct that line or the one before it: an indent, a colon, a bracket or a quote")
    })?;
    let mut documents = documents.into_iter();
    let first = documents.next();
    if let Some(second) = documents.next() {
        return Err(FileProblem::new(format!("{} has more than one document", T::FILE))
            .place(format!("{place}:{}", second.span.line))
            .next("keep one; each stack has a folder and a file of its own"));
    }
    match first.map(|node| (node.value, node.span.line)) {
        None | Some((Data::Null, _)) => Ok(Vec::new()),
        Some((Data::Map(entries), _)) => Ok(entries),
        Some((_, line)) => Err(FileProblem::new(format!("{} is not a mapping of keys to values", T::FILE))
            .place(format!("{place}:{line}"))
            .next("write at least `name: NAME`")),
    }
}

fn unknown<T: MetaFile>(key: &str) -> FileProblem {
    let known = T::keys();
    let small = |text: &str| text.to_ascii_lowercase();
    // `kubeContext` is no slip of a finger, but it says which key was meant.
    let within = || known.iter().find(|name| name.len() > 4 && small(key).contains(&small(name)));
    let near = nearest(known.iter().map(String::as_str), key).or_else(|| within().map(String::as_str));
    let names = known.join(", ");
    FileProblem::new(format!("{} has no key `{key}`", T::FILE)).next(match near {
        Some(near) => format!("did you mean `{near}`? The keys are: {names}"),
        None => format!("the keys are: {names}"),
    })
}

/// The entry that an error is about: the one that fails alone, too.
fn blamed<'a, T: MetaFile>(entries: &'a [MapEntry], error: &MetaError) -> Option<&'a MapEntry> {
    let named = |name: &str| entries.iter().find(|entry| entry.key == name);
    match error {
        MetaError::NoName { .. } | MetaError::BadName { .. } => named("name"),
        MetaError::Output { .. } => named("outputs"),
        MetaError::Unreadable { .. } => entries.iter().find(|entry| {
            let alone =
                base_yaml::Node { value: Data::Map(vec![(*entry).clone()]), span: Default::default() };
            matches!(T::from_value(value_of(alone, "")), Err(MetaError::Unreadable { .. }))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kcl::MemoryFiles;
    use kusion_model::{Component, Project, Stack};

    fn read_text<T: MetaFile>(text: &str) -> (Result<T, FileProblem>, Vec<String>) {
        let mut files = MemoryFiles::default();
        files.add("/w/file.yaml", text);
        let mut notes = Vec::new();
        (read(&files, Path::new("/w/file.yaml"), &mut notes), notes)
    }

    fn problem<T: MetaFile>(text: &str) -> FileProblem {
        read_text::<T>(text).0.err().unwrap()
    }

    #[test]
    fn unknown_keys_are_refused_with_their_line_and_the_key_that_was_meant() {
        for (text, key, line, near) in [
            ("name: dev\nkubeContext: prod\nkubeConfig: k\n", "kubeContext", 2, "`context`"),
            ("name: dev\n\ncontxt: prod\n", "contxt", 3, "`context`"),
            ("name: dev\nkubeconfig: prod\n", "kubeconfig", 2, "`kubeConfig`"),
            ("nme: dev\n", "nme", 1, "`name`"),
        ] {
            let problem = problem::<Stack>(text);
            assert_eq!(problem.what, format!("stack.yaml has no key `{key}`"));
            assert_eq!(problem.place, Some(format!("/w/file.yaml:{line}")));
            assert!(problem.next.unwrap().starts_with(&format!("did you mean {near}?")), "{text}");
        }
        assert!(problem::<Project>("name: a\nxyz: 1\n").next.unwrap().starts_with("the keys are: name, "));
    }

    #[test]
    fn upstreams_keys_are_accepted_with_a_note() {
        let text = "name: shop\ntenant: t\nbackend: {storageType: local}\ngenerator: {type: KCL}\n";
        let (project, notes) = read_text::<Project>(text);
        assert_eq!(project.unwrap().name, "shop");
        assert_eq!(notes.len(), 2);
        assert_eq!(notes[0], "`tenant` is accepted, but this version does not use it (/w/file.yaml:2)");
        assert_eq!(read_text::<Stack>("name: dev\nworkspace: w\n").1.len(), 1);
        assert_eq!(read_text::<Component>("name: web\nlabels: {a: b}\n").1.len(), 1);
    }

    #[test]
    fn broken_files_name_the_line() {
        let at = |text: &str| problem::<Stack>(text).place.unwrap();
        assert_eq!(at("name: dev\nconflicts: 3\n"), "/w/file.yaml:2");
        assert_eq!(at("name: dev\noutputs: 3\n"), "/w/file.yaml:2");
        assert_eq!(at("name: a/b\n"), "/w/file.yaml:1");
        assert_eq!(at("name: dev\n---\nname: prod\n"), "/w/file.yaml:3");
        assert_eq!(at("- name: dev\n"), "/w/file.yaml:1");
        assert!(at("name: dev\nlabels: [\n").starts_with("/w/file.yaml:"));
        assert!(problem::<Stack>("").what.contains("no `name`"));
    }
}
