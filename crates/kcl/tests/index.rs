//! The semantic index: questions of `index.md`, and the models of this repository.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use kcl::{Compiler, Defined, Disk, Index, MemoryFiles, Request};

/// A case of the book: files, then lines `FILE:LINE:COLUMN QUESTION = ANSWER`.
struct Case {
    title: String,
    files: Vec<(String, String)>,
    questions: Vec<(String, String)>,
}

fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut lines = include_str!("index.md").lines();
    while let Some(line) = lines.next() {
        if let Some(title) = line.strip_prefix("## ") {
            cases.push(Case { title: title.into(), files: Vec::new(), questions: Vec::new() });
        }
        let Some(kind) = line.strip_prefix("```").filter(|kind| !kind.is_empty()) else { continue };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        let case = cases.last_mut().expect("a title first");
        match kind.strip_prefix("kcl ") {
            Some(path) => case.files.push((path.into(), block.join("\n") + "\n")),
            None => {
                assert_eq!(kind, "questions", "{}", case.title);
                let split =
                    |line: &&str| line.split_once(" = ").map(|(a, b)| (a.trim().into(), b.trim().into()));
                case.questions.extend(block.iter().map(|line| split(line).expect("QUESTION = ANSWER")));
            }
        }
    }
    cases
}

fn offset(text: &str, line: usize, column: usize) -> u32 {
    let start: usize = text.split_inclusive('\n').take(line - 1).map(str::len).sum();
    (start + column - 1) as u32
}

fn show(index: &Index, root: &str, file: base_diag::FileId, start: u32) -> String {
    let position = index.program.sources.position(file, start);
    let path = &index.program.sources.get(file).unwrap().path;
    format!("{}:{}:{}", path.trim_start_matches(root).trim_start_matches('/'), position.line, position.column)
}

fn answer(index: &Index, root: &str, question: &str) -> String {
    let (place, what) = question.split_once(' ').expect("PLACE QUESTION");
    let mut parts = place.split(':');
    let path = format!("{root}/{}", parts.next().unwrap());
    let (line, column) = (parts.next().unwrap().parse().unwrap(), parts.next().unwrap().parse().unwrap());
    let file = index.file(&path).unwrap_or_else(|| panic!("{path} is no file of the program"));
    let at = offset(&index.program.sources.get(file).unwrap().text, line, column);
    match what {
        "type" => index.type_at(file, at).map_or("nothing".into(), |typed| typed.text),
        "definition" => index.definition(file, at).map_or("nothing".into(), |definition| {
            let kind = match definition.kind {
                Defined::Here(kind) => kind.word(),
                Defined::Builtin => "built-in",
                Defined::SystemMember => "system member",
                Defined::Method => "method",
            };
            match definition.place {
                Some((file, span)) => {
                    format!("{kind} {} {}", definition.name, show(index, root, file, span.start))
                }
                None => format!("{kind} {}", definition.name),
            }
        }),
        "references" => {
            let found = index.references(file, at);
            let shown: Vec<String> = found.iter().map(|r| show(index, root, r.file, r.span.start)).collect();
            shown.join(" ")
        }
        other => panic!("unknown question {other}"),
    }
}

