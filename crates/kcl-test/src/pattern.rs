//! Random texts that a regular expression matches, so that checks like `regex.match(name, "^[a-z]+$")` find values.
//!
//! Only a source of candidates: whether a text is a value is decided by the check itself.

use regex_syntax::hir::{Class, Hir, HirKind};

use crate::chance::Dice;

/// Patterns nest this deep at most.
const NESTED: u32 = 64;
/// Texts stop growing at this length.
const LONGEST: usize = 300;

/// A pattern that was understood. What another dialect has (`(?=..)`) is not, and helps nobody.
pub(crate) struct Pattern(Hir);

impl Pattern {
    pub(crate) fn parse(text: &str) -> Option<Pattern> {
        regex_syntax::ParserBuilder::new().nest_limit(NESTED).build().parse(text).ok().map(Pattern)
    }

    /// Makes a text.
    pub(crate) fn text(&self, dice: &mut Dice) -> String {
        let mut out = String::new();
        make(&self.0, dice, &mut out);
        out
    }
}

fn make(part: &Hir, dice: &mut Dice, out: &mut String) {
    if out.len() > LONGEST {
        return;
    }
    match part.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => out.push_str(&String::from_utf8_lossy(&literal.0)),
        HirKind::Class(class) => out.extend(one_of(class, dice)),
        HirKind::Repetition(repetition) => {
            let least = repetition.min;
            let most = repetition.max.unwrap_or(least.saturating_add(8));
            // Mostly few, now and then as many as there may be.
            let spread = (most - least).min(if dice.below(8) == 0 { LONGEST as u32 } else { 4 });
            let count = match dice.below(8) {
                0 => least.saturating_add(spread),
                _ => least.saturating_add(dice.below(spread as usize + 1) as u32),
            };
            for _ in 0..count.min(LONGEST as u32) {
                let before = out.len();
                make(&repetition.sub, dice, out);
                // What adds nothing adds nothing the next time either, and may be nested.
                if out.len() == before {
                    break;
                }
            }
        }
        HirKind::Capture(capture) => make(&capture.sub, dice, out),
        HirKind::Concat(parts) => parts.iter().for_each(|part| make(part, dice, out)),
        HirKind::Alternation(parts) => {
            if let Some(part) = dice.pick(parts) {
                make(part, dice, out);
            }
        }
    }
}

/// A character of a class: one that can be typed, if there is one.
fn one_of(class: &Class, dice: &mut Dice) -> Option<char> {
    let ranges: Vec<(u32, u32)> = match class {
        Class::Unicode(class) => {
            class.ranges().iter().map(|range| (range.start().into(), range.end().into())).collect()
        }
        Class::Bytes(class) => {
            class.ranges().iter().map(|range| (range.start().into(), range.end().into())).collect()
        }
    };
    let plain = |(start, end): &(u32, u32)| {
        let (start, end) = ((*start).max(' '.into()), (*end).min('~'.into()));
        (start <= end).then_some((start, end))
    };
    let typed: Vec<(u32, u32)> = ranges.iter().filter_map(plain).collect();
    let (start, end) = *dice.pick(if typed.is_empty() { &ranges } else { &typed })?;
    char::from_u32(start + dice.below((end - start) as usize + 1) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_patterns_end_soon_and_give_bounded_texts() {
        let odd = [
            "((a*)*)*",
            "(((a{300}){300}){300}){300}",
            "(((^{300}){300}){300}){300}",
            "[^\\x00-\\x{10FFFF}]x",
            "(?i)ß|\\p{Greek}{3,5}|[^\\x00-\\x7F]",
            "(?:){0,1000}",
            ".{1000}",
            "",
        ];
        let mut dice = Dice::new(1, "odd");
        for text in odd {
            let pattern = Pattern::parse(text).unwrap();
            for _ in 0..200 {
                assert!(pattern.text(&mut dice).len() <= LONGEST + 4, "{text}");
            }
        }
        assert!(Pattern::parse("(?=a)").is_none() && Pattern::parse("(").is_none());
        assert!(Pattern::parse(&format!("{}a{}", "(".repeat(5_000), ")".repeat(5_000))).is_none());
    }
}
