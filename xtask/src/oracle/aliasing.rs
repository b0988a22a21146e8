//! Recognises differences that come from the wheel's aliasing, by an experiment.
//!
//! In the wheel an entry, a default or an argument *is* the value of the variable it was read from, and merging into it changes
//! the variable. So the experiment writes a copy where a name is read (`x` becomes `(x | {})`, a list of copies or `(x + [])` for a list). If the
//! wheel then says what ours says, and ours says the same as before, the difference was aliasing and nothing else.
//! Invariant: at most [`MAX_READS`] reads are tried, each with at most two runs of the wheel.

use testkit::verdict::difference;
use testkit::{Program, Runner, Verdict};

/// Programs of the generator are short; beyond this many reads the difference stays unexplained.
const MAX_READS: usize = 80;

/// How a copy of what a name means is written.
const COPIES: [(&str, &str); 3] = [("(", " | {})"), ("[_i | {} for _i in ", "]"), ("(", " + [])")];

/// Whether copying what is read makes the wheel agree with ours.
pub(super) fn explains(
    program: &Program,
    our: &Verdict,
    oracle: &mut dyn Runner,
    ours: &mut dyn Runner,
) -> bool {
    if !matches!(our, Verdict::Output(_)) {
        return false;
    }
    let mut copied = program.clone();
    for file in 0..program.files.len() {
        let reads = reads(&program.files[file].text);
        // From the end, so that the places before stay where they are.
        for (start, end) in reads.into_iter().rev().take(MAX_READS) {
            for (open, close) in COPIES {
                let text = &copied.files[file].text;
                let changed = format!("{}{open}{}{close}{}", &text[..start], &text[start..end], &text[end..]);
                let mut candidate = copied.clone();
                candidate.files[file].text = changed;
                // A copy that changes what ours says is no copy.
                if difference(&ours.run(&candidate), our).is_some() {
                    continue;
                }
                let theirs = oracle.run(&candidate);
                if !matches!(theirs, Verdict::Output(_)) {
                    continue;
                }
                copied = candidate;
                if difference(our, &theirs).is_none() {
                    return true;
                }
                break;
            }
        }
    }
    false
}

/// Byte ranges of names and paths that are a whole value: after an operator of an entry, a bracket or a comma.
fn reads(text: &str) -> Vec<(usize, usize)> {
    let mut out = Vec::new();
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let declares = ["schema ", "import ", "mixin ", "protocol ", "rule "];
        if !declares.iter().any(|word| line.trim_start().starts_with(word)) {
            reads_of_line(line, offset, &mut out);
        }
        offset += line.len();
    }
    out
}

fn reads_of_line(line: &str, offset: usize, out: &mut Vec<(usize, usize)>) {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
    let mut chars = line.char_indices().peekable();
    let mut before = '\n';
    while let Some((start, c)) = chars.next() {
        if c == '"' || c == '\'' {
            // Strings hold no reads that matter; one that does not end ends with the line.
            while chars.next().is_some_and(|(_, next)| next != c) {}
            before = c;
            continue;
        }
        if !(c.is_alphabetic() || c == '_') {
            before = if c.is_whitespace() { before } else { c };
            continue;
        }
        let mut end = start + c.len_utf8();
        while let Some((at, next)) = chars.peek().copied().filter(|(_, next)| is_word(*next)) {
            end = at + next.len_utf8();
            chars.next();
        }
        let rest = line[end..].trim_start();
        let value = matches!(before, '=' | ':' | ',' | '[' | '(' | '{' | ')' | '}' | '"');
        let alone = !rest.starts_with(['(', '[', '{', '=', ':', '?']) && !rest.starts_with("+=");
        let word = &line[start..end];
        let keyword = ["if", "for", "in", "not", "None", "True", "False", "Undefined", "lambda", "else"];
        // An item of a list may have a line for itself.
        let item = before == '\n' && (rest.is_empty() || rest == ",");
        if (value || item) && alone && !keyword.contains(&word) {
            out.push((offset + start, offset + end));
        }
        before = 'a';
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_values_are_found() {
        let text = "a = {k = name.x, l += b}\nc: pkg.S {d = 1}\nimport e\nl = [\n    f\n]\n";
        let found: Vec<&str> = reads(text).into_iter().map(|(start, end)| &text[start..end]).collect();
        assert_eq!(found, ["name.x", "b", "f"]);
    }

    /// A wheel that says "aliased" until the read of `b` is a copy.
    struct Fake;

    impl Runner for Fake {
        fn run(&mut self, program: &Program) -> Verdict {
            let copied = program.files[0].text.contains("(b | {})");
            let yaml = if copied { "ours" } else { "aliased" };
            Verdict::Output(testkit::Output { yaml: yaml.into(), ..Default::default() })
        }
    }

    struct Ours;

    impl Runner for Ours {
        fn run(&mut self, _: &Program) -> Verdict {
            Verdict::Output(testkit::Output { yaml: "ours".into(), ..Default::default() })
        }
    }

    #[test]
    fn a_difference_that_a_copy_ends_is_aliasing_and_others_are_not() {
        let program = Program::single("a = {k = b}\n");
        let our = Ours.run(&program);
        assert!(explains(&program, &our, &mut Fake, &mut Ours));
        assert!(!explains(&Program::single("a = {k = c}\n"), &our, &mut Fake, &mut Ours));
    }
}
