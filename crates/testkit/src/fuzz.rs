//! What the fuzz targets do with a heap of bytes.
//!
//! In: any bytes. Out: nothing; a panic is a finding. The targets under `fuzz/` call these functions, and the corpus test replays
//! what was found, so that a finding stays found.

use crate::{Flags, Program, Verdict};
use base_diag::FileId;
use base_yaml::{Data, Limits, Node, Sink, YamlWriter};

/// Name and body of every target.
pub const TARGETS: &[crate::FuzzTarget] = &[
    ("parser", parser),
    ("pipeline", pipeline),
    ("yaml", yaml),
    ("overrides", overrides),
    ("edits", edits),
    ("selectors", selectors),
    ("fmt", fmt),
    ("docs", docs),
    ("lint", lint),
    ("import", import),
    ("manifest", manifest),
    ("lock", lock),
    ("archive", archive),
];

/// Text to tree, and back to the same text.
pub fn parser(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut tree = kcl_syntax::ast::Tree::default();
    let diagnostics = kcl_syntax::parse_file(&mut tree, &text, FileId(0));
    for diagnostic in &diagnostics {
        assert!(!diagnostic.labels.is_empty(), "a diagnostic without a place: {diagnostic:?}");
    }
    assert_eq!(kcl_syntax::parse_lossless(&text).text(), text, "the round trip lost bytes");
}

/// Text to canonical text: the same program, the same comments, a fixed point; broken texts come back as they were.
pub fn fmt(bytes: &[u8]) {
    if let Err(broken) = crate::format::judge(&String::from_utf8_lossy(bytes)) {
        panic!("{broken}");
    }
}

/// A docstring, and a program with all its documents: always an answer, and nothing of it ends up as HTML.
pub fn docs(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let doc = kcl_model::docstring::parse(&text);
    let again = kcl_model::docstring::parse(&kcl_model::docstring::write(&doc));
    assert!(again.attributes.len() >= doc.attributes.len(), "attributes got lost: {doc:?}");
    let program =
        format!("schema Told:\n    r\"\"\"{}\n    \"\"\"\n    x: int\n", text.replace("\"\"\"", ""));
    for program in [text.as_ref(), program.as_str()] {
        let request = kcl::Request::source("main.k", program);
        let checked = kcl::Compiler::new(kcl::MemoryFiles::default()).checked(&request);
        let names = vec![kcl_model::PackageName::default(); checked.program.packages.len()];
        let (program, types) = (&checked.program, checked.types.as_slice());
        let input = kcl_model::Program { program, types, names: &names, root: "" };
        let Some(package) = kcl_model::read_package(input, program.main) else { continue };
        let model = kcl_model::Model { packages: vec![package], ..kcl_model::Model::default() };
        documents(&model);
    }
}

/// Bytes as every format that can be imported: an error, or files that parse, are formatted and the same the second time.
pub fn import(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let load = |path: &str| Err(format!("there is no {path}"));
    for (name, mode) in kcl_import::Mode::ALL {
        let input = kcl_import::Input { name: format!("input.{name}"), text: text.to_string(), load: &load };
        let made = match kcl_import::import(&input, *mode, "") {
            Ok(made) => made,
            Err(message) => {
                assert!(!message.starts_with("a bug"), "{name}: {message}");
                continue;
            }
        };
        for (path, text) in made.files.iter().filter(|(path, _)| path.ends_with(".k")) {
            let again = kcl_fmt::format(text, FileId(0));
            assert!(again.errors.is_empty() && again.text == *text, "{name}: {path}:\n{text}");
        }
    }
}

/// Bytes as a `kcl.mod`: what it says is told or refused, and an edit of it is a manifest again.
pub fn manifest(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Ok(table) = text.parse::<toml::Table>() else { return };
    let _ = (kcl_mod::package(&table), kcl_mod::mirrors(&table));
    if let Ok(policy) = kcl_mod::Policy::read(&table) {
        policy.requires("reg.example.org/team/web");
    }
    let (needs, _) = kcl_mod::all_requirements(&table);
    for need in needs.iter().take(8) {
        let Ok(edited) = kcl_mod::add(&text, need) else { continue };
        let table: toml::Table = edited.parse().expect("an edited manifest is TOML");
        let (again, _) = kcl_mod::requirements(&table);
        assert!(again.iter().any(|known| known.import_name() == need.import_name()), "{edited}");
    }
}

