//! The book of edits: `edits.md`, a text before, commands, the text after or the name of the refusal.
#![allow(clippy::unwrap_used)]

mod support;

use std::rc::Rc;

use kcl_edit::{Action, Change, EditPlan, File, Member, Refusal, apply, plan};
use kcl_syntax::source::SourcePath;

fn planned(members: &[Member], command: &str) -> Result<EditPlan, Refusal> {
    let (verb, rest) = command.split_once(' ').unwrap();
    let at = SourcePath::end_before_value(rest).unwrap_or(rest.len());
    let path = SourcePath::parse(&rest[..at]).unwrap();
    let value = || rest[at + 1..].replace("\\n", "\n");
    let action = match verb {
        "set" => Action::Set(value()),
        "append" => Action::Append(value()),
        "unset" => Action::Unset,
        "rename" => return support::rename(members, &path, &value()),
        "override" => {
            let mut members = members.to_vec();
            for change in kcl_edit::changes_of_override(rest)? {
                let plan = plan(&members, &change)?;
                members[0].file = Rc::new(apply(&members, &plan)?.remove(0).1);
            }
            let (text, end) = (members[0].file.text.to_string(), usize::MAX);
            let edits = vec![kcl_edit::Edit { file: 0, start: 0, end, text }];
            return Ok(EditPlan { edits, outcome: kcl_edit::Effect::Replaced, file: Some(0) });
        }
        other => panic!("{other}"),
    };
    plan(members, &Change { path, action })
}

/// Files of a block: one text, or several after lines `-- NAME --`; a name in brackets is not the stack's own.
fn members(text: &str) -> Vec<Member> {
    if !text.starts_with("-- ") {
        return vec![Member { file: Rc::new(File::new("main.k", text)), own: true }];
    }
    let files = text.split("-- ").skip(1).filter(|part| part.contains(" --\n"));
    files
        .map(|part| part.split_once(" --\n").unwrap())
        .map(|(name, text)| Member { file: Rc::new(File::new(name, text)), own: !name.starts_with('[') })
        .collect()
}

fn written(members: &[Member]) -> String {
    match members {
        [only] => only.file.text.to_string(),
        many => many.iter().map(|m| format!("-- {} --\n{}", m.file.name, m.file.text)).collect(),
    }
}

fn run(before: &str, command: &str) -> String {
    let mut members = members(before);
    match planned(&members, command) {
        Err(refusal) => format!("refused: {}\n", refusal.id),
        Ok(plan) if plan.edits.iter().any(|edit| edit.end == usize::MAX) => plan.edits[0].text.clone(),
        Ok(plan) => match apply(&members, &plan) {
            Err(refusal) => format!("refused: {}\n", refusal.id),
            Ok(files) => {
                for (number, file) in files {
                    members[number].file = Rc::new(file);
                }
                written(&members)
            }
        },
    }
}

#[test]
fn the_book_holds() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/edits.md");
    let book = std::fs::read_to_string(path).unwrap();
    let mut wrong = Vec::new();
    let mut count = 0;
    for section in book.split("\n## ").skip(1) {
        let mut blocks = section.split("```");
        let before = blocks.nth(1).unwrap().strip_prefix("kcl\n").unwrap();
        while let Some(command) = blocks.next().and_then(|text| text.split('`').nth(1)) {
            let after = blocks.next().unwrap().trim_start_matches("kcl").trim_start_matches("text");
            let got = run(before, command);
            if got != after[1..] {
                wrong.push(format!(
                    "## {}\n{command}\n-- got --\n{got}-- wanted --{after}",
                    section.lines().next().unwrap()
                ));
            }
            count += 1;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 30, "{count}");
}

#[test]
fn line_ends_and_the_byte_order_mark_stay() {
    let text = "\u{feff}a = {\r\n    b = 1  # one\r\n}\r\n";
    assert_eq!(run(text, "set a.b=2"), "\u{feff}a = {\r\n    b = 2  # one\r\n}\r\n");
    assert_eq!(run(text, "set a.c=2"), "\u{feff}a = {\r\n    b = 1  # one\r\n    c = 2\r\n}\r\n");
    assert_eq!(run(text, "unset a.b"), "\u{feff}a = {\r\n}\r\n");
    assert_eq!(run(text, "set x=1"), format!("{text}x = 1\r\n"));
    assert_eq!(run(text, "unset a"), "\u{feff}");
    assert_eq!(run("\u{feff}a = 1", "set b.c=2"), "\u{feff}a = 1\nb = {c = 2}\n");
    assert_eq!(run("", "set a=1"), "a = 1\n");
}
