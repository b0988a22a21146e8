//! Programs that would never end, or fill the machine: each is stopped by a budget, or is answered at once.

use std::fmt::Write as _;

use kcl::{Compiler, Limits, MemoryFiles, NoOutside, Request};

/// Two dicts and two lists that double forty times: small in memory, a terabyte on paper.
fn doubled() -> String {
    let mut text = String::from("_a0 = {x = 1}\n_b0 = {x = 1}\n_l0 = [1]\n_m0 = [1]\n");
    for at in 0..40 {
        for name in ["a", "b"] {
            let _ = writeln!(text, "_{name}{} = {{l = _{name}{at}, r = _{name}{at}}}", at + 1);
        }
        for name in ["l", "m"] {
            let _ = writeln!(text, "_{name}{} = [_{name}{at}, _{name}{at}]", at + 1);
        }
    }
    text
}

/// Runs a program within a small budget of cells and returns its output, or the message of its error.
fn run(text: &str) -> Result<String, String> {
    let mut files = MemoryFiles::default();
    files.add("/w/main.k", text);
    let limits = Limits { cells: 200_000, steps: 5_000_000, ..Limits::default() };
    let request = Request { work_dir: "/w".into(), limits, ..Request::paths(["main.k"]) };
    let outcome = Compiler::new(&files).run(&request, &NoOutside);
    match outcome.diagnostics.first() {
        Some(first) => Err(first.message().to_owned()),
        None => Ok(outcome.yaml),
    }
}

#[test]
fn what_doubles_is_never_written_out() {
    let head = format!(
        "import json\nimport yaml\nimport manifests\nimport template\n{}schema S:\n    l?: S\n    r?: S\n    x?: int\n",
        doubled()
    );
    let programs = [
        "a = _a40",
        "a = [_l40]",
        "a = str(_a40)",
        "a = '${_a40}'",
        "a = '{}'.format(_l40)",
        "a = ''.join([_a40])",
        "print(_a40)",
        "a = json.encode(_a40)",
        "a = yaml.encode(_a40)",
        "a = yaml.encode_all([_a40])",
        "manifests.yaml_stream([_a40])",
        "a = template.execute('{{x}}', {x = _a40})",
        "a = typeof(json.merge(_a40, _b40))",
        "a = len(_l40 | _m40)",
        "s: S = _a40",
        "a = min(_l40)",
    ];
    for program in programs {
        let stopped = run(&format!("{head}{program}\n"));
        assert!(
            stopped.as_ref().is_err_and(|message| message.contains("--max-memory")),
            "{program}: {stopped:?}"
        );
    }
}

#[test]
fn what_doubles_is_compared_and_built_upon_at_once() {
    let head = format!("schema A:\n    x: {{str:}} = _a40\n    y?: any\n{}", doubled());
    let programs = [
        "a = _a40 == _b40",
        "a = _b40 in [_a40]",
        "a = _l40 == _m40",
        "a = not isunique([_a40, _b40])",
        "_x: any = _l40\n_y: any = _m40\na = _x <= _y",
        "a = typeof(A {y = _b40}) == 'A'",
        "a = len({x = _a40, x: _b40}) == 1",
    ];
    for program in programs {
        assert_eq!(run(&format!("{head}{program}\n")), Ok("a: true".to_owned()), "{program}");
    }
}

/// Text that was doubled again and again by each of the ways to do so is stopped before it is made.
#[test]
fn text_that_doubles_is_stopped_before_it_fills_the_memory() {
    let ways = [
        "_s@ + _s@",
        "_s@ * 2",
        "'${_s@}${_s@}'",
        "'{}{}'.format(_s@, _s@)",
        "'{0}{0}'.format(_s@)",
        "_s@.join(['', '', ''])",
        "''.join([_s@, _s@])",
        "_s@.replace('x', 'xx')",
        "regex.replace(_s@, 'x', 'xx')",
        "template.execute('{{a}}{{a}}', {a = _s@})",
    ];
    for way in ways {
        let mut text = String::from("import regex\nimport template\n_s0 = 'xxxxxxxxxxxxxxxx'\n");
        for at in 0..60 {
            let _ = writeln!(text, "_s{} = {}", at + 1, way.replace('@', &at.to_string()));
        }
        let stopped = run(&format!("{text}a = len(_s60)\n"));
        assert!(
            stopped.as_ref().is_err_and(|message| message.contains("--max-memory")),
            "{way}: {stopped:?}"
        );
    }
}

/// Chains and nests of every kind end in an error, or in a value: never in an abort.
#[test]
fn what_is_nested_without_end_is_refused() {
    const DEEP: usize = 50_000;
    let around = |open: &str, core: &str, close: &str| {
        format!("a = {}{core}{}\n", open.repeat(DEEP), close.repeat(DEEP))
    };
    let after = |start: &str, step: &str| format!("{start}{}\n", step.repeat(DEEP));
    let programs = [
        around("not ", "True", ""),
        around("-", "1", ""),
        around("~", "1", ""),
        around("not -~+", "1", ""),
        around("(", "1", ")"),
        around("[", "1", "]"),
        around("{a = ", "1", "}"),
        around("lambda { ", "1", " }"),
        around("[x for x in ", "[1]", "]"),
        around("all x in [1] { ", "True", " }"),
        around("1 if True else ", "2", ""),
        around("1 < ", "2", ""),
        around("1 ** ", "1", ""),
        around("{} | ", "{}", ""),
        after("a = 1", " as int"),
        after("a = {}\nb = a", ".x"),
        after("a = {}\nb = a", "?.x"),
        after("a = [1]\nb = a", "[0]"),
        after("f = lambda { 1 }\nb = f", "()"),
        after("a = {x", ".x"),
        after("a: ", "["),
        after("a: ", "{str:"),
        after("if True:\n    a = 1\n", "elif True:\n    a = 1\n"),
        (0..2_000).map(|at| format!("{}if True:\n", "    ".repeat(at))).collect(),
        format!("import json\na = json.decode('{}')\n", "[".repeat(DEEP)),
        format!("import yaml\na = yaml.decode('{}')\n", "[".repeat(DEEP)),
        format!("import yaml\na = yaml.decode('{}1')\n", "- ".repeat(DEEP)),
        format!("import regex\na = regex.match('a', '{}a{}')\n", "(".repeat(DEEP), ")".repeat(DEEP)),
        "import regex\na = regex.match('a', '((a{1000}){1000}){1000}')\n".to_owned(),
    ];
    for program in programs {
        let head: String = program.chars().take(60).collect();
        assert!(run(&program).is_err(), "{head}");
    }
}