/// Bytes as a `kcl.mod.lock`: what is read is written and read again.
pub fn lock(bytes: &[u8]) {
    let Ok(lock) = kcl_mod::Lock::parse(&String::from_utf8_lossy(bytes)) else { return };
    let written = lock.write();
    let again = kcl_mod::Lock::parse(&written).expect("what was written is a lock");
    assert_eq!(again.write(), written);
}

/// Bytes as the archive of a package: refused, or its files come back from an archive of our own.
pub fn archive(bytes: &[u8]) {
    let limits = kcl_mod::Limits { bytes: 1 << 20, files: 100 };
    let Ok((content, _)) = kcl_mod::unpack(bytes, limits, kcl_mod::Links::LeaveOut) else { return };
    let Ok(packed) = kcl_mod::pack(&content) else { return };
    let (again, _) =
        kcl_mod::unpack(packed.as_slice(), limits, kcl_mod::Links::Refuse).expect("our own archive");
    assert_eq!(again, content);
}

fn documents(model: &kcl_model::Model) {
    let options = kcl_doc::Options::default();
    kcl_doc::markdown(model, &options);
    kcl_doc::openapi(model, &options);
    kcl_doc::json_schema(model, &options).expect("without a root nothing can be wrong");
    for file in kcl_doc::site(model, &[], &options) {
        if file.path.ends_with(".html") {
            // The two of the head.
            assert_eq!(file.text.matches("<script").count(), 2, "{}", file.path);
            assert_eq!(file.text.matches("<main").count(), 1, "{}", file.path);
        }
    }
}

/// Safe fixes of the linter keep what a program means.
pub fn lint(bytes: &[u8]) {
    if let Err(broken) = crate::lint::judge(&String::from_utf8_lossy(bytes)) {
        panic!("{broken}");
    }
}

/// The whole road: load, check, evaluate, write; with small budgets, so that a run always ends soon.
pub fn pipeline(bytes: &[u8]) {
    run(Program::single(String::from_utf8_lossy(bytes)));
}

/// The first line is an override, the rest the program.
pub fn overrides(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
    let flags = Flags { overrides: vec![first.to_string()], ..Flags::default() };
    run(Program { flags, ..Program::single(rest) });
}

/// Another name for what a path means: refused, or the program still compiles (which is proved by `kcl::rename` itself) and naming
/// it back is refused (the old name may be one that nothing new may have) or gives the program that was there, but for quotes.
fn renamed(members: &[kcl_edit::Member], path: &kcl_syntax::source::SourcePath, new: &str) {
    let Ok((_, span)) = kcl_edit::named(members, path) else { return };
    let before = &members[0].file.text;
    let Some((first, after)) = with_name(before, span.start, new) else { return };
    let old = before[first.start as usize..first.end as usize].trim_matches(['"', '\'', '$']);
    let Some((_, back)) = with_name(&after, first.start, old) else { return };
    let plain = |text: &str| text.replace(['"', '\'', '$'], "");
    assert_eq!(plain(&back), plain(before), "named back, it is another program; between them:\n{after}");
}

/// The first place that gets the name, and the program with it; none if nothing changes.
fn with_name(text: &str, at: u32, new: &str) -> Option<(base_diag::Span, String)> {
    let mut files = kcl::MemoryFiles::default();
    files.add("/w/main.k", text);
    let request = kcl::Request { work_dir: "/w".into(), ..kcl::Request::paths(["/w/main.k"]) };
    let edits = kcl::rename(&files, &[request], ("/w/main.k", at), new).ok()?;
    let (mut out, mut from) = (String::new(), 0);
    for edit in &edits {
        let kept = text.get(from..edit.span.start as usize);
        out +=
            kept.unwrap_or_else(|| panic!("edits overlap, are out of order or cut a character: {edits:?}"));
        out += &edit.text;
        from = edit.span.end as usize;
    }
    Some((edits.first()?.span, out + &text[from..]))
}

