//! Programs that would never end, or fill the machine: each is stopped by a budget, or is answered at once.

use std::fmt::Write as _;

use kcl::{Compiler, Limits, MemoryFiles, NoWorld, Request};

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
    let outcome = Compiler::new(&files).run(&request, &NoWorld);
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
        ("f = lambda x { f(x + 1) }\na = f(0)\n", "--max-depth"),
        ("import runtime\nf = lambda x { f(x + 1) }\na = runtime.catch(lambda { f(0) })\n", "--max-depth"),
        (&format!("{text}a = len(_s60)\n"), "--max-memory"),
        (&alias, "repetition limit exceeded"),
        ("f = lambda n: int -> int { 1 if n < 2 else f(n - 1) + f(n - 2) }\na = f(60)\n", "--max-"),
    ];
    for (program, flag) in cases {
        let stopped = run(program);
        assert!(stopped.as_ref().is_err_and(|message| message.contains(flag)), "{program}: {stopped:?}");
    }
}
