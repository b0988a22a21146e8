//! The compiler that stays: packages by content, changes, what a result read, many runs on many threads.

#![allow(clippy::unwrap_used, reason = "a test that cannot lock has failed")]

use std::path::Path;
use std::sync::{Arc, Mutex};

use kcl::{Cancel, Compiler, Data, Files, Formats, MemoryFiles, NoOutside, Outside, Request, RunResult};

/// Files that can change while a compiler looks at them, and count how often they are asked.
#[derive(Default)]
struct Changing {
    files: Mutex<MemoryFiles>,
    asked: Mutex<u32>,
}

impl Changing {
    fn new(files: &[(&str, &str)]) -> Changing {
        let changing = Changing::default();
        files.iter().for_each(|(path, text)| changing.write(path, text));
        changing
    }

    fn write(&self, path: &str, text: &str) {
        self.files.lock().unwrap().add(path, text);
    }

    fn with<T>(&self, ask: impl FnOnce(&MemoryFiles) -> T) -> T {
        *self.asked.lock().unwrap() += 1;
        ask(&self.files.lock().unwrap())
    }

    fn asked(&self) -> u32 {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }
}

impl Files for Changing {
    fn read(&self, path: &Path) -> Result<Arc<str>, String> {
        self.with(|files| files.read(path))
    }

    fn is_file(&self, path: &Path) -> bool {
        self.with(|files| files.is_file(path))
    }

    fn is_dir(&self, path: &Path) -> bool {
        self.with(|files| files.is_dir(path))
    }

    fn list(&self, path: &Path) -> Vec<String> {
        self.with(|files| files.list(path))
    }
}

fn request(folder: &str, entry: &str) -> Request {
    Request { work_dir: folder.into(), ..Request::paths([entry]) }
}

fn text(outcome: &RunResult) -> String {
    match outcome.diagnostics.first() {
        Some(first) => first.message().to_owned(),
        None => outcome.yaml.clone(),
    }
}

const MODEL: &str = "schema S:\n    x: int = 1\nschema T(S):\n    y?: S\n";

#[test]
fn a_package_under_two_import_paths_has_its_types_in_both_programs() {
    let files = Changing::new(&[
        ("/lib/kcl.mod", ""),
        ("/lib/model/model.k", MODEL),
        ("/lib/main.k", "import model\na = model.S {x = 'no'}\n"),
        ("/app/kcl.mod", "[dependencies]\nlib = { path = \"../lib\" }\n"),
        ("/app/main.k", "import lib.model\na = model.S {x = 'no'}\n"),
    ]);
    let expected = "expected int, got str(no)";
    for order in [["/lib", "/app"], ["/app", "/lib"]] {
        let compiler = Compiler::new(&files);
        for folder in order {
            assert_eq!(text(&compiler.run(&request(folder, "main.k"), &NoOutside)), expected, "{folder}");
        }
    }
}

#[test]
fn two_packages_of_one_path_keep_their_own_types() {
    // A vendored module is no external one: its inner packages have paths of its own module.
    let files = Changing::new(&[
        ("/w/kcl.mod", ""),
        ("/w/sub/a.k", "schema S:\n    x: int = 1\n"),
        ("/v/lib/kcl.mod", ""),
        ("/v/lib/lib.k", "import sub\nmake = lambda v { sub.S {x = v} }\nmade: sub.S = sub.S {x = 'b'}\n"),
        ("/v/lib/sub/b.k", "schema S:\n    x: str = 'b'\n"),
        ("/w/main.k", "import sub\nimport lib\na = sub.S {x = 2}\nb = lib.made\nc = lib.make('c')\n"),
    ]);
    let compiler = Compiler::new(&files);
    let request = Request { vendor: Some("/v".into()), ..request("/w", "main.k") };
    for _ in 0..2 {
        assert_eq!(text(&compiler.run(&request, &NoOutside)), "a:\n  x: 2\nb:\n  x: b\nc:\n  x: c");
    }
    files.write("/w/main.k", "import sub\nimport lib\nb: sub.S = lib.made\n");
    compiler.changed(["/w/main.k"]);
    assert_eq!(text(&compiler.run(&request, &NoOutside)), "expected S, got S");
}