/// Values that are deep without deep text: made, dropped, compared, merged.
#[test]
fn deep_values_survive() {
    const DEEP: usize = 5_000;
    for (empty, made) in [("{}", "{k = _v@}"), ("[]", "[_v@]")] {
        let mut text = format!("_v0 = {empty}\n_w0 = {empty}\n");
        for at in 0..DEEP {
            for name in ["v", "w"] {
                let made = made.replace("v@", &format!("{name}{at}"));
                let _ = writeln!(text, "_{name}{} = {made}", at + 1);
            }
        }
        let _ = writeln!(text, "a = _v{DEEP} == _w{DEEP} and len(_v{DEEP} | _w{DEEP}) == 1");
        assert_eq!(run(&text), Ok("a: true".to_owned()), "{made}");
    }
}

#[test]
fn what_does_not_end_is_stopped() {
    let alias = "import yaml\n_s = \"a: &a [x,x,x,x,x,x,x,x,x]\\n".to_owned()
        + &('b'..='i')
            .map(|name| {
                let before = ((name as u8) - 1) as char;
                format!("{name}: &{name} [{}]\\n", vec![format!("*{before}"); 9].join(","))
            })
            .collect::<String>()
        + "\"\na = yaml.decode(_s)\n";
    let mut text = String::from("_s0 = 'xxxxxxxxxxxxxxxx'\n");
    for at in 0..60 {
        let _ = writeln!(text, "_s{} = _s{at} + _s{at}", at + 1);
    }
    let cases = [
        ("a = range(10 ** 12)\n", "--max-memory"),
        ("a = 'x' * 10 ** 12\n", "--max-memory"),
        ("f = lambda x { f(x + 1) }\na = f(0)\n", "budget of nesting"),
        (
            "import runtime\nf = lambda x { f(x + 1) }\na = runtime.catch(lambda { f(0) })\n",
            "budget of nesting",
        ),
        (&format!("{text}a = len(_s60)\n"), "--max-memory"),
        (&alias, "repetition limit exceeded"),
        ("f = lambda n: int -> int { 1 if n < 2 else f(n - 1) + f(n - 2) }\na = f(60)\n", "--max-"),
    ];
    for (program, flag) in cases {
        let stopped = run(program);
        assert!(stopped.as_ref().is_err_and(|message| message.contains(flag)), "{program}: {stopped:?}");
    }
}

/// Types that aliases double again and again are small in memory and endless on paper.
#[test]
fn aliases_that_double_a_type_are_not_walked_through() {
    let mut text = String::from("import json\ntype A0 = int | str\n");
    for at in 0..60 {
        let _ = writeln!(text, "type A{} = [A{at}] | {{str:A{at}}}", at + 1);
    }
    assert_eq!(run(&format!("{text}a: A60 = []\n")), Ok("a: []".to_owned()));
    let told = run(&format!("{text}_x = json.decode('1')\na: A60 = _x\n")).unwrap_err();
    assert!(told.starts_with("expect [[[") && told.len() < 20_000, "{} bytes", told.len());
}

/// A chain of bases knows the square of its length; a long list of mixins does not.
#[test]
fn long_chains_of_schemas_are_stopped_and_long_lists_are_run() {
    let chain = |length: usize| {
        let mut text = String::from("schema S0:\n    a0: int = 0\n");
        for at in 1..length {
            let _ = writeln!(text, "schema S{at}(S{}):\n    a{at}: int = {at}", at - 1);
        }
        format!("{text}s = S{} {{}}\na = s.a0\n", length - 1)
    };
    let stopped = run(&chain(5_000)).unwrap_err();
    assert!(stopped.contains("--max-memory"), "{stopped}");
    assert!(run(&chain(60)).is_ok());
    let mixins = vec!["AMixin"; 20_000].join(", ");
    let list = format!("schema AMixin:\n    b: int = 1\nschema H:\n    mixin [{mixins}]\nh = H {{}}\n");
    assert_eq!(run(&list), Ok("h:\n  b: 1".to_owned()));
}

/// A text can have a mistake in every word of it.
#[test]
fn a_million_mistakes_are_not_kept() {
    let mut files = MemoryFiles::default();
    files.add("/w/main.k", format!("a = {}True\n", "not ".repeat(1_000_000)));
    let request = Request { work_dir: "/w".into(), ..Request::paths(["main.k"]) };
    let outcome = Compiler::new(&files).run(&request, &NoOutside);
    assert_eq!(outcome.diagnostics.len(), 100_001);
    assert_eq!(outcome.diagnostics.last().map(|last| last.id), Some("too-many-errors"));
}