/// The first line is a change (`set PATH=VALUE`, `append`, `unset`, `rename`, or an override), the rest a file: what is planned
/// applies, parses, touches nothing outside its edits, and a value that was set is found again.
pub fn edits(bytes: &[u8]) {
    use kcl_edit::{Action, Change, File, Member};
    use kcl_syntax::source::SourcePath;
    let text = String::from_utf8_lossy(bytes);
    let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
    let members = vec![Member { file: std::rc::Rc::new(File::new("main.k", rest)), own: true }];
    let (verb, ask) = first.split_once(' ').unwrap_or(("set", first));
    let at = SourcePath::end_before_value(ask).unwrap_or(ask.len());
    let value = ask.get(at + 1..).unwrap_or("").to_owned();
    let path = SourcePath::parse(&ask[..at]);
    let plan = match (verb, path) {
        ("override", _) => {
            let changes = kcl_edit::changes_of_override(ask).unwrap_or_default();
            let Some(change) = changes.first() else { return };
            kcl_edit::plan(&members, change)
        }
        (_, Err(_)) => return,
        ("rename", Ok(path)) => return renamed(&members, &path, &value),
        ("append", Ok(path)) => kcl_edit::plan(&members, &Change { path, action: Action::Append(value) }),
        ("unset", Ok(path)) => kcl_edit::plan(&members, &Change { path, action: Action::Unset }),
        (_, Ok(path)) => {
            let change = Change { path: path.clone(), action: Action::Set(value) };
            let plan = kcl_edit::plan(&members, &change);
            if let Ok(made) = &plan
                && let Ok(files) = kcl_edit::apply(&members, made)
            {
                let member = |(_, file): (usize, File)| Member { file: std::rc::Rc::new(file), own: true };
                let after: Vec<Member> = files.into_iter().map(member).collect();
                let found = after.is_empty() || !kcl_edit::find(&after, &path).is_empty();
                assert!(found, "what was set is not found: {path}\n{rest}");
            }
            plan
        }
    };
    let Ok(plan) = plan else { return };
    for edit in &plan.edits {
        assert!(rest.get(edit.start..edit.end).is_some(), "an edit cuts a character: {edit:?}");
    }
    let _ = kcl_edit::apply(&members, &plan);
}

/// The first line is a selector, the rest the program.
pub fn selectors(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
    let flags = Flags { selectors: vec![first.to_string()], ..Flags::default() };
    run(Program { flags, ..Program::single(rest) });
}

fn run(program: Program) {
    if let Verdict::Broken(why) = crate::ours::run_small(&program) {
        panic!("{why}");
    }
}

/// Reads YAML; what was read is written, read again and written again: both writings are the same.
pub fn yaml(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let limits = Limits { depth: 64, nodes: 10_000, ..Limits::default() };
    let _ = base_yaml::parse_json(&text, &limits);
    let Ok(documents) = base_yaml::parse_documents(&text, &limits) else { return };
    for document in documents {
        let once = write(&document);
        let again = match base_yaml::parse_documents(&once, &limits) {
            Ok(again) => again,
            Err(error) => panic!("what was written cannot be read: {error:?}\n{once}"),
        };
        let stable = again.first().is_some_and(|again| write(again) == once || alike(&document, again));
        assert!(stable, "writing is not stable: {once}");
    }
}

/// The same but for the last digits of floats: the reference reads them with an error of a few units, and so do we.
fn alike(a: &Node, b: &Node) -> bool {
    match (&a.value, &b.value) {
        (Data::Float(a), Data::Float(b)) => (a - b).abs() <= a.abs() * 1e-14,
        (Data::List(a), Data::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a, b)),
        (Data::Map(a), Data::Map(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.key == b.key && alike(&a.value, &b.value))
        }
        (a, b) => a == b,
    }
}

fn write(node: &Node) -> String {
    let mut writer = YamlWriter::new();
    push(&mut writer, node);
    writer.into_document()
}

fn push(writer: &mut YamlWriter, node: &Node) {
    match &node.value {
        Data::Null => writer.null(),
        Data::Bool(b) => writer.bool(*b),
        Data::Int(i) => writer.int(*i),
        Data::Float(f) => writer.float(*f),
        Data::Str(text) => writer.str(text),
        Data::List(items) => {
            writer.begin_list();
            for item in items {
                push(writer, item);
            }
            writer.end_list();
        }
        Data::Map(entries) => {
            writer.begin_map();
            for entry in entries {
                writer.key(&entry.key);
                push(writer, &entry.value);
            }
            writer.end_map();
        }
    }
}
