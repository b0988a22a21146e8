//! Programs about idioms that models are made of: defaults that an index signature makes for each key, mixins that change what
//! they are put into, protocols and rules, and items that are set or inserted by their number.
//!
//! In: a seed. Out: a program of one of these kinds, put together from fragments that mostly fit.

use crate::Program;
use crate::generate::Rng;

/// Makes a program.
pub fn program(seed: u64) -> Program {
    let rng = &mut Rng::new(seed);
    Program::single(match rng.below(10) {
        0..=4 => keyed_defaults(rng),
        5..=6 => mixins(rng),
        7 => protocols(rng),
        _ => insertions(rng),
    })
}

/// Some of the fragments in random order, at most one for each attribute.
fn some<'a>(rng: &mut Rng, fragments: &[&'a str], most: usize) -> Vec<&'a str> {
    let about = |fragment: &'a str| fragment.split(['?', ':', ' ', '.', '=']).next().unwrap_or(fragment);
    let mut chosen: Vec<&str> = Vec::new();
    for _ in 0..rng.below(most + 1) {
        let one = *rng.pick(fragments);
        if !chosen.iter().any(|known| *known == one || about(known) == about(one) && one.contains(": ")) {
            chosen.push(one);
        }
    }
    chosen
}

/// The fragments that speak only of names that are declared; now and then a stranger is let in.
fn fitting<'a>(rng: &mut Rng, fragments: &[&'a str], words: &[&str], declared: &str) -> Vec<&'a str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let has = |text: &str, word: &str| text.split(|c| !is_word(c)).any(|part| part == word);
    let strangers = rng.chance(8);
    let fits = |text: &str| words.iter().all(|word| !has(text, word) || has(declared, word));
    fragments.iter().copied().filter(|fragment| strangers || fits(fragment)).collect()
}

/// Lines of a block, indented by `levels`.
fn block(lines: &[&str], levels: usize) -> String {
    let indent = "    ".repeat(levels);
    lines.iter().map(|line| format!("{indent}{}\n", line.replace('\n', &format!("\n{indent}")))).collect()
}

// --- index signatures --------------------------------------------------------------------------------------------

const PARAMETERS: &[&str] = &["", "", "[k]", "[k: str]", "[k: str = \"d\"]"];
const LEAF_ATTRIBUTES: &[&str] = &[
    "full: str",
    "full?: str",
    "full: str = \"f\"",
    "full: str = name",
    "l: [int] = [0]",
    "l?: [int]",
    "u: U = U {}",
    "u: U = {z = 5}",
    "u?: U",
    "d: {str:str} = {own = \"o\"}",
    "d?: {str:str}",
    "count: int = len(name)",
];
const LEAF_CHECKS: &[&str] =
    &["len(name) > 0", "name != \"bad\", \"bad ${name}\"", "full != \"no\" if full", "len(l) < 4 if l"];
const KEYS: &[&str] = &["[n: str]", "[n: str]", "[n: str]", "[...str]", "[str]"];
const DEFAULTS: &[&str] = &[
    "T {name = n}",
    "T {name = n, full = \"f\"}",
    "T {name = n.upper()}",
    "T {name = \"${n}-x\", l = [1]}",
    "{name = n}",
    "T {name = \"fixed\"}",
    "T {name: n, u: {z = 9}}",
    "_made(n)",
    "T {}",
];
const WITH_ARGUMENTS: &[&str] =
    &["T(n)", "T(n) {}", "T(k=n)", "T(n) {full = \"f\"}", "T(\"c\")", "T(n) {name = n}", "T()"];
