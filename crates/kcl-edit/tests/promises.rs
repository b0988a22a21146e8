//! The promises of an edit, on every program of the specs and on generated ones with random comments: after `set` a program
//! evaluates to what `-O` gives, and only the bytes of the value are others.
#![allow(clippy::unwrap_used)]

mod support;

use std::path::Path;
use std::rc::Rc;

use kcl_edit::{Action, Change, Effect, File, Member, apply, find, plan};
use kcl_syntax::ast::{ExprId, Key, Stmt, Tree};
use kcl_syntax::source::{Site, SourcePath, Step, entries, literal_braces, sites};
use testkit::format::noisy;
use testkit::generate::Rng;
use testkit::{Program, Verdict};

#[derive(Default, Debug)]
struct Count {
    replaced: usize,
    created: usize,
    refused: usize,
    /// `-O` fails or is meant to differ.
    apart: usize,
}

const VALUES: &[&str] = &["42", "\"new: text\"", "[1, \"two\"]", "{x = 1}", "True", "None"];

fn tree_of(text: &str) -> Option<Tree> {
    let mut tree = Tree::default();
    kcl_syntax::parse_file(&mut tree, text, base_diag::FileId(0)).is_empty().then_some(tree)
}

/// The paths that a text sets, and for each braces one that is missing.
fn paths(tree: &Tree) -> Vec<SourcePath> {
    let mut out = Vec::new();
    for id in &tree.files[0].body {
        let (name, value) = match tree.stmt(*id) {
            Stmt::Assign { targets, value, .. } if targets.len() == 1 && targets[0].path.is_empty() => {
                (&targets[0].name.name, *value)
            }
            Stmt::Unification { target, value, .. } => (&target.name, *value),
            _ => continue,
        };
        below(tree, vec![Step::Key(name.clone())], value, &mut out);
    }
    out
}

fn below(tree: &Tree, steps: Vec<Step>, value: ExprId, out: &mut Vec<SourcePath>) {
    if let Some(braces) = literal_braces(tree, value).filter(|_| steps.len() < 4) {
        for entry in entries(tree, braces) {
            if let Key::Name(key) | Key::Str(key) = &entry.key {
                // An override has no way to write such a key.
                if key.contains(['"', '[', '$']) || key.is_empty() {
                    continue;
                }
                let mut steps = steps.clone();
                steps.push(Step::Key(key.clone()));
                below(tree, steps, entry.value, out);
            }
        }
        let mut missing = steps.clone();
        missing.extend([Step::Key("added".into()), Step::Key("p.q".into())]);
        out.push(SourcePath { steps: missing });
    }
    out.push(SourcePath { steps });
}

/// Where `-O` and an edit differ on purpose: several statements (`-O` changes the first of each file, an edit the last), and
/// braces that belong to no variable.
fn is_apart(texts: &[&str], name: &str) -> bool {
    texts.iter().any(|text| {
        let Some(tree) = tree_of(text) else { return true };
        let found: Vec<Site> = sites(&tree, 0, name).collect();
        let several = found.iter().filter(|site| matches!(site, Site::Declaration(..))).count() > 1;
        several || matches!(found.first(), Some(Site::Braces(_)))
    })
}

/// A value for a path: mostly of the kind that stands there, so that the program still runs.
fn like(members: &[Member], path: &SourcePath, rng: &mut Rng) -> &'static str {
    let old = find(members, path).last().map(|found| {
        members[found.file].file.text[found.value.start as usize..found.value.end as usize].to_owned()
    });
    match old.as_deref().and_then(|text| text.chars().next()) {
        _ if rng.chance(20) => VALUES[rng.below(VALUES.len())],
        Some('"' | '\'') => "\"new: text\"",
        Some('0'..='9') => "42",
        Some('T' | 'F') => "True",
        Some('[') => "[]",
        Some('{') => "{x = 1}",
        _ => VALUES[rng.below(VALUES.len())],
    }
}

/// Whether the path, or a key on its way, is written more than once: an override counts for the first place, an edit for the last.
fn stands_twice(members: &[Member], path: &SourcePath) -> bool {
    let on_the_way = (1..=path.steps.len()).map(|n| SourcePath { steps: path.steps[..n].to_vec() });
    on_the_way.into_iter().any(|part| find(members, &part).len() > 1)
}

