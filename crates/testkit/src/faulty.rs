//! Programs about one mistake: a schema inside a schema, configured in one of many ways that are mostly wrong.
//!
//! In: a seed. Out: a program. What is tried is which of several errors comes first, and at which line: values that do not fit,
//! failing checks, missing attributes, conversions, deprecation, in every place where an instance can stand.

use crate::generate::Rng;
use crate::{Flags, Program, SourceText};

const FIRST: &[&str] =
    &["v: int", "v: int = 1", "v?: int", "v: int | str", "v: \"a\" | \"b\" = \"a\"", "v: any"];
const SECOND: &[&str] =
    &["w: str = \"w\"", "w?: [int]", "w: {str:int} = {}", "w: str", "w: str = str(v)", "w: int = v + 1"];
const THIRD: &[&str] = &[
    "v = 2",
    "if v:\n        z = 1",
    "_p = v\n    q: any = _p",
    "assert v != 7, \"seven\"",
    "print(v)",
    "[...str]: int",
];
const CHECKS: &[&str] = &[
    "v > 0",
    "v > 0, \"msg ${v}\"",
    "v != 3 if v",
    "v in [1, 2], \\\n            \"not in\"",
    "v < 100 if w",
    "len(w) > 0, \"w\"",
    "v > 0 and \\\n        v < 50",
];
/// The type of the attribute that holds leaves, and a value that fits.
const HOLDERS: &[(&str, &str)] = &[
    ("Leaf", "Leaf {v = 1}"),
    ("[Leaf]", "[Leaf {v = 1}]"),
    ("{str:Leaf}", "{x = Leaf {v = 1}}"),
    ("Leaf | int", "Leaf {v = 1}"),
    ("any", "{v = 1}"),
    ("[[Leaf]]", "[[{v = 1}]]"),
    ("{str:[Leaf]}", "{x = [{v = 1}]}"),
];
const ENTRIES: &[&str] = &[
    "v = 0",
    "v = \"x\"",
    "v = -1",
    "",
    "v = None",
    "v = _any",
    "v: 3",
    "v = 7",
    "v = 1",
    "v += [1]",
    "zz = 1",
    "w = 1",
    "w = \"\"",
    "v = 1, w = \"k\"",
    "**_d",
    "**{v = 0}",
    "if True: v = 0",
    "v = [1]",
    "v = {a = 1}",
    "w.x = \"s\"",
    "v = 1Ki",
    "v = _late",
    "v = _leaf",
    "v = nobody",
    "v: \"a\", v: \"b\"",
];
/// `%` is the configuration, `@` the indentation.
const LEAVES: &[&str] = &[
    "Leaf {%}",
    "{%}",
    "Leaf {\n@    %\n@}",
    "{\n@    %\n@}",
    "_leaf",
    "(Leaf {%})",
    "Leaf {%} | {v = 0}",
    "_mk()",
    "Leaf() {%}",
    "_leaf {%}",
];
/// `%` is the configuration of the outer schema.
const OUTER: &[&str] = &[
    "x = Mid {\n    %\n}\n",
    "x = Mid {\n    %\n}\n",
    "x: Mid = {\n    %\n}\n",
    "x: Mid {\n    %\n}\n",
    "x = [Mid {\n    %\n} for i in [1]]\n",
    "f = lambda {\n    Mid {\n    %\n    }\n}\nx = f()\n",
    "x = {a = Mid {\n    %\n}}\n",
    "y = Mid {\n    %\n}\nx = y {n = 4}\n",
    "_raw: any = {\n    %\n}\nx: Mid = _raw\n",
    "x: Mid {\n    %\n}\nx: Mid {\n}\n",
    "schema Sub(Mid):\n    m2: int = 1\nx = Sub {\n    %\n}\n",
    "if True:\n    x = Mid {\n    %\n    }\n",
];

/// Makes a program.
pub fn program(seed: u64) -> Program {
    let rng = &mut Rng::new(seed);
    let (ty, fitting) = *rng.pick(HOLDERS);
    let (leaf, mid) = (leaf(rng), mid(ty, fitting, rng));
    let head = format!(
        "_any: any = {}\n_d: any = {{v = {}}}\n",
        rng.pick(&["\"s\"", "0", "[1]", "None", "{}"]),
        rng.pick(&["0", "\"s\"", "1"])
    );
    let tail = format!(
        "_leaf = {}\n_mk = lambda {{\n    {}\n}}\n_late = {}\n",
        rng.pick(&["Leaf {v = 1}", "{v = 1}", "Leaf {v = 0}", "Leaf {}"]),
        rng.pick(&["Leaf {v = 1}", "{v = 1}", "Leaf {v = 0}"]),
        rng.pick(&["1", "\"s\"", "0"])
    );
    let mut entries = vec![holder_entry(ty, rng)];
    let more = *rng.pick(&["", "", "n = \"bad\"", "b = -1", "k = 3", "zz = 1"]);
    if !more.is_empty() {
        entries.insert(rng.below(2), more.into());
    }
    let body = rng.pick(OUTER).replace('%', &entries.join("\n    "));
    if rng.chance(20) {
        return two_packages(&leaf, &mid, &format!("{head}{tail}{body}"));
    }
    let mut parts = [leaf, mid, tail, body];
    if rng.chance(30) {
        for at in (1..parts.len()).rev() {
            parts.swap(at, rng.below(at + 1));
        }
    }
    Program::single(format!("{head}{}", parts.concat()))
}