#[test]
fn a_change_is_seen_when_it_is_told() {
    let files = Changing::new(&[
        ("/w/kcl.mod", ""),
        ("/w/deep/d.k", "n = 1\n"),
        ("/w/model/m.k", "import deep\nn = deep.n + 1\n"),
        ("/w/main.k", "import model\na = model.n\n"),
    ]);
    let compiler = Compiler::new(&files);
    let request = request("/w", "main.k");
    let first = compiler.run(&request, &NoOutside);
    assert_eq!(text(&first), "a: 2");
    assert!(files.asked() > 0);
    assert_eq!(text(&compiler.run(&request, &NoOutside)), "a: 2");
    assert_eq!(files.asked(), 0, "nothing changed, and nothing was asked");
    assert!(compiler.still_valid(&first.reads, &request, &NoOutside));

    files.write("/w/deep/d.k", "n = 5\n");
    assert_eq!(text(&compiler.run(&request, &NoOutside)), "a: 2");
    compiler.changed(["/w/deep/d.k"]);
    assert!(!compiler.still_valid(&first.reads, &request, &NoOutside));
    let second = compiler.run(&request, &NoOutside);
    assert_eq!(text(&second), "a: 6");

    // A file that appears where a folder was listed, and one that is told to have changed but did not.
    compiler.changed(["/w/main.k", "/w/elsewhere.k"]);
    assert!(compiler.still_valid(&second.reads, &request, &NoOutside));
    files.write("/w/model/more.k", "n2 = 1\n");
    compiler.changed(["/w/model/more.k"]);
    assert!(!compiler.still_valid(&second.reads, &request, &NoOutside));
    assert_eq!(text(&compiler.run(&request, &NoOutside)), "a: 6");

    // What was not even looked for, and what was looked for and absent.
    let third = compiler.run(&request, &NoOutside);
    files.write("/w/model.k", "");
    compiler.changed(["/w/model.k"]);
    assert!(compiler.still_valid(&third.reads, &request, &NoOutside), "the folder wins over the file");
    files.write("/w/model/README.md", "");
    compiler.changed(["/w/model/README.md"]);
    assert!(compiler.still_valid(&third.reads, &request, &NoOutside), "of a folder its sources count");
    files.write("/w/model/even_more.k", "");
    compiler.changed(["/w/model/even_more.k"]);
    assert!(!compiler.still_valid(&third.reads, &request, &NoOutside), "the folder has another source in it");
}

/// A world with a file and an environment that change.
#[derive(Default)]
struct Small {
    env: Mutex<Option<String>>,
    data: Mutex<Vec<u8>>,
}

impl Outside for Small {
    fn read_file(&self, _: &Path) -> Result<Vec<u8>, kcl::Reason> {
        Ok(self.data.lock().unwrap().clone())
    }

    fn env(&self, _: &str) -> Option<String> {
        self.env.lock().unwrap().clone()
    }
}

