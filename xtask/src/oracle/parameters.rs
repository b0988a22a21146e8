//! Recognises differences that come from parameter names which outlive their call in the wheel, by an experiment.
//!
//! The parameters of every lambda get names that nothing else has. If ours then says the same as before, and the wheel says it, too,
//! the difference was the clash of a parameter with another name and nothing else.

use testkit::Program;

/// Returns the program with parameters of their own names; nothing if there is no lambda with parameters.
pub(super) fn renamed(program: &Program) -> Option<Program> {
    let mut changed = program.clone();
    let mut count = 0;
    for file in &mut changed.files {
        let mut before = file.text.len();
        // From the end, so that a lambda inside another is renamed first and the places before stay where they are.
        while let Some(start) = file.text[..before].rfind("lambda ") {
            before = start;
            let Some((names, end)) = header(&file.text[start..]) else { continue };
            let mut lambda = file.text[start..start + end].to_string();
            for name in names {
                count += 1;
                lambda = replace_word(&lambda, &name, &format!("{name}_own{count}"));
            }
            file.text.replace_range(start..start + end, &lambda);
        }
    }
    (count > 0).then_some(changed)
}

/// The parameters of a lambda, and its length up to the brace that closes it.
fn header(text: &str) -> Option<(Vec<String>, usize)> {
    let open = text.find('{')?;
    let parameters = text["lambda ".len()..open].split("->").next().unwrap_or("");
    let names = parameters.split(',').filter_map(|part| {
        let name = part.split([':', '=']).next().unwrap_or("").trim();
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
        is_name.then(|| name.to_string())
    });
    let mut depth = 0;
    for (i, c) in text.char_indices().skip_while(|(i, _)| *i < open) {
        match c {
            '{' => depth += 1,
            '}' if depth == 1 => return Some((names.collect(), i + 1)),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Replaces a whole word, unless it is a member.
fn replace_word(text: &str, word: &str, with: &str) -> String {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for (at, _) in text.match_indices(word) {
        let (before, after) = (text[..at].chars().next_back(), text[at + word.len()..].chars().next());
        if at < from || is_part(before) || before == Some('.') || is_part(after) {
            continue;
        }
        out.push_str(&text[from..at]);
        out.push_str(with);
        from = at + word.len();
    }
    out + &text[from..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_get_names_of_their_own() {
        let program = Program::single("x = f(lambda a, x: int -> int {a.x + x}, [x])\n");
        let changed = renamed(&program).unwrap();
        assert_eq!(
            changed.files[0].text,
            "x = f(lambda a_own1, x_own2: int -> int {a_own1.x + x_own2}, [x])\n"
        );
        assert!(renamed(&Program::single("x = lambda {1}\n")).is_none());
    }
}
