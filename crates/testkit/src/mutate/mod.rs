//! Programs that are nearly right: a program of the specs with one to three small changes.
//!
//! In: a corpus and a seed. Out: a program, the same for the same corpus and seed. Three kinds of change take turns: *gentle* ones
//! keep the shape of the text (another operator, name, literal or type; lines dropped, doubled, swapped) and so find what the
//! checker and the run say; *rough* ones drop, insert and swap tokens and find what the parser says; `blocks` rearranges
//! whole statements and finds what their order means.
//! Invariant: the text only grows by what the tables below hold.

mod blocks;
mod tokens;
mod words;

use crate::Program;
use crate::generate::Rng;
use tokens::{Kind, tokens};
use words::{ENDINGS, KEYWORDS, LITERALS, OPERATORS, ROUGH, ROUGH_WORDS, TYPES};

/// Programs above this size are left out: one change would drown in them.
const MAX_SIZE: usize = 6000;

/// Makes a program from one of the corpus.
///
/// # Panics
/// If no program of the corpus is small enough.
pub fn program(corpus: &[Program], seed: u64) -> Program {
    let mut rng = Rng::new(seed);
    let small: Vec<&Program> = corpus.iter().filter(|p| p.size() > 0 && p.size() <= MAX_SIZE).collect();
    assert!(!small.is_empty(), "the corpus has no small program");
    // A change may happen to change nothing; after a few attempts the program itself is good enough.
    for _ in 0..8 {
        let origin = *rng.pick(&small);
        let mut changed = origin.clone();
        let way = rng.weighted(&[40, 25, 35]);
        let lender = *rng.pick(&small);
        for _ in 0..*rng.pick(&[1, 1, 1, 2, 3]) {
            let sources: Vec<usize> =
                (0..changed.files.len()).filter(|i| changed.files[*i].path.ends_with(".k")).collect();
            if sources.is_empty() {
                break;
            }
            let file = &mut changed.files[*rng.pick(&sources)];
            let other = lender.files.first().map_or("", |file| file.text.as_str());
            file.text = match way {
                0 => gently(&file.text, &mut rng),
                1 => roughly(&file.text, &mut rng),
                _ => blocks::rearrange(&file.text, other, &mut rng),
            };
        }
        if changed != *origin {
            return changed;
        }
    }
    small[0].clone()
}

/// A change that mostly still parses.
fn gently(text: &str, rng: &mut Rng) -> String {
    if rng.chance(22) {
        return lines(text, rng);
    }
    let mut words: Vec<(Kind, String)> = tokens(text).into_iter().map(|(k, w)| (k, w.to_string())).collect();
    let of = |wanted: fn(Kind, &str) -> bool| -> Vec<usize> {
        (0..words.len()).filter(|i| wanted(words[*i].0, &words[*i].1)).collect()
    };
    let names = of(|kind, word| kind == Kind::Word && !KEYWORDS.contains(&word));
    let values = of(|kind, word| {
        matches!(kind, Kind::Number | Kind::Text) || matches!(word, "True" | "False" | "None" | "Undefined")
    });
    let signs = of(|_, word| OPERATORS.iter().any(|(sign, _)| *sign == word));
    let types = of(|_, word| matches!(word, "int" | "str" | "bool" | "float" | "any"));
    let chosen = |list: &[usize], rng: &mut Rng| (!list.is_empty()).then(|| *rng.pick(list));
    match rng.weighted(&[30, 20, 20, 10, 10, 10]) {
        0 => {
            let Some(at) = chosen(&signs, rng) else { return text.into() };
            let others = OPERATORS.iter().find(|(sign, _)| *sign == words[at].1).map_or(&[][..], |(_, o)| o);
            words[at].1 = (*rng.pick(others)).into();
        }
        1 => {
            let (Some(at), Some(from)) = (chosen(&names, rng), chosen(&names, rng)) else {
                return text.into();
            };
            words[at].1 = words[from].1.clone();
        }
        2 => {
            let Some(at) = chosen(&values, rng) else { return text.into() };
            words[at].1 = (*rng.pick(LITERALS)).into();
        }
        3 => {
            let (Some(at), Some(from)) = (chosen(&values, rng), chosen(&names, rng)) else {
                return text.into();
            };
            words[at].1 = words[from].1.clone();
        }
        4 => match chosen(&types, rng) {
            Some(at) => words[at].1 = (*rng.pick(TYPES)).into(),
            None => {
                let Some(at) = chosen(&names, rng) else { return text.into() };
                words[at].1 = (*rng.pick(LITERALS)).into();
            }
        },
        _ => {
            let Some(at) = chosen(&names, rng) else { return text.into() };
            let ending = *rng.pick(ENDINGS);
            words[at].1.push_str(ending);
        }
    }
    words.into_iter().map(|(_, word)| word).collect()
}

fn lines(text: &str, rng: &mut Rng) -> String {
    let mut lines: Vec<&str> = text.split('\n').collect();
    if lines.len() < 2 {
        return text.into();
    }
    let (at, other) = (rng.below(lines.len()), rng.below(lines.len()));
    match rng.weighted(&[30, 30, 40]) {
        0 => drop(lines.remove(at)),
        1 => lines.insert(other, lines[at]),
        _ => lines.swap(at, other),
    }
    lines.join("\n")
}

/// A change that mostly no longer parses.
fn roughly(text: &str, rng: &mut Rng) -> String {
    let mut words: Vec<String> = tokens(text).into_iter().map(|(_, word)| word.to_string()).collect();
    if words.is_empty() {
        return text.into();
    }
    let at = rng.below(words.len());
    match rng.weighted(&[30, 15, 10, 10, 10, 15, 10]) {
        0 => drop(words.remove(at)),
        1 => words.insert(at, (*rng.pick(ROUGH)).into()),
        2 => words.insert(at, format!(" {} ", rng.pick(ROUGH))),
        3 => {
            let copy = words[rng.below(words.len())].clone();
            words.insert(at, copy);
        }
        4 => {
            let other = rng.below(words.len());
            words.swap(at, other);
        }
        5 => words[at] = (*rng.pick(ROUGH_WORDS)).into(),
        _ => words[at] = (*rng.pick(ROUGH)).into(),
    }
    words.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_program_and_seeds_give_many() {
        let corpus = [Program::single("schema S:\n    a: int = 1\nx = S {a = 2}\n")];
        let texts: std::collections::BTreeSet<String> =
            (0..50).map(|seed| program(&corpus, seed).files[0].text.clone()).collect();
        assert!(texts.len() > 30, "{texts:?}");
        assert_eq!(program(&corpus, 7), program(&corpus, 7));
    }

    #[test]
    fn nothing_is_lost_between_the_tokens() {
        let text = "a = \"x\\\"${b}\" # c\nd: int|str = 0x1f **e\n\t'''\nq'''\n";
        let joined: String = tokens(text).into_iter().map(|(_, word)| word).collect();
        assert_eq!(joined, text);
    }
}
