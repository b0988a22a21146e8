//! `spec/types`: programs with their first error, or with output if they must be accepted.

use std::path::Path;

use kcl_check::CheckOptions;

use crate::program::errors;

struct Case {
    name: String,
    program: String,
    /// The first error; none if the program must be accepted.
    error: Option<String>,
}

fn cases(text: &str) -> Vec<Case> {
    let (mut cases, mut name, mut program, mut fence) = (Vec::new(), String::new(), String::new(), None);
    let mut body = String::new();
    for line in text.lines() {
        match (&fence, line.strip_prefix("```")) {
            (None, Some(kind)) => fence = Some(kind.to_owned()),
            (Some(kind), Some("")) => {
                let text = std::mem::take(&mut body);
                match kind.as_str() {
                    "kcl" => program = text,
                    "error" => {
                        let error = text.lines().next().map(str::to_owned);
                        cases.push(Case { name: name.clone(), program: program.clone(), error });
                    }
                    _ => cases.push(Case { name: name.clone(), program: program.clone(), error: None }),
                }
                fence = None;
            }
            (Some(_), _) => {
                body.push_str(line);
                body.push('\n');
            }
            (None, None) => {
                if let Some(title) = line.strip_prefix("## ") {
                    name = title.to_owned();
                }
            }
        }
    }
    cases
}

#[test]
fn every_first_error_of_the_typed_specs_agrees() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/types");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    let (mut count, mut wrong) = (0, Vec::new());
    for file in files {
        for case in cases(&std::fs::read_to_string(&file).unwrap()) {
            count += 1;
            let found = errors(&[("__main__", &case.program)], &CheckOptions::default());
            if found.first() != case.error.as_ref() {
                wrong.push(format!(
                    "{} ({})\n{}  expected {:?}\n  found    {found:?}",
                    case.name,
                    file.display(),
                    case.program,
                    case.error
                ));
            }
        }
    }
    assert!(count > 150, "only {count} cases found");
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
}
