//! Recognises differences that come from a library function which the ledger mends (`docs/divergences.md`), by an experiment.
//!
//! The experiment takes the divergent calls out of the program and keeps the rest: a call whose value differs is replaced by one whose
//! value does not (`math.log(x)` by the length of its text times zero, so that `x` is still computed), a misuse by a use. If both sides
//! then agree, the difference was that function and nothing else. What cannot be taken out stays unexplained.

use super::explain::message;
use testkit::{Program, Verdict};

/// A function that the ledger mends.
struct Mended {
    key: &'static str,
    /// How a call begins.
    call: &'static str,
    /// What stands in its place; `@` is the call itself.
    instead: &'static str,
    /// What our error must say, if the divergence is that we fail.
    fails_with: Option<&'static str>,
}

const fn mended(
    key: &'static str,
    call: &'static str,
    instead: &'static str,
    fails_with: Option<&'static str>,
) -> Mended {
    Mended { key, call, instead, fails_with }
}

const MENDED: &[Mended] = &[
    mended("math-log", "math.log1p(", "float(0 * len(str(@)))", None),
    mended("math-log", "math.log2(", "float(0 * len(str(@)))", None),
    mended("math-log", "math.log(", "float(0 * len(str(@)))", None),
    mended("math-pow-wrap", "math.pow(", "math.sqrt(4)", None),
    mended("json-merge-order", "json.merge(", "str(len(str(@)))", None),
    mended("collection-union-all", "collection.union_all(", "dict()", None),
    mended("pow-exact", "pow(", "pow(2, 2)", Some("A 64 bit integer overflow")),
    mended("abs-range-misuse", "abs(", "abs(1)", Some("bad operand type for abs()")),
    mended("abs-range-misuse", "range(", "range(2)", Some("range() ")),
];

/// Returns the key of a divergence that a program may show and that was not `done` yet, and the program without it.
pub(super) fn without(
    program: &Program,
    ours: &Verdict,
    done: &[&'static str],
) -> Option<(&'static str, Program)> {
    let has =
        |call: &str| program.files.iter().any(|file| last_call(&file.text, call, file.text.len()).is_some());
    let found = MENDED.iter().find(|row| {
        !done.contains(&row.key)
            && row.fails_with.is_none_or(|words| message(ours).contains(words))
            && has(row.call)
    });
    if let Some(found) = found {
        let mut neutral = program.clone();
        for file in &mut neutral.files {
            MENDED
                .iter()
                .filter(|row| row.key == found.key)
                .for_each(|row| replace_calls(&mut file.text, row));
        }
        return Some((found.key, neutral));
    }
    let catches = program.files.iter().any(|file| file.text.contains(CATCH));
    (catches && !done.contains(&"catch-scope")).then(|| ("catch-scope", catch_outside(program)))
}

const CATCH: &str = "runtime.catch(lambda";

/// The generator's favourite failure, and what it says.
const FAILING: (&str, &str) = ("runtime.catch(lambda {[1][5]})", "list index out of range: 5");

/// In the wheel the names around a lambda that fails inside `runtime.catch` are never forgotten. They are if the call is made by a
/// function that stands outside of them, and its value is the same; of the favourite the value is known.
fn catch_outside(program: &Program) -> Program {
    let mut program = program.clone();
    for file in program.files.iter_mut().filter(|file| file.text.contains(CATCH)) {
        let after_imports = file.text.rfind("\nimport ").map_or(0, |at| at + 1);
        let at = file.text[after_imports..].find('\n').map_or(file.text.len(), |len| after_imports + len + 1);
        let (rest, imports) = (file.text.split_off(at), file.text.clone());
        let rest = rest.replace(FAILING.0, "_caught").replace(CATCH, "_catch(lambda");
        let helpers = format!("_caught = \"{}\"\n_catch = lambda f {{ runtime.catch(f) }}\n", FAILING.1);
        file.text = imports + &helpers + &rest;
    }
    program
}

fn replace_calls(text: &mut String, row: &Mended) {
    let mut before = text.len();
    // From the end, so that a call inside another is replaced first and the places before stay where they are.
    while let Some((start, end)) = last_call(text, row.call, before) {
        let instead = row.instead.replace('@', &text[start..end]);
        text.replace_range(start..end, &instead);
        before = start;
    }
}

/// The last call that begins before a place, as a range.
fn last_call(text: &str, call: &str, before: usize) -> Option<(usize, usize)> {
    let mut limit = before;
    loop {
        let start = text[..limit].rfind(call)?;
        let word = text[..start].chars().next_back();
        if !word.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '.')
            && let Some(len) = closing(&text[start + call.len()..])
        {
            return Some((start, start + call.len() + len));
        }
        limit = start;
    }
}

/// The length up to and including the parenthesis that closes, strings skipped.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 1;
    let mut quote = None;
    for (i, c) in text.char_indices() {
        match (quote, c) {
            (Some(q), _) if c == q => quote = None,
            (Some(_), '\n') => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') if depth == 1 => return Some(i + 1),
            (None, ')') => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output() -> Verdict {
        Verdict::Output(testkit::Output::default())
    }

    #[test]
    fn calls_are_taken_out_and_the_rest_stays() {
        let program = Program::single("import math\na = math.log(len(\")\") + math.log(2)) + 1\nb = 2\n");
        let (key, neutral) = without(&program, &output(), &[]).unwrap();
        assert_eq!(key, "math-log");
        assert!(!neutral.files[0].text.contains("= math.log("), "{}", neutral.files[0].text);
        assert!(neutral.files[0].text.ends_with(" + 1\nb = 2\n"));
    }

    #[test]
    fn a_misuse_is_taken_out_only_where_ours_says_so() {
        let program = Program::single("a = abs(x)\n");
        assert!(without(&program, &output(), &[]).is_none());
        let fault =
            testkit::Fault { message: "bad operand type for abs(): 'str'".into(), ..Default::default() };
        let (key, neutral) = without(&program, &Verdict::Fault(fault), &[]).unwrap();
        assert_eq!((key, neutral.files[0].text.as_str()), ("abs-range-misuse", "a = abs(1)\n"));
        assert!(without(&Program::single("a = my_abs(x)\n"), &output(), &[]).is_none());
    }
}
