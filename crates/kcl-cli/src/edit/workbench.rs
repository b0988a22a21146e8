//! The files of a call: read once, changed in memory, written at the end.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use base_diag::{LineIndex, Span};
use base_file::Turn;
use kcl_edit::{Change, EditPlan, Effect, File, Member, Refusal, apply, find, plan};

use super::stack::{StackFile, files_of};
use super::{Verb, Wish};
use crate::files::{self, text_of};

/// A place in a file, as messages show it.
#[derive(Clone, Debug)]
pub(super) struct Spot {
    pub(super) file: String,
    pub(super) line: u32,
}

/// Where a path is set.
pub(super) struct Value {
    pub(super) spot: Spot,
    pub(super) operator: &'static str,
    pub(super) text: String,
    pub(super) own: bool,
}

/// What became of a wish.
pub(super) enum Answer {
    Done { outcome: Effect, spot: Option<Spot> },
    Values(Vec<Value>),
    Refused { id: &'static str, message: String, help: String, spot: Option<Spot> },
}

/// What became of a file.
pub(super) struct Written {
    pub(super) file: String,
    pub(super) status: &'static str,
    pub(super) diff: String,
    pub(super) error: Option<String>,
}

pub(super) struct Held {
    shown: String,
    before: Arc<str>,
    pub(super) file: Rc<File>,
}

/// Files and stacks that were looked at.
#[derive(Default)]
pub(super) struct Workbench {
    pub(super) held: BTreeMap<PathBuf, Held>,
    pub(super) stacks: HashMap<String, Vec<StackFile>>,
}

impl Workbench {
    pub(super) fn answer(&mut self, wish: &Wish) -> Answer {
        let members = match self.stack(&wish.target) {
            Ok(members) => members,
            Err(message) => {
                let help = "TARGET is a file, or the folder of a stack".to_owned();
                return Answer::Refused { id: "no-target", message, help, spot: None };
            }
        };
        match &wish.verb {
            Verb::Get => values(&members, wish),
            Verb::Change(action) => {
                let change = Change { path: wish.path.clone(), action: action.clone() };
                self.make(&wish.target, &members, plan(&members, &change))
            }
            Verb::Rename(name) => self.rename(&wish.target, &members, &wish.path, name),
        }
    }

    fn stack(&mut self, target: &str) -> Result<Vec<Member>, String> {
        if !self.stacks.contains_key(target) {
            self.enter(target, files_of(target)?)?;
        }
        Ok(self.members(target))
    }

    /// Takes the files of a stack in under a name.
    pub(super) fn enter(&mut self, name: &str, files: Vec<StackFile>) -> Result<(), String> {
        for file in &files {
            if !self.held.contains_key(&file.place) {
                let text = files::read(&file.place).and_then(text_of);
                let text: Arc<str> = text.map_err(|message| format!("{} {message}", file.shown))?.into();
                let (shown, before) = (file.shown.clone(), text.clone());
                let file_of = Rc::new(File::new(shown.clone(), text));
                self.held.insert(file.place.clone(), Held { shown, before, file: file_of });
            }
        }
        self.stacks.insert(name.to_owned(), files);
        Ok(())
    }

    pub(super) fn members(&self, target: &str) -> Vec<Member> {
        let files = self.stacks.get(target).map(Vec::as_slice).unwrap_or_default();
        let member = |file: &StackFile| {
            let held = self.held.get(&file.place)?;
            Some(Member { file: held.file.clone(), own: file.own })
        };
        files.iter().filter_map(member).collect()
    }

    pub(super) fn make(
        &mut self,
        target: &str,
        members: &[Member],
        planned: Result<EditPlan, Refusal>,
    ) -> Answer {
        let planned = planned.and_then(|plan| apply(members, &plan).map(|files| (plan, files)));
        let (plan, changed) = match planned {
            Ok(made) => made,
            Err(refusal) => return refused(members, refusal),
        };
        let first = plan.edits.first().map(|edit| (edit.file, edit.start));
        let mut spot = plan
            .file
            .and_then(|file| members.get(file))
            .map(|member| Spot { file: member.file.name.clone(), line: 0 });
        for (number, file) in changed {
            if let Some((_, start)) = first.filter(|(at, _)| *at == number) {
                // A line that is put in starts where the one before it ends.
                let start = start + file.text[start..].len() - file.text[start..].trim_start().len();
                spot = Some(spot_at(&file, start as u32));
            }
            let place =
                self.stacks.get(target).and_then(|files| files.get(number)).map(|file| file.place.clone());
            if let Some(held) = place.and_then(|place| self.held.get_mut(&place)) {
                held.file = Rc::new(file);
            }
        }
        Answer::Done { outcome: plan.outcome, spot }
    }

    fn changed(&self) -> impl Iterator<Item = (&Path, &Held)> {
        let others = self.held.iter().filter(|(_, held)| held.before != held.file.text);
        others.map(|(place, held)| (place.as_path(), held))
    }

    /// Writes what has changed, file by file; nothing if somebody else changed one of the files since it was read: then all is to be
    /// answered again.
    pub(super) fn write(&self, turn: &mut Turn) -> Option<Vec<Written>> {
        let read: Vec<(&Path, &[u8])> =
            self.changed().map(|(place, held)| (place, held.before.as_bytes())).collect();
        let ours = match turn.is_ours(&read) {
            Ok(false) => return None,
            Ok(true) => Ok(()),
            Err(error) => Err(format!("cannot be changed: {error}")),
        };
        let write = |(place, held): (&Path, &Held)| {
            let result = ours.clone().and_then(|()| files::replace(place, &held.file.text));
            let status = if result.is_ok() { "changed" } else { "failed" };
            Written { file: held.shown.clone(), status, diff: String::new(), error: result.err() }
        };
        Some(self.changed().map(write).collect())
    }

    /// What would be written.
    pub(super) fn unwritten(&self, diff: bool) -> Vec<Written> {
        let show = |(_, held): (&Path, &Held)| {
            let name = &held.shown;
            let diff = match diff {
                true => kcl_fmt::diff::unified(name, name, &held.before, &held.file.text),
                false => String::new(),
            };
            Written { file: name.clone(), status: "would-change", diff, error: None }
        };
        self.changed().map(show).collect()
    }
}

fn spot_at(file: &File, offset: u32) -> Spot {
    Spot { file: file.name.clone(), line: LineIndex::new(&file.text).line(offset) }
}

fn values(members: &[Member], wish: &Wish) -> Answer {
    let value = |found: kcl_edit::Found| {
        let member = &members[found.file];
        let Span { start, end } = found.value;
        let text = member.file.text.get(start as usize..end as usize).unwrap_or("").to_owned();
        Value { spot: spot_at(&member.file, start), operator: found.operator, text, own: member.own }
    };
    Answer::Values(find(members, &wish.path).into_iter().map(value).collect())
}

pub(super) fn refused(members: &[Member], refusal: Refusal) -> Answer {
    let spot = refusal.at.and_then(|(file, span)| Some(spot_at(&members.get(file)?.file, span.start)));
    Answer::Refused { id: refusal.id, message: refusal.message, help: refusal.help, spot }
}
