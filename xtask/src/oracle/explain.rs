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

/// Returns the key of the divergence that explains the difference, from the verdicts alone.
///
/// Divergences of a library function need an experiment: see [`super::neutral`].
pub(super) fn explain(program: &Program, ours: &Verdict, theirs: &Verdict) -> Option<&'static str> {
    match (ours, theirs) {
        (Verdict::Broken(_), _) => None,
        (_, Verdict::Broken(why)) => broken_wheel(program, ours, why),
        _ => panic_of_the_wheel(ours, theirs)
            .or_else(|| reference(program, ours, theirs))
            .or_else(|| mended(ours, theirs)),
    }
}

/// The keys that stand for a wheel that broke; `--broken` caps how often they may be given.
pub(super) const BROKEN: &[&str] = &["oracle-hang", "oracle-crash", "oracle-panic"];

/// Known ways to break the wheel, one by one. A program that breaks it in another way stays unexplained until somebody has looked.
fn broken_wheel(program: &Program, ours: &Verdict, why: &str) -> Option<&'static str> {
    let key = if why == "hang" { "oracle-hang" } else { "oracle-crash" };
    let runs_away = message(ours).contains("used up its budget");
    let says = |words: &str| program.files.iter().any(|file| file.text.contains(words));
    let endless = why == "hang" && (says("zip()") || says("* -") || says("*-"));
    (runs_away || endless).then_some(key)
}

pub(super) fn message(verdict: &Verdict) -> &str {
    match verdict {
        Verdict::Fault(fault) => fault.message.as_str(),
        _ => "",
    }
}

/// How the wheel's panics begin, one by one. A panic with other words stays unexplained until somebody has looked.
const PANICS: &[&str] = &[
    // A merge of a value with itself, and `+=` of what is no list.
    "RefCell already ",
    // A digest of a number, with an encoding that is none.
    "called `Result::unwrap()` on an `Err` value: unknown encoding",
];

fn panic_of_the_wheel(ours: &Verdict, theirs: &Verdict) -> Option<&'static str> {
    if PANICS.iter().any(|known| message(theirs).starts_with(known)) {
        return Some("oracle-panic");
    }
    // A panic without words leaves all results empty; so does an empty list, but then ours is empty as well.
    if let Verdict::Output(out) = theirs
        && out.yaml.is_empty()
        && out.json.is_empty()
        && !matches!(ours, Verdict::Output(our) if our.yaml.is_empty())
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

/// What upstream changed just after the wheel.
fn reference(program: &Program, ours: &Verdict, theirs: &Verdict) -> Option<&'static str> {
    if message(theirs).starts_with("unsupported operand type(s) for !=") && !is_earlier(ours, theirs) {
        return Some("not-equal-accepted");
    }
    let Verdict::Fault(fault) = ours else { return None };
    let arguments =
        fault.message.contains("positional argument") || fault.message.contains("keyword argument");
    let is_about_call = arguments || fault.message.starts_with("expected ");
    if is_about_call && !is_earlier(theirs, ours) && calls_forward(program, &fault.file, fault.line as usize)
    {
        return Some("forward-call-checked");
    }
    None
}

/// Whether a verdict is a compile-time error that stands before the other one: then that error is what differs.
fn is_earlier(verdict: &Verdict, other: &Verdict) -> bool {
    let (Verdict::Fault(a), Verdict::Fault(b)) = (verdict, other) else { return false };
    a.code != "E3M38" && (a.file != b.file || a.line < b.line)
}

/// Whether a line calls a name that a later line of its package defines as a lambda.
fn calls_forward(program: &Program, path: &str, line: usize) -> bool {
    let Some(file) = program.files.iter().find(|file| file.path == path) else { return false };
    let Some(text) = file.text.lines().nth(line.wrapping_sub(1)) else { return false };
    let defined = |text: &str, call: &str| {
        text.lines().any(|l| l.split_once(" = lambda").is_some_and(|(name, _)| name.trim() == call))
    };
    let names = text.match_indices('(').map(|(at, _)| {
        let before = &text[..at];
        before.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("")
    });
    let below: String = file.text.lines().skip(line).map(|l| format!("{l}\n")).collect();
    let others = || program.files.iter().filter(|other| other.entry && other.path != path);
    names.into_iter().any(|call| {
        !call.is_empty()
            && (defined(&below, call) || file.entry && others().any(|other| defined(&other.text, call)))
    })
}

/// An error that the ledger makes a result: recognised by the message.
fn mended(ours: &Verdict, theirs: &Verdict) -> Option<&'static str> {
    if is_address(ours, theirs) {
        return Some("function-address");
    }
    if matches!(ours, Verdict::Output(_)) && message(theirs).starts_with("Unknown format code") {
        return Some("format-int-as-float");
    }
    None
}
