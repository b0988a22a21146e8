//! Origins: for a path of the output, the lines that made it what it is, newest first.

use std::path::Path;

use kcl::{Compiler, MemoryFiles, NoOutside, Request, Why};

const MODEL: &str = "\
schema Resource:
    cpu: str = '1'
    mem: str = '1Gi'
mixin LabelMixin:
    labels: {str:str} = {team = 'base', name = name}
schema Base:
    name: str
    replicas: int = 1
schema App(Base):
    mixin [LabelMixin]
    replicas: int = 2
    port: int = 80
    resource: Resource = Resource {}
    args: [str] = ['--a']
render = lambda a: App {
    [
        {kind = 'Deployment', replicas = a.replicas}
        {kind = 'Service', port = a.port}
    ]
}
";

const BASE: &str = "\
import models.app as m
app: m.App {
    name = 'shop'
    args += ['--base']
    labels.team = 'shop'
}
";

/// Runs files of one module; those without a `/` are entries, after the two above.
fn why(more: &[(&str, &str)]) -> Why {
    let mut files = MemoryFiles::default();
    let given = [("kcl.mod", ""), ("models/app.k", MODEL), ("base.k", BASE)];
    for (name, text) in given.iter().chain(more) {
        files.add(format!("/w/{name}"), *text);
    }
    let entries = ["base.k"].into_iter().chain(more.iter().map(|(name, _)| *name));
    let request = Request {
        work_dir: "/w".into(),
        track_origins: true,
        ..Request::paths(entries.filter(|name| name.ends_with(".k") && !name.contains('/')))
    };
    let outcome = Compiler::new(&files).run(&request, &NoOutside);
    assert!(outcome.is_ok(), "{:?}", outcome.diagnostics);
    outcome.why.expect("origins were asked for")
}

/// `base.k:3 entry` for every step.
fn chain(why: &Why, path: &str) -> Vec<String> {
    let steps = why.get(path).unwrap_or_else(|| panic!("{}", why.render(path, Path::new("/w"))));
    let shown = |file: &str| file.trim_start_matches("/w/").to_owned();
    steps.iter().map(|s| format!("{}:{} {}", shown(&s.file), s.line, s.kind.words())).collect()
}

#[test]
fn a_configured_attribute_shows_the_defaults_it_replaced() {
    let why = why(&[("prod.k", "app: m.App {\n    replicas = 5\n}\n")]);
    assert_eq!(
        chain(&why, "app.replicas"),
        [
            "prod.k:2 overrides",
            "models/app.k:11 schema default",
            "models/app.k:8 schema default",
            "prod.k:1 uses it here"
        ]
    );
    assert_eq!(chain(&why, "app.name"), ["base.k:3 entry"]);
}

#[test]
fn a_default_is_shown_with_the_line_that_made_the_instance() {
    let why = why(&[("prod.k", "app: m.App {\n    resource.cpu = '4'\n}\n")]);
    assert_eq!(chain(&why, "app.port"), ["models/app.k:12 schema default", "prod.k:1 uses it here"]);
    assert_eq!(chain(&why, "app.resource.mem"), ["models/app.k:3 schema default", "prod.k:1 uses it here"]);
    assert_eq!(chain(&why, "app.resource.cpu")[..2], ["prod.k:2 overrides", "models/app.k:2 schema default"]);
}

#[test]
fn mixins_lists_and_appended_items_have_origins() {
    let why = why(&[]);
    assert_eq!(chain(&why, "app.labels.team")[..2], ["base.k:5 overrides", "models/app.k:5 entry"]);
    assert_eq!(chain(&why, "app.labels.name")[..2], ["models/app.k:5 entry", "base.k:3 entry"]);
    assert_eq!(chain(&why, "app.args[0]")[0], "models/app.k:14 written");
    assert_eq!(chain(&why, "app.args[1]"), ["base.k:4 written"]);
}

#[test]
fn comprehensions_calls_and_unpacking_pass_origins_on() {
    let text = "_envs = {a = 1, b = 2}\n\
                lists = [{n = v} for e, v in _envs]\n\
                picked = {k: v for k, v in _envs}\n\
                _l = [1]\n\
                _l += [2]\n\
                l = _l\n\
                spread = {**_envs, c = 3}\n\
                _pair = lambda x, y { {x = x, y = y} }\n\
                called = _pair(_envs.a, app.port)\n\
                named = _pair(y=_envs.b, x=l[1])\n";
    let why = why(&[("more.k", text)]);
    assert_eq!(chain(&why, "lists[1].n"), ["more.k:2 entry", "more.k:1 entry"]);
    assert_eq!(chain(&why, "picked.b"), ["more.k:3 entry", "more.k:1 entry"]);
    assert_eq!(chain(&why, "l[0]"), ["more.k:4 written"]);
    assert_eq!(chain(&why, "l[1]"), ["more.k:5 written"]);
    assert_eq!(chain(&why, "spread.a"), ["more.k:1 entry"]);
    assert_eq!(chain(&why, "called.x"), ["more.k:8 entry", "more.k:1 entry"]);
    assert_eq!(chain(&why, "called.y")[..2], ["more.k:8 entry", "models/app.k:12 schema default"]);
    assert_eq!(chain(&why, "named.x"), ["more.k:8 entry", "more.k:5 written"]);
    assert_eq!(chain(&why, "named.y"), ["more.k:8 entry", "more.k:1 entry"]);
}

#[test]
fn streams_instances_and_library_values_have_origins() {
    let text = "import manifests\nimport yaml\n_found = m.App.instances()\n_read = yaml.decode('a: {b: 1}')\n\
                manifests.yaml_stream(m.render(app) + [{names = [a.name for a in _found], read = _read}])\n";
    let why = why(&[("stream.k", text)]);
    assert!(why.is_stream());
    assert_eq!(chain(&why, "[0].kind"), ["models/app.k:17 entry", "stream.k:5 uses it here"]);
    assert_eq!(chain(&why, "[1].port")[..2], ["models/app.k:18 entry", "models/app.k:12 schema default"]);
    assert_eq!(chain(&why, "[2].names[0]"), ["base.k:3 entry"]);
    assert_eq!(chain(&why, "[2].read.a.b")[..2], ["stream.k:5 entry", "stream.k:4 assigned"]);
}

#[test]
fn the_place_of_a_value_is_outside_of_the_models() {
    let why = why(&[("list.k", "docs = m.render(app)\n")]);
    assert!(!why.is_stream());
    let place = |path: &str| why.place(path).map(|s| format!("{}:{}", s.file, s.line));
    assert_eq!(place("app.labels.name").as_deref(), Some("/w/base.k:3"));
    assert_eq!(place("app.port").as_deref(), Some("/w/base.k:2"));
    assert_eq!(place("docs[0].kind").as_deref(), Some("/w/list.k:1"));
    assert_eq!(place("docs[2].kind"), None);
    assert!(why.render("docs[2]", Path::new("/w")).contains("no value"));
}
