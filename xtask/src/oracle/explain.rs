//! Differences that are meant: each has a key that stands in `docs/divergences.md`.
//!
//! A rule looks at the program and both verdicts; it must be narrow, because what it matches is never seen again.

use testkit::{Program, Verdict};

/// Every key that can be given.
pub(crate) const KEYS: &[&str] = &[
    "oracle-hang",
    "oracle-crash",
    "oracle-panic",
    "not-equal-accepted",
    "forward-call-checked",
    "parameter-names-end",
    "aliasing",
    "catch-scope",
    "function-address",
    "math-log",
    "math-pow-wrap",
    "json-merge-order",
    "collection-union-all",
    "pow-exact",
    "abs-range-misuse",
    "dict-pairs",
    "format-int-as-float",
];

/// Returns the key of the divergence that explains the difference.
pub(super) fn explain(program: &Program, ours: &Verdict, theirs: &Verdict) -> Option<&'static str> {
    match (ours, theirs) {
        (Verdict::Broken(_), _) => None,
        (_, Verdict::Broken(why)) => Some(if why == "hang" { "oracle-hang" } else { "oracle-crash" }),
        _ => panic_of_the_wheel(ours, theirs)
            .or_else(|| reference(program, ours, theirs))
            .or_else(|| mended(program, ours, theirs))
            .or_else(|| ledger(program)),
    }
}

fn message(verdict: &Verdict) -> &str {
    match verdict {
        Verdict::Fault(fault) => fault.message.as_str(),
        _ => "",
    }
}

fn mentions(program: &Program, word: &str) -> bool {
    program.files.iter().any(|file| file.text.contains(word))
}

fn panic_of_the_wheel(ours: &Verdict, theirs: &Verdict) -> Option<&'static str> {
    if super::read::is_panic(message(theirs)) && matches!(ours, Verdict::Output(_)) {
        return Some("oracle-panic");
    }
    // A merge of a value with itself, and `+=` of what is no list, die in the wheel before it says what is wrong.
    if message(theirs).starts_with("RefCell already ") {
        return Some("oracle-panic");
    }
    // A panic without words leaves all results empty; so does an empty list, but then ours is empty as well.
    if let Verdict::Output(out) = theirs
        && out.yaml.is_empty()
        && out.json.is_empty()
    {
        return Some("oracle-panic");
    }
    None
}

/// A function in the output is its address in the wheel, and 0 here: the lines differ in nothing else.
fn is_address(ours: &Verdict, theirs: &Verdict) -> bool {
    let (Verdict::Output(ours), Verdict::Output(theirs)) = (ours, theirs) else { return false };
    let same = |(our, their): (&str, &str)| {
        let digits = their.trim_start_matches(|c: char| !c.is_ascii_digit());
        let is_long = digits.len() >= 12 && digits.bytes().all(|b| b.is_ascii_digit());
        our == their || is_long && our.ends_with('0') && their.starts_with(our.trim_end_matches('0'))
    };
    ours.yaml.lines().count() == theirs.yaml.lines().count()
        && ours.yaml.lines().zip(theirs.yaml.lines()).all(same)
}

/// The three differences of the reference, §0.3.
fn reference(program: &Program, ours: &Verdict, theirs: &Verdict) -> Option<&'static str> {
    if message(theirs).starts_with("unsupported operand type(s) for !=") {
        return Some("not-equal-accepted");
    }
    let ours = message(ours);
    let arguments = ours.contains("positional argument") || ours.contains("keyword argument");
    let forward = called_before_definition(program);
    if forward && (arguments || ours.starts_with("expected ")) {
        return Some("forward-call-checked");
    }
    None
}

/// Whether some line calls a name that a later line defines as a lambda.
fn called_before_definition(program: &Program) -> bool {
    let text: String = program.files.iter().map(|file| file.text.as_str()).collect();
    text.lines().filter_map(|line| line.split_once(" = lambda")).any(|(name, _)| {
        let call = format!("{}(", name.trim());
        let definition = text.find(&format!("{name} = lambda"));
        matches!((text.find(&call), definition), (Some(used), Some(defined)) if used < defined)
    })
}

/// Misuse that the ledger makes an error, or an error that it makes a result: recognised by the message.
fn mended(program: &Program, ours: &Verdict, theirs: &Verdict) -> Option<&'static str> {
    let (our, their) = (message(ours), message(theirs));
    if is_address(ours, theirs) {
        return Some("function-address");
    }
    let evaluates = matches!(ours, Verdict::Output(_));
    if evaluates && mentions(program, "runtime.catch(lambda") && mentions(program, "import pkg") {
        return Some("catch-scope");
    }
    if our.starts_with("bad operand type for abs()") || our.starts_with("range() ") {
        return Some("abs-range-misuse");
    }
    if our.ends_with("A 64 bit integer overflow") && mentions(program, "pow(") {
        return Some("pow-exact");
    }
    if matches!(ours, Verdict::Output(_)) && their.starts_with("Unknown format code") {
        return Some("format-int-as-float");
    }
    None
}

/// Functions that the ledger of the library reference (§12) mends: a program that calls one is not compared.
const MENDED: &[(&str, &str)] = &[
    ("math.log1p(", "math-log"),
    ("math.log2(", "math-log"),
    ("math.log(", "math-log"),
    ("math.pow(", "math-pow-wrap"),
    ("json.merge(", "json-merge-order"),
    ("collection.union_all", "collection-union-all"),
];

fn ledger(program: &Program) -> Option<&'static str> {
    MENDED.iter().find(|(call, _)| mentions(program, call)).map(|(_, key)| *key)
}