const ENTRIES: &[&str] = &[
    "a.full = \"x\"",
    "a: {full = \"x\"}",
    "b: {full = \"y\"}",
    "b.full: \"y\"",
    "a = {full = \"x\"}",
    "a: T {full = \"x\"}",
    "b = T {name = \"own\", full = \"o\"}",
    "a.l += [1]",
    "a: {l += [2], full = \"x\"}",
    "b.l = [3]",
    "a.u.z = 1",
    "a: {u: {z = 2}}",
    "a.d.more = \"m\"",
    "a: {d = {new = \"n\"}}",
    "c: {}",
    "c = {}",
    "\"${_key}\": {full = \"k\"}",
    "**_more",
    "if True:\n    a.full = \"cond\"",
    "a.name = \"renamed\"",
    "a: {name = \"bad\", full = \"q\"}",
    "other = 2",
    "b: {full = 3}",
    "b: {nope = 3}",
    "a: {**_full}",
];
/// `%` is the configuration.
const USES: &[&str] = &[
    "m = M {\n%}\n",
    "m = M {\n%}\n",
    "m: M = {\n%}\n",
    "m: M {\n%}\n",
    "m: M {\n%}\nm: M {a.full = \"second\"}\n",
    "m = [M {\n%} for _i in [1, 2]]\n",
    "_f = lambda {\n    M {\n%    }\n}\nm = _f()\n",
    "m: {str:M} = {k: {\n%}}\n",
    "m: [M] = [{\n%}]\n",
    "schema W:\n    m: M = M {\n%    }\nw = W {m: {a.full = \"outer\"}}\n",
    "schema W:\n    m: M = {\n%    }\nw = W {}\n",
    "_m = M {\n%}\nm = _m {a.full = \"again\"}\n",
    "_m = M {\n%}\nm = _m | {a: {full = \"again\"}}\n",
    "schema N(M):\n    more: int = 1\nm = N {\n%}\n",
    "m = M {\n%}\nf = m.a.full\n",
];

/// The attributes of a leaf that entries and checks speak of.
const LEAF_WORDS: &[&str] = &["full", "l", "u", "d", "name", "other"];

fn keyed_defaults(rng: &mut Rng) -> String {
    let parameters = *rng.pick(PARAMETERS);
    let (name, base) = match (parameters.is_empty(), rng.chance(20)) {
        (_, true) => ("", "(B)"),
        (true, _) => (*rng.pick(&["name: str", "name: str", "name?: str"]), ""),
        (false, _) => (*rng.pick(&["name: str = k", "name: str = k", "name: str"]), ""),
    };
    let mut leaf: Vec<&str> = Some(name).filter(|name| !name.is_empty()).into_iter().collect();
    leaf.extend(some(rng, LEAF_ATTRIBUTES, 5));
    if !leaf.iter().any(|attribute| attribute.starts_with("full")) {
        leaf.push(*rng.pick(&LEAF_ATTRIBUTES[..3]));
    }
    let leaf = block(&leaf, 1);
    let known = fitting(rng, LEAF_CHECKS, LEAF_WORDS, &format!("{leaf} name"));
    let checks = if known.is_empty() { Vec::new() } else { some(rng, &known, 1) };
    let check = if checks.is_empty() { String::new() } else { format!("    check:\n{}", block(&checks, 2)) };
    let key = *rng.pick(KEYS);
    let has_other = key == "[...str]" && rng.chance(50);
    let other = if has_other { "    other: int = 1\n" } else { "" };
    let default = if parameters.is_empty() { *rng.pick(DEFAULTS) } else { *rng.pick(WITH_ARGUMENTS) };
    let default = match key.contains("n:") {
        true => default.to_owned(),
        false => default.replace("(n)", "(\"c\")").replace("= n", "= \"c\"").replace(": n", ": \"c\""),
    };
    let default = default.replace("n.upper()", if key.contains("n:") { "n.upper()" } else { "\"C\"" });
    let declared = format!("{leaf} name {}", if has_other { "other" } else { "" });
    let known = fitting(rng, ENTRIES, LEAF_WORDS, &declared);
    let entries = block(&some_or(rng, &known, 4), 1);
    let needs_argument = matches!(parameters, "[k]" | "[k: str]");
    let given = |text: String| if needs_argument { text.replace("T {", "T(\"g\") {") } else { text };
    let signature = given(format!("{key}: T = {default}"));
    let model = match rng.below(5) {
        0 => format!("schema MB:\n    {signature}\nschema M(MB):\n    plain?: T\n"),
        _ => format!("schema M:\n{other}    {signature}\n"),
    };
    let made = given("_made = lambda n {\n    T {name = n}\n}\n".to_owned());
    let made = if default.contains("_made") { made } else { String::new() };
    let used = given(rng.pick(USES).replace('%', &entries));
    let deep = *rng.pick(&["int", "int = 3"]);
    format!(
        "_key = \"dyn\"\n_full = {{full = \"spread\"}}\n_more = {{e = {{full = \"u\"}}}}\nschema U:\n    z: {deep}\n\
         schema B:\n    name: str\n    b: int = 1\nschema T{parameters}{base}:\n{leaf}{check}{made}{model}{used}"
    )
}