fn judge(program: &Program, rng: &mut Rng, count: &mut Count) {
    let numbers: Vec<usize> = (0..program.files.len())
        .filter(|i| program.files[*i].entry && program.files[*i].path.ends_with(".k"))
        .collect();
    let texts: Vec<&str> = numbers.iter().map(|i| program.files[*i].text.as_str()).collect();
    let mut all: Vec<SourcePath> =
        texts.iter().filter_map(|t| tree_of(t)).flat_map(|tree| paths(&tree)).collect();
    for _ in 0..6.min(all.len()) {
        let path = all.swap_remove(rng.below(all.len()));
        let members: Vec<Member> = numbers
            .iter()
            .map(|i| &program.files[*i])
            .map(|file| Member { file: Rc::new(File::new(&*file.path, file.text.as_str())), own: true })
            .collect();
        let value = like(&members, &path, rng);
        let change = Change { path: path.clone(), action: Action::Set(value.to_owned()) };
        let Ok(planned) = plan(&members, &change) else {
            count.refused += 1;
            continue;
        };
        let files = apply(&members, &planned).unwrap_or_else(|r| panic!("{path}={value}: {r:?}\n{texts:#?}"));
        outside_is_untouched(&members, &planned, &files, value);
        let mut edited = program.clone();
        for (at, file) in &files {
            edited.files[numbers[*at]].text = file.text.to_string();
        }
        let name = path.steps[0].key().unwrap();
        let mut overridden = program.clone();
        overridden.flags.overrides.push(format!("{path}={value}"));
        let (wanted, got) = (testkit::ours::run_small(&overridden), testkit::ours::run_small(&edited));
        match wanted {
            _ if is_apart(&texts, name) || stands_twice(&members, &path) => count.apart += 1,
            Verdict::Output(wanted) => {
                let Verdict::Output(got) = got else {
                    panic!("{path}={value}: -O runs, the edited file does not: {got:?}\n{edited:#?}")
                };
                assert_eq!(got.yaml, wanted.yaml, "{path}={value}\n{edited:#?}");
                match planned.outcome {
                    Effect::Created => count.created += 1,
                    _ => count.replaced += 1,
                }
            }
            _ => count.apart += 1,
        }
    }
}

fn outside_is_untouched(
    members: &[Member],
    planned: &kcl_edit::EditPlan,
    files: &[(usize, File)],
    value: &str,
) {
    for (number, file) in files {
        let old = &members[*number].file.text;
        let mut edits: Vec<_> = planned.edits.iter().filter(|edit| edit.file == *number).collect();
        edits.sort_by_key(|edit| edit.start);
        // Walk both texts: between the edits they are the same bytes.
        let (mut from, mut rest) = (0, &*file.text);
        for edit in edits {
            assert!(edit.text.contains(value), "an edit writes more than the value: {edit:?}");
            assert!(planned.outcome != Effect::Created || edit.start == edit.end);
            rest = rest.strip_prefix(&old[from..edit.start]).unwrap().strip_prefix(&*edit.text).unwrap();
            from = edit.end;
        }
        assert_eq!(rest, &old[from..]);
    }
}

#[test]
fn the_programs_of_the_specs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec");
    let mut rng = Rng::new(5);
    let mut count = Count::default();
    let cases = testkit::spec::load(&root).unwrap().into_iter().flat_map(|file| file.cases);
    for case in cases.filter(|case| case.program.flags.overrides.is_empty()) {
        judge(&case.program, &mut rng, &mut count);
    }
    eprintln!("{count:?}");
    assert!(count.replaced > 500 && count.created > 100, "{count:?}");
}

/// The program with the files that a plan makes.
fn with(program: &Program, files: &[(usize, File)]) -> Program {
    let mut program = program.clone();
    for (at, file) in files {
        program.files[*at].text = file.text.to_string();
    }
    program
}