#[test]
fn a_result_knows_the_options_the_environment_and_the_data_that_it_read() {
    let main = "import file\na = option('region') or 'none'\nb = file.read_env('STAGE') or 'none'\nc = file.read('data.txt')\n";
    let files = Changing::new(&[("/w/main.k", main)]);
    let (compiler, world) = (Compiler::new(&files), Small::default());
    let mut request = request("/w", "main.k");
    let outcome = compiler.run(&request, &world);
    assert_eq!(text(&outcome), "a: none\nb: none\nc: ''");
    let reads = &outcome.reads;
    assert_eq!(reads.options().collect::<Vec<_>>(), [("region", None)]);
    assert_eq!(reads.environment().collect::<Vec<_>>(), ["STAGE"]);
    assert_eq!(reads.data_files().collect::<Vec<_>>(), [Path::new("data.txt")]);
    assert_eq!(reads.files().collect::<Vec<_>>(), [Path::new("/w/main.k")]);
    assert!(reads.absent().any(|path| path == Path::new("/w/kcl.mod")));
    assert!(compiler.still_valid(reads, &request, &world));
    request.arguments.push(("other".into(), "1".into()));
    assert!(compiler.still_valid(reads, &request, &world), "an option that nobody asks for changes nothing");
    request.arguments.push(("region".into(), "\"eu\"".into()));
    assert!(!compiler.still_valid(reads, &request, &world));
    request.arguments.pop();
    *world.env.lock().unwrap() = Some("prod".into());
    assert!(!compiler.still_valid(reads, &request, &world));
    *world.env.lock().unwrap() = None;
    world.data.lock().unwrap().push(b'x');
    assert!(!compiler.still_valid(reads, &request, &world));
}

#[test]
fn without_notes_no_result_outlives_a_change() {
    let files = Changing::new(&[("/w/main.k", "a = 1\n")]);
    let compiler = Compiler::new(&files);
    let request = Request { one_shot: true, ..request("/w", "main.k") };
    let outcome = compiler.run(&request, &NoOutside);
    assert_eq!(text(&outcome), "a: 1");
    files.write("/w/main.k", "a = 2\n");
    compiler.changed(["/w/main.k"]);
    assert!(!compiler.still_valid(&outcome.reads, &request, &NoOutside));
}

#[test]
fn what_asks_the_clock_is_never_valid() {
    let files = Changing::new(&[("/w/main.k", "import datetime\na = len(datetime.now()) > 0\n")]);
    let compiler = Compiler::new(&files);
    let request = request("/w", "main.k");
    let outcome = compiler.run(&request, &NoOutside);
    assert!(outcome.is_ok() && !outcome.reads.is_repeatable());
    assert!(!compiler.still_valid(&outcome.reads, &request, &NoOutside));
}

/// A model with bases, mixins, protocols, forward references, aliases, checks and globals.
const WIDE: &str = "\
import inner
type Level = 'low' | 'high'
protocol NamedProtocol:
    name: str
mixin LabelMixin for NamedProtocol:
    labels: {str:str} = {app = name, team = inner.team}
schema Late(Early):
    z: int = y + 1
schema Early:
    y: int = 1
schema App(inner.Base):
    mixin [LabelMixin]
    level: Level = 'low'
    late: Late = Late {}
    items: [inner.Item] = [{n = i} for i in range(count)]
    check:
        count < 50, 'too many: ${count}'
counter = [i * 2 for i in range(3)]
";

const INNER: &str = "team = 'core'\nschema Item:\n    n: int\n    twice: int = n * 2\nschema Base:\n    name: str\n    count: int = 2\n";

fn many() -> (Changing, Vec<Request>) {
    let files = Changing::new(&[("/w/kcl.mod", ""), ("/w/wide/w.k", WIDE), ("/w/inner/i.k", INNER)]);
    let requests = (0..120).map(|i| {
        let late = if i % 2 == 0 { "wide.Late {}" } else { "wide.App {name = 'n', count = 60}" };
        let more = if i % 40 == 39 { late } else { "{}" };
        let main = format!(
            "import wide\napp = wide.App {{name = 'app-{i}', count = {}, level = 'high'}}\nlate = wide.Late {{y = {i}}}\nmore = {more}\nc = wide.counter\n",
            i % 7
        );
        Request { work_dir: "/w".into(), ..Request::source("main.k", main) }
    });
    let requests = requests.collect();
    (files, requests)
}

#[test]
fn many_runs_on_many_threads_give_what_each_gives_alone() {
    let (files, requests) = many();
    let alone: Vec<String> =
        requests.iter().map(|request| text(&Compiler::new(&files).run(request, &NoOutside))).collect();
    assert!(alone.iter().any(|text| text == "Instance check failed"), "{}", alone[39]);
    for threads in [1, 2, 8] {
        let compiler = Compiler::new(&files);
        let outcomes = compiler.run_many_on(threads, &requests, &NoOutside);
        let found: Vec<String> = outcomes.iter().map(text).collect();
        assert_eq!(found, alone, "{threads} threads");
    }
}