// --- mixins ------------------------------------------------------------------------------------------------------

const MIXIN_BODIES: &[&str] = &[
    "tree.names += [\"A\"]",
    "tree.names = [\"B\"]",
    "tree: Tree = {names = [\"C\"]}",
    "tree.size += 1",
    "tree.deep.x = 7",
    "names += [\"D\"]",
    "labels: {str:str} = {mixed = \"m\"}",
    "labels.more = \"n\"",
    "label: str = \"l-${name}\"",
    "if flag:\n    tree.names += [\"E\"]",
    "extra?: int = 4",
    "tree = Tree {names = [\"F\"]}",
    "name = \"mixed\"",
    "_hidden = name\nshown: str = _hidden",
];
const HOST_ATTRIBUTES: &[&str] = &[
    "tree: Tree = {}",
    "tree: Tree = Tree {names = [\"h\"]}",
    "tree: Tree",
    "tree?: Tree",
    "names: [str] = [\"n\"]",
    "labels: {str:str} = {host = \"h\"}",
    "flag: bool = True",
    "flag?: bool",
    "late: str = name",
];
const HOST_ENTRIES: &[&str] = &[
    "tree.names += [\"u\"]",
    "tree: {names = [\"v\"]}",
    "tree = {names = [\"w\"]}",
    "names += [\"x\"]",
    "labels: {user = \"y\"}",
    "labels = {only = \"z\"}",
    "name = \"given\"",
    "flag = True",
    "flag = False",
    "tree.size = 8",
    "tree = {}",
    "extra = 9",
];

/// The attributes of a host that mixins and entries speak of.
const HOST_WORDS: &[&str] = &["tree", "names", "labels", "flag", "extra"];

fn mixins(rng: &mut Rng) -> String {
    let mut host = some(rng, HOST_ATTRIBUTES, 6);
    host.insert(0, "name: str = \"host\"");
    let host = block(&host, 1);
    let known = fitting(rng, MIXIN_BODIES, HOST_WORDS, &host);
    let first = block(&some_or(rng, &known, 2), 1);
    let second = block(&some_or(rng, &known, 2), 1);
    let known = fitting(rng, HOST_ENTRIES, HOST_WORDS, &format!("{host}{first}"));
    let entries = block(&some(rng, &known, 3), 1);
    let list = *rng.pick(&["AMixin", "AMixin", "AMixin, BMixin", "BMixin, AMixin", "AMixin, AMixin"]);
    let protocol = rng.chance(25);
    let (head, of) = match protocol {
        true => ("protocol PProtocol:\n    name: str\n    tree?: Tree\n    flag?: bool\n", " for PProtocol"),
        false => ("", ""),
    };
    let used = match rng.below(4) {
        0 => "schema Sub(Host):\n    sub: int = 1\nx = Sub {\n%}\n",
        1 => "x: Host {\n%}\nx: Host {}\n",
        // Not changed as a copy: there the wheel runs the mixins once more (docs/divergences.md).
        2 => "x = Host {\n%}\ny = x.name\n",
        _ => "x = Host {\n%}\n",
    };
    format!(
        "schema Deep:\n    x: int = 0\nschema Tree:\n    names: [str] = [\"t\"]\n    size: int = 1\n    deep: Deep = {{}}\n\
         {head}mixin AMixin{of}:\n{first}mixin BMixin{of}:\n{second}schema Host:\n    mixin [{list}]\n{}{}",
        host,
        used.replace('%', &entries),
    )
}

fn some_or<'a>(rng: &mut Rng, fragments: &[&'a str], most: usize) -> Vec<&'a str> {
    match some(rng, fragments, most) {
        none if none.is_empty() => vec![*rng.pick(fragments)],
        chosen => chosen,
    }
}

// --- protocols and rules -----------------------------------------------------------------------------------------