fn leaf(rng: &mut Rng) -> String {
    let decorator = *rng.pick(&["", "", "", "@deprecated(strict=True)\n", "@info()\n"]);
    let mut text = format!("{decorator}schema Leaf:\n    {}\n", rng.pick(FIRST));
    for (percent, table) in [(50, SECOND), (30, THIRD)] {
        if rng.chance(percent) {
            text.push_str(&format!("    {}\n", rng.pick(table)));
        }
    }
    if rng.chance(60) {
        text.push_str(&format!("    check:\n        {}\n", rng.pick(CHECKS)));
    }
    text
}

fn mid(ty: &str, fitting: &str, rng: &mut Rng) -> String {
    let mut lines = [
        match rng.below(4) {
            0 => format!("    l: {ty} = {fitting}\n"),
            1 => format!("    l?: {ty}\n"),
            _ => format!("    l: {ty}\n"),
        },
        (*rng.pick(&[
            "",
            "    n: int = 3\n",
            "    n: str = \"n\"\n    m: any = l\n",
            "    k?: int\n    if k:\n        j = k\n",
        ]))
        .to_string(),
    ];
    if rng.chance(50) {
        lines.swap(0, 1);
    }
    let checks: &[&str] = match lines.concat().contains("n: int") {
        true => &["", "", "    check:\n        l, \"no l\"\n", "    check:\n        n == 3 if n\n"],
        false => &["", "", "    check:\n        l, \"no l\"\n"],
    };
    let (base, inherits) = match rng.below(3) {
        0 => ("schema Base:\n    b: int = 1\n    check:\n        b > 0, \"b\"\n", "(Base)"),
        _ => ("", ""),
    };
    format!("{base}schema Mid{inherits}:\n{}{}", lines.concat(), rng.pick(checks))
}

fn leaf_value(indent: &str, rng: &mut Rng) -> String {
    let (form, entry) = (*rng.pick(LEAVES), *rng.pick(ENTRIES));
    form.replace('%', entry).replace('@', indent)
}

fn holder_entry(ty: &str, rng: &mut Rng) -> String {
    let (near, deep) = (leaf_value("    ", rng), leaf_value("        ", rng));
    let operator = *rng.pick(&[" = ", ": "]);
    if rng.chance(30) {
        match ty {
            "{str:Leaf}" => return format!("l.a{operator}{near}"),
            "Leaf" => return format!("l.v{operator}{}", rng.pick(&["0", "\"x\"", "_any", "None"])),
            "[Leaf]" => return format!("l += [{near}]"),
            _ => {}
        }
    }
    let value = match (ty, rng.below(4)) {
        ("[Leaf]", 0) => format!("[\n        {deep}\n    ]"),
        ("[Leaf]", 1) => format!("[{{v = 1}}, {near}]"),
        ("[Leaf]", 2) => format!("[{near} for i in [1]]"),
        ("[Leaf]", _) => format!("[{near}]"),
        ("{str:Leaf}", 0) => format!("{{\n        a = {deep}\n    }}"),
        ("{str:Leaf}", 1) => format!("{{k = {near} for k in [\"q\"]}}"),
        ("{str:Leaf}", 2) => format!("{{a: {near}}}"),
        ("{str:Leaf}", _) => format!("{{a = {near}}}"),
        ("[[Leaf]]", _) => format!("[[{near}]]"),
        ("{str:[Leaf]}", _) => format!("{{a = [{near}]}}"),
        ("Leaf | int", 0) => "\"s\"".into(),
        _ => near,
    };
    format!("l{operator}{value}")
}

/// The schemas in a package of their own.
fn two_packages(leaf: &str, mid: &str, main: &str) -> Program {
    let qualified =
        ["Leaf {", "Leaf(", "Mid {", "Mid =", "(Mid)"].iter().fold(main.to_string(), |text, name| {
            let with = match name.strip_prefix('(') {
                Some(rest) => format!("(pkg.{rest}"),
                None => format!("pkg.{name}"),
            };
            text.replace(name, &with)
        });
    let file = |path: &str, text: String, entry| SourceText { path: path.into(), text, entry };
    let files = vec![
        file("pkg/p.k", format!("{leaf}{mid}"), false),
        file("main.k", format!("import pkg\n{qualified}"), true),
    ];
    Program { files, flags: Flags::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_gives_a_schema_and_an_instance() {
        for seed in 0..300 {
            let text: String = program(seed).files.iter().map(|f| f.text.clone()).collect();
            assert!(text.contains("schema Leaf") && text.contains("Mid"), "{text}");
            assert!(!text.contains('%') && !text.contains("@ "), "{text}");
        }
    }
}