#[test]
fn a_budget_of_nesting_is_spent_as_if_nobody_ran_before() {
    let mut model = String::from("schema S0:\n    a: int = 1\n");
    for i in 1..60 {
        model.push_str(&format!("schema S{i}(S{}):\n    b{i}: int = {i}\n", i - 1));
    }
    // The same with every base further down.
    for i in 0..60 {
        model.push_str(&format!("schema F{i}(F{}):\n    c{i}: int = {i}\n", i + 1));
    }
    model.push_str("schema F60:\n    a: int = 1\n");
    let files = Changing::new(&[("/w/kcl.mod", ""), ("/w/m/m.k", &model)]);
    let with_depth = |schema: &str, depth: u32| {
        let mut request = Request::source("main.k", format!("import m\na = m.{schema} {{}}\n"));
        request.work_dir = "/w".into();
        request.limits.depth = depth;
        request
    };
    let warm = Compiler::new(&files);
    for schema in ["S20", "S59", "F40", "F0"] {
        assert!(warm.run(&with_depth(schema, 1000), &NoOutside).is_ok(), "{schema}");
    }
    for schema in ["S59", "F0", "F30"] {
        for depth in
            [20, 40, 58, 59, 60, 61, 62, 63, 64, 65, 66, 67, 68, 80, 119, 120, 121, 122, 123, 124, 125]
        {
            let request = with_depth(schema, depth);
            let (cold, warm) =
                (Compiler::new(&files).run(&request, &NoOutside), warm.run(&request, &NoOutside));
            assert_eq!(text(&cold), text(&warm), "{schema} within {depth}");
        }
    }
}

#[test]
fn a_cancelled_run_stops_soon_and_says_so() {
    let endless = "_f = lambda n: int -> int { 1 if n < 2 else _f(n - 1) + _f(n - 2) }\na = _f(70)\n";
    let cancel = Cancel::new();
    let mut request = Request::source("main.k", endless);
    request.cancel = Some(cancel.clone());
    request.limits.steps = u64::MAX;
    request.limits.cells = u64::MAX;
    let files = MemoryFiles::default();
    let compiler = Compiler::new(&files);
    let (outcome, waited) = std::thread::scope(|scope| {
        let run = scope.spawn(|| compiler.run(&request, &NoOutside));
        std::thread::sleep(std::time::Duration::from_millis(50));
        let asked = std::time::Instant::now();
        cancel.cancel();
        (run.join(), asked.elapsed())
    });
    let outcome = outcome.unwrap();
    assert_eq!((outcome.diagnostics[0].id, text(&outcome).as_str()), ("cancelled", "the run was cancelled"));
    // Milliseconds on an idle machine; the tests of a loaded one must not fail for it.
    assert!(waited.as_secs() < 5, "{waited:?}");

    // One that begins later does not even load.
    let again =
        compiler.run(&Request { cancel: Some(cancel), ..Request::source("b.k", "a = 1\n") }, &NoOutside);
    assert_eq!(again.diagnostics[0].id, "cancelled");
    assert!(compiler.run(&Request::source("b.k", "a = 1\n"), &NoOutside).is_ok());
}

#[test]
fn a_file_that_must_not_be_touched_says_why() {
    let program = "import file\na = file.write('x.txt', 'y')\n";
    let files = MemoryFiles::default();
    let told = |world: &(dyn Outside + Sync)| {
        let outcome = Compiler::new(&files).run(&Request::source("main.k", program), world);
        let error = &outcome.diagnostics[0];
        (error.id, error.message().to_owned(), error.title().to_owned())
    };
    let read_only = kcl::ReadOnly(kcl::DiskOutside::new(Path::new("/nowhere")));
    let sentence = |why: &str| format!("Failed to create file 'x.txt': {why}");
    let title = |why: &str| format!("cannot write the file `x.txt`: {why}");
    let why = "this program may not change files";
    assert_eq!(told(&read_only), ("file-failed", sentence(why), title(why)));
    let why = "it is not allowed here";
    assert_eq!(told(&NoOutside), ("file-failed", sentence(why), title(why)));
}