const PROTOCOL_ATTRIBUTES: &[&str] =
    &["a: int", "a?: int", "b: str", "b?: str", "[...str]: int", "[str]: any", "[k: str]: str"];
const RULE_CHECKS: &[&str] = &[
    "a > 0",
    "a > 0 if a",
    "len(b) > 0 if b",
    "c == 3",
    "c == 3 if c",
    "q != \"r\", \"q is ${q}\"",
    "a < 9, \"a is ${a}\"",
];
const RULED_ATTRIBUTES: &[&str] =
    &["a: int = 1", "a: int", "b: str = \"b\"", "c: int = 3", "q?: str", "[...str]: int", "c?: int"];
const RULED_ENTRIES: &[&str] =
    &["a = 1", "a = 0", "b = \"\"", "c = 3", "c = 4", "q = \"r\"", "zz = 5", "a = 20"];

fn protocols(rng: &mut Rng) -> String {
    let protocol = block(&some_or(rng, PROTOCOL_ATTRIBUTES, 3), 1);
    let checks = block(&some_or(rng, RULE_CHECKS, 3), 1);
    let attributes = block(&some_or(rng, RULED_ATTRIBUTES, 3), 1);
    let entries = block(&some(rng, RULED_ENTRIES, 3), 1);
    let of = *rng.pick(&["", " for PProtocol", " for PProtocol"]);
    let called = match rng.below(4) {
        0 => format!("schema S:\n{attributes}    check:\n        R\nx = S {{\n{entries}}}\n"),
        1 => format!("rule Q(R){of}:\n    a > -5 if a\nx = Q {{\n{entries}}}\n"),
        2 => format!(
            "mixin AMixin for PProtocol:\n    made: int = 1\nschema S:\n    mixin [AMixin]\n{attributes}x = S {{\n{entries}}}\n"
        ),
        _ => format!("x = R {{\n{entries}}}\n"),
    };
    format!("protocol PProtocol:\n{protocol}rule R{of}:\n{checks}{called}")
}

// --- items by number ---------------------------------------------------------------------------------------------

const INSERTED: &[&str] = &[
    "a[0] += [2, 3]",
    "a[0] = 9",
    "a[-1] = 9",
    "a[1] += [4]",
    "a[5] = 1",
    "a += [7]",
    "a = [8]",
    "a: [6]",
    "a[0]: 5",
    "b[0] += [1]",
    "b = [1, 2]",
    "a[0] += \"x\"",
    "a[0] += 3",
];
/// `%` is the configuration.
const INSERTED_INTO: &[&str] = &[
    "x: {str:[int]} = {\n%}\n",
    "x: {str:[int]} = {a = [1], b = [0]} | {\n%}\n",
    "x = {\n%}\n",
    "schema S:\n    a: [int] = [1, 2]\n    b?: [int]\nx = S {\n%}\n",
    "schema S:\n    a: [int] = [1, 2]\n    b: [int] = []\nx = S {}\ny = x {\n%}\n",
    "schema S:\n    [...str]: [int]\nx = S {\n%}\n",
    "x: {str:[[int]]} = {\n%}\n",
    "x: {str:{str:[int]}} = {k: {\n%}}\n",
    "schema S:\n    a: [{str:int}] = [{k = 1}]\n    b: [int] = [3]\nx = S {\n%}\n",
    "x: {str:any} = {\n%}\n",
    "schema S:\n    d: {str:[int]} = {a = [1, 2]}\nx = S {d: {\n%}}\n",
];

fn insertions(rng: &mut Rng) -> String {
    let entries = some_or(rng, INSERTED, 3);
    rng.pick(INSERTED_INTO).replace('%', &block(&entries, 1))
}

#[cfg(test)]
mod tests {
    /// Fragments that never come together are no test.
    #[test]
    fn every_kind_is_made_and_programs_vary() {
        let texts: Vec<String> = (0..500).map(|seed| super::program(seed).files[0].text.clone()).collect();
        for word in ["schema M", "mixin AMixin", "protocol PProtocol", "[0] +="] {
            assert!(texts.iter().filter(|text| text.contains(word)).count() > 20, "{word}");
        }
        let mut different = texts.clone();
        different.sort();
        different.dedup();
        assert!(different.len() > 450, "{}", different.len());
    }
}