fn members_of(program: &Program) -> Option<Vec<Member>> {
    let file = program.files.first().filter(|file| file.entry && file.path.ends_with(".k"))?;
    let alone = program.files.iter().filter(|file| file.entry).count() == 1;
    let file = Rc::new(File::new(&*file.path, file.text.as_str()));
    (alone && file.errors().is_empty()).then(|| vec![Member { file, own: true }])
}

fn spec_programs() -> Vec<Program> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec");
    let cases = testkit::spec::load(&root).unwrap().into_iter().flat_map(|file| file.cases);
    cases.map(|case| case.program).filter(|program| program.flags == testkit::Flags::default()).collect()
}

#[test]
fn what_is_unset_is_gone_as_an_override_deletes_it() {
    let mut rng = Rng::new(8);
    let (mut same, mut apart) = (0, 0);
    for program in spec_programs() {
        let Some(members) = members_of(&program) else { continue };
        let mut all = paths(&tree_of(&members[0].file.text).unwrap());
        for _ in 0..3.min(all.len()) {
            let path = all.swap_remove(rng.below(all.len()));
            let change = Change { path: path.clone(), action: Action::Unset };
            let Ok(planned) = plan(&members, &change) else { continue };
            // A decorator cannot stand alone: refused.
            let Ok(files) = apply(&members, &planned) else { continue };
            let mut deleted = program.clone();
            deleted.flags.overrides.push(format!("{path}-"));
            let texts = [members[0].file.text.as_ref()];
            let is_apart = is_apart(&texts, path.steps[0].key().unwrap());
            let edited = with(&program, &files);
            match (testkit::ours::run_small(&deleted), testkit::ours::run_small(&edited)) {
                _ if is_apart => apart += 1,
                (Verdict::Output(wanted), Verdict::Output(got)) => {
                    assert_eq!(got.yaml, wanted.yaml, "{path}\n{edited:#?}");
                    same += 1;
                }
                (Verdict::Output(_), got) => panic!("{path}-: {got:?}\n{edited:#?}"),
                _ => apart += 1,
            }
        }
    }
    eprintln!("{same} the same, {apart} apart");
    assert!(same > 300, "{same}");
}

#[test]
fn a_renamed_variable_is_the_same_program() {
    let (mut same, mut refused) = (0, 0);
    for program in spec_programs() {
        let Some(members) = members_of(&program) else { continue };
        let Verdict::Output(before) = testkit::ours::run_small(&program) else { continue };
        let tree = tree_of(&members[0].file.text).unwrap();
        let variables = paths(&tree).into_iter().filter(|path| path.steps.len() == 1);
        for path in variables.take(4) {
            let name = path.to_string();
            let new = if name.starts_with('_') { "_zz_new" } else { "zz_new" };
            let Ok(planned) = support::rename(&members, &path, new) else {
                refused += 1;
                continue;
            };
            let edited = with(&program, &apply(&members, &planned).unwrap());
            let Verdict::Output(after) = testkit::ours::run_small(&edited) else {
                panic!("{name}: {:?}\n{edited:#?}", testkit::ours::run_small(&edited))
            };
            let back: String = after
                .yaml
                .lines()
                .map(|line| match line.strip_prefix("zz_new:") {
                    Some(rest) => format!("{name}:{rest}\n"),
                    None => format!("{line}\n"),
                })
                .collect();
            let quoted = |text: &str| text.replace(['\'', '\"'], "").trim_end().to_owned();
            assert_eq!(quoted(&back), quoted(&before.yaml), "{name}\n{edited:#?}");
            same += 1;
        }
    }
    eprintln!("{same} the same, {refused} refused");
    assert!(same > 300, "{same}");
}

#[test]
fn generated_programs_with_comments_anywhere() {
    let mut count = Count::default();
    for seed in 0..400 {
        let mut rng = Rng::new(seed);
        let mut program = testkit::generate::program(seed);
        for file in program.files.iter_mut().filter(|file| file.path.ends_with(".k")) {
            file.text = noisy(&file.text, &mut rng);
        }
        judge(&program, &mut rng, &mut count);
    }
    eprintln!("{count:?}");
    assert!(count.replaced > 300 && count.created > 20, "{count:?}");
}