/// A world in which asking for a variable cancels the run that asks.
struct Cancelling(Cancel);

impl Outside for Cancelling {
    fn env(&self, _: &str) -> Option<String> {
        self.0.cancel();
        None
    }
}

#[test]
fn a_cancelled_run_cannot_be_caught() {
    let program = "import file\nimport runtime\n_f = lambda n: int -> int { 1 if n < 2 else _f(n - 1) + _f(n - 2) }\n\
                   _e = file.read_env('X')\na = runtime.catch(lambda { _f(70) })\n";
    let cancel = Cancel::new();
    let request = Request { cancel: Some(cancel.clone()), ..Request::source("main.k", program) };
    let files = MemoryFiles::default();
    let outcome = Compiler::new(&files).run(&request, &Cancelling(cancel));
    assert_eq!(outcome.diagnostics[0].id, "cancelled");
}

/// Returns the data of a program, as JSON on one line per document.
fn data(program: &str, change: impl FnOnce(&mut Request)) -> String {
    let mut request = Request { formats: Formats::DATA, ..Request::source("main.k", program) };
    change(&mut request);
    let outcome = kcl::run(&request);
    assert!(outcome.is_ok() && outcome.yaml.is_empty(), "{:?}", outcome.diagnostics);
    let lines = outcome.documents.iter().map(|document| {
        let mut writer = base_yaml::JsonWriter::new();
        document.write(&mut writer);
        writer.into_string()
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_result_is_data_that_says_what_the_text_says() {
    fn goes_to_another_thread<T: Send + Sync>() {}
    goes_to_another_thread::<RunResult>();
    let program = "schema S:\n    x: int = 1\n    _p?: str\n    f = lambda { 1 }\n\
                   b = S {}\na = [None, Undefined, 1.0, 'x', True, 1Ki, {}]\n_h = 1\nn = None\n";
    assert_eq!(
        data(program, |_| {}),
        r#"{"b": {"x": 1}, "a": [null, 1.0, "x", true, 1024.0, {}], "n": null}"#
    );
    let sorted = r#"{"a": [1.0, "x", true, 1024.0, {}], "b": {"x": 1}}"#;
    let change = |request: &mut Request| {
        request.output.sort_keys = true;
        request.output.disable_none = true;
    };
    assert_eq!(data(program, change), sorted);
    assert_eq!(data("_a = 1\n", |_| {}), "{}");
    assert_eq!(data("a = 1\n", |request| request.selectors.push("a".into())), "1");
    assert_eq!(data("[{a = 1}, {b = 2}]\n", |_| {}), "{\"a\": 1}\n{\"b\": 2}");
    let stream =
        "import manifests\nmanifests.yaml_stream([{_a = 1, b = None}, {c = 2}], {ignore_private = True})\n";
    assert_eq!(data(stream, |_| {}), "{\"b\": null}\n{\"c\": 2}");
    let found = Data::Map(vec![("k".into(), Data::Int(1))]);
    assert_eq!((found.get("k"), found.get("l"), Data::Null.get("k")), (Some(&Data::Int(1)), None, None));
}

#[test]
fn data_that_nests_too_deep_is_refused() {
    let levels: String = (0..200).map(|i| format!("_a{} = [_a{i}]\n", i + 1)).collect();
    let nested = format!("_a0 = [1]\n{levels}a = _a200\n");
    let outcome = kcl::run(&Request { formats: Formats::DATA, ..Request::source("main.k", nested) });
    assert_eq!(outcome.diagnostics[0].id, "output-too-deep");
}