#[test]
fn the_book_is_answered() {
    let cases = cases();
    assert!(cases.len() >= 15, "the book was not read");
    let mut wrong = String::new();
    for case in &cases {
        let mut files = MemoryFiles::default();
        for (path, text) in &case.files {
            files.add(format!("/w/{path}"), text.as_str());
        }
        let entries = case
            .files
            .iter()
            .map(|(path, _)| path)
            .filter(|path| path.ends_with(".k") && !path.contains('/'));
        let request = Request { work_dir: "/w".into(), ..Request::paths(entries) };
        let compiler = Compiler::new(&files);
        // A package that was run before has types, but no index yet: the second answer must be the first.
        for _ in 0..2 {
            let index = compiler.index(&request);
            assert!(!case.questions.is_empty(), "{}", case.title);
            for (question, expected) in &case.questions {
                let got = answer(&index, "/w", question);
                if got != *expected {
                    wrong.push_str(&format!(
                        "{}\n  {question}\n  expected {expected}\n  got      {got}\n",
                        case.title
                    ));
                }
            }
            compiler.run(&request, &kcl::NoOutside);
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

fn konfig() -> (String, Index) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../konfig").canonicalize().unwrap();
    let root = root.display().to_string();
    let compiler = Compiler::new(Disk);
    let entries = ["appops/guestbook/base/base.k", "appops/guestbook/dev/main.k", "render.k"];
    let externals = vec![("konfig".to_owned(), root.clone().into())];
    let request = Request { work_dir: root.clone().into(), externals, ..Request::paths(entries) };
    let index = compiler.index(&request);
    assert!(index.diagnostics.is_empty(), "{:?}", index.diagnostics);
    (root, index)
}

#[test]
fn an_index_is_plain_data_that_may_go_to_another_thread() {
    fn sendable<T: Send + Sync>(_: &T) {}
    let (_, index) = konfig();
    sendable(&index);
}

/// For every attribute of the models, the references are exactly the places where a reader of the text would see the name.
#[test]
fn references_across_files_and_packages_are_right_for_konfig() {
    let (root, index) = konfig();
    let mut asked = 0;
    for (at, package) in index.packages.iter().enumerate() {
        for def in package.defs() {
            let (file, start) = index.program.packages[at].locate(def.span.start);
            let found = index.references(file, start);
            assert!(
                found.iter().any(|r| r.file == file && r.span.start == start),
                "{} is not among its references",
                def.name
            );
            for reference in &found {
                let text = &index.program.sources.get(reference.file).unwrap().text;
                let written = &text[reference.span.start as usize..reference.span.end as usize];
                let written = written.trim_start_matches('$').trim_matches(['"', '\'']);
                assert_eq!(
                    written,
                    def.name,
                    "at {}",
                    show(&index, &root, reference.file, reference.span.start)
                );
                asked += 1;
            }
        }
    }
    assert!(asked > 500, "only {asked} names were compared");
}

/// A name that stands in a file and is no keyword has a meaning, or is one of the few that only the run can know.
#[test]
fn every_name_of_konfig_has_a_meaning() {
    let (root, index) = konfig();
    let (mut known, mut unknown) = (0, Vec::new());
    for (at, package) in index.packages.iter().enumerate() {
        known += package.occurrences().len();
        for (name, span) in package.unbound() {
            let (file, start) = index.program.packages[at].locate(span.start);
            unknown.push(format!("{name} {}", show(&index, &root, file, start)));
        }
    }
    assert!(known > 800, "{known}");
    assert!(unknown.is_empty(), "{unknown:#?}");
}

#[test]
fn the_image_of_a_server_is_named_here_and_nowhere_else() {
    let (root, index) = konfig();
    let file = index.file(&format!("{root}/models/frontend/server.k")).unwrap();
    let text = index.program.sources.get(file).unwrap().text.clone();
    let found = index.references(file, offset(&text, 27, 5));
    let shown: Vec<String> = found.iter().map(|r| show(&index, &root, r.file, r.span.start)).collect();
    // Not the image of a container, nor `app.image` in a lambda whose parameter is `any`.
    let expected = [
        "appops/guestbook/base/base.k:5:5",
        "appops/guestbook/base/base.k:16:5",
        "appops/guestbook/base/base.k:27:5",
        "models/frontend/server.k:27:5",
    ];
    assert_eq!(shown, expected);
}

/// What is recorded changes nothing, and a name is without a meaning exactly where the checker says so.
#[test]
fn index_and_checker_agree_on_specs_and_generated_programs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec");
    let specs = testkit::spec::load(&root).expect("spec files parse");
    let specs = specs.into_iter().flat_map(|file| file.cases).map(|case| case.program);
    let mut programs = 0;
    let mut wrong = Vec::new();
    for program in specs.chain((0..300).map(testkit::generate::program)) {
        let mut files = MemoryFiles::default();
        for file in &program.files {
            files.add(format!("/w/{}", file.path), file.text.as_str());
        }
        let entries = program.entries().map(|file| file.path.clone());
        let request = Request { work_dir: "/w".into(), ..Request::paths(entries) };
        let index = Compiler::new(&files).index(&request);
        let checked = kcl::deep(|| kcl_check::check(&index.program, &kcl_check::CheckOptions::default()));
        let plain: Vec<_> = checked.diagnostics.iter().map(|d| d.message().to_owned()).collect();
        let recorded: Vec<_> = index.diagnostics.iter().map(|d| d.message().to_owned()).collect();
        let is_013 = program.files.iter().any(|file| file.text.contains("[language]"));
        assert!(is_013 || recorded.ends_with(&plain), "{recorded:?}\n{plain:?}\n{program:?}");
        let unbound: Vec<&str> =
            index.packages.iter().flat_map(|p| p.unbound()).map(|(name, _)| name.as_str()).collect();
        for told in index.diagnostics.iter().filter(|d| d.id == "unknown-name") {
            let name = told.message().split('\'').nth(1).unwrap();
            // A name that counts only from a later line on has a meaning here.
            let declared = index.packages.iter().flat_map(|p| p.defs()).any(|def| def.name == name);
            // A type in parentheses that is the key of a signature is told as a name, and is none.
            let is_type = name.starts_with('(');
            if !declared && !is_type && !unbound.contains(&name) {
                wrong.push(format!(
                    "{name} has a meaning, but: {}\n{}",
                    told.message(),
                    program.files[0].text
                ));
            }
        }
        let open = |text: &str| text.contains("mixin") || text.contains("Mixin") || text.contains("rule ");
        if index.diagnostics.is_empty() && !program.files.iter().any(|file| open(&file.text)) {
            // The checker passes over two: an argument of a dict, and the last of three that are compared.
            if !unbound.iter().all(|name| ["x", "zz"].contains(name)) {
                wrong.push(format!("{unbound:?}\n{}", program.files[0].text));
            }
        }
        programs += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n---\n"));
    assert!(programs > 1500, "{programs}");
}
