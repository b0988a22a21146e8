//! Renaming in memory: the files are one program.
#![allow(clippy::unwrap_used)]

use kcl::{MemoryFiles, Request};
use kcl_edit::{Edit, EditPlan, Effect, Member, Refusal, named};
use kcl_syntax::source::SourcePath;

pub(crate) fn rename(members: &[Member], path: &SourcePath, new: &str) -> Result<EditPlan, Refusal> {
    let (number, span) = named(members, path)?;
    let mut files = MemoryFiles::default();
    let place = |member: &Member| format!("/w/{}", member.file.name);
    members.iter().for_each(|member| files.add(place(member), member.file.text.clone()));
    let request = Request { work_dir: "/w".into(), ..Request::paths(members.iter().map(place)) };
    let renamed = kcl::rename(&files, &[request], (&place(&members[number]), span.start), new);
    let renamed = renamed.map_err(|obstacle| {
        let (id, message, help) = obstacle.words();
        Refusal { id, message, help: help.into(), at: None }
    })?;
    let edit = |change: kcl::Renamed| {
        let file = members.iter().position(|member| place(member) == change.path).unwrap();
        let (start, end) = (change.span.start as usize, change.span.end as usize);
        Edit { file, start, end, text: change.text }
    };
    let edits: Vec<Edit> = renamed.into_iter().map(edit).collect();
    if edits.iter().any(|edit| !members[edit.file].own) {
        return Err(Refusal { id: "not-own", message: String::new(), help: String::new(), at: None });
    }
    Ok(EditPlan { edits, outcome: Effect::Renamed, file: Some(number) })
}
