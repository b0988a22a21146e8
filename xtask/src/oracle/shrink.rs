//! Makes a failing program small while it goes on failing in the same way.
//!
//! In: a program and a test. Out: a smaller program for which the test still holds. Three passes repeat until nothing gets
//! smaller: whole files, runs of lines (halving), then pieces of a line (bracket groups, entries between commas, tokens).
//! Invariant: the number of calls of the test is bounded by `budget`.

use testkit::Program;

/// Shrinks a program.
pub(super) fn shrink(program: &Program, budget: usize, holds: &mut dyn FnMut(&Program) -> bool) -> Program {
    let mut best = program.clone();
    let mut left = budget;
    if !holds(&best) {
        return best; // not reproducible: leave it as it is
    }
    let mut size = usize::MAX;
    while best.size() < size && left > 0 {
        size = best.size();
        files(&mut best, &mut left, holds);
        for index in 0..best.files.len() {
            lines(&mut best, index, &mut left, holds);
        }
        for index in 0..best.files.len() {
            pieces(&mut best, index, &mut left, holds);
        }
    }
    best
}

fn attempt(
    best: &mut Program,
    candidate: Program,
    left: &mut usize,
    holds: &mut dyn FnMut(&Program) -> bool,
) -> bool {
    if *left == 0 {
        return false;
    }
    *left -= 1;
    if holds(&candidate) {
        *best = candidate;
        return true;
    }
    false
}

fn files(best: &mut Program, left: &mut usize, holds: &mut dyn FnMut(&Program) -> bool) {
    let mut index = 0;
    while index < best.files.len() && best.files.len() > 1 {
        let mut candidate = best.clone();
        candidate.files.remove(index);
        if candidate.entries().next().is_none() || !attempt(best, candidate, left, holds) {
            index += 1;
        }
    }
    let flags = testkit::Flags::default();
    if best.flags != flags {
        let candidate = Program { flags, ..best.clone() };
        attempt(best, candidate, left, holds);
    }
}

fn lines(best: &mut Program, file: usize, left: &mut usize, holds: &mut dyn FnMut(&Program) -> bool) {
    let mut run = best.files[file].text.lines().count().div_ceil(2).max(1);
    loop {
        let mut at = 0;
        while at < best.files[file].text.lines().count() {
            let kept: Vec<&str> = best.files[file]
                .text
                .lines()
                .enumerate()
                .filter(|(number, _)| *number < at || *number >= at + run)
                .map(|(_, line)| line)
                .collect();
            let candidate = with_text(best, file, kept.join("\n") + "\n");
            if !attempt(best, candidate, left, holds) {
                at += run;
            }
        }
        if run == 1 {
            break;
        }
        run /= 2;
    }
}

fn with_text(program: &Program, file: usize, text: String) -> Program {
    let mut candidate = program.clone();
    candidate.files[file].text = text;
    candidate
}

fn pieces(best: &mut Program, file: usize, left: &mut usize, holds: &mut dyn FnMut(&Program) -> bool) {
    let mut index = 0;
    loop {
        let text = best.files[file].text.clone();
        let Some((start, end, with)) = cuts(&text).into_iter().nth(index) else { break };
        let shorter = format!("{}{}{}", &text[..start], with, &text[end..]);
        let candidate = with_text(best, file, shorter);
        if !attempt(best, candidate, left, holds) {
            index += 1;
        }
        if *left == 0 {
            break;
        }
    }
}

/// Byte ranges that may be replaced by something shorter, big ones first.
fn cuts(text: &str) -> Vec<(usize, usize, &'static str)> {
    let mut out = Vec::new();
    let bytes = text.as_bytes();
    let mut open: Vec<(u8, usize)> = Vec::new();
    let mut item: Vec<usize> = vec![0];
    for (at, byte) in bytes.iter().copied().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => {
                open.push((byte, at));
                item.push(at + 1);
            }
            b')' | b']' | b'}' => {
                if let (Some((bracket, start)), Some(last)) = (open.pop(), item.pop()) {
                    if at > last {
                        out.push((last, at, ""));
                    }
                    out.push((start + 1, at, ""));
                    out.push((start, at + 1, ""));
                    if bracket != b'{' {
                        out.push((start, at + 1, "1"));
                    }
                }
            }
            b',' => {
                if let Some(last) = item.last_mut() {
                    out.push((*last, at + 1, ""));
                    *last = at + 1;
                }
            }
            _ => {}
        }
    }
    for (start, word) in tokens(text) {
        out.push((start, start + word.len(), ""));
    }
    // An operator with its right operand: ` + x`.
    let list = tokens(text);
    for pair in list.windows(2) {
        out.push((pair[0].0, pair[1].0 + pair[1].1.len(), ""));
    }
    for triple in list.windows(3) {
        out.push((triple[0].0, triple[2].0 + triple[2].1.len(), ""));
    }
    out.retain(|(start, end, with)| end - start > with.len());
    out.sort_by_key(|(start, end, _)| std::cmp::Reverse(end - start));
    out.dedup();
    out
}

/// Words, numbers, strings and runs of punctuation, with their offsets.
fn tokens(text: &str) -> Vec<(usize, &str)> {
    let mut out = Vec::new();
    let mut chars = text.char_indices().peekable();
    while let Some((start, c)) = chars.next() {
        if c.is_whitespace() {
            continue;
        }
        let mut end = start + c.len_utf8();
        let word = c.is_alphanumeric() || c == '_';
        let quote = c == '"' || c == '\'';
        while let Some((at, next)) = chars.peek().copied() {
            let goes_on = if quote { true } else { word && (next.is_alphanumeric() || next == '_') };
            if !goes_on || next == '\n' {
                break;
            }
            chars.next();
            end = at + next.len_utf8();
            if quote && next == c {
                break;
            }
        }
        out.push((start, &text[start..end]));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_test_needs_is_left() {
        let program = Program::single("x = 1\nbad = [1, {k = boom, z = 2}]\ny = 2\n");
        let small = shrink(&program, 2000, &mut |p| p.files[0].text.contains("boom"));
        assert_eq!(small.files[0].text.trim(), "boom");
    }
}
