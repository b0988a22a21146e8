//! Changes of whole top-level statements: their order, their place, their company. What comes out mostly still means something,
//! so these find what the order of definitions, laziness and scopes do.

use crate::generate::Rng;

/// Changes the blocks of a text; `other` lends a block.
pub(super) fn rearrange(text: &str, other: &str, rng: &mut Rng) -> String {
    let mut blocks: Vec<String> = blocks(text).into_iter().map(str::to_string).collect();
    if blocks.is_empty() {
        return text.into();
    }
    let at = rng.below(blocks.len());
    match rng.weighted(&[35, 15, 15, 15, 10, 10]) {
        0 => shuffle(&mut blocks, rng),
        1 => {
            let block = blocks.remove(at);
            blocks.insert(rng.below(blocks.len() + 1), block);
        }
        2 => {
            let lent = self::blocks(other);
            if !lent.is_empty() {
                let lent = rng.pick(&lent).to_string();
                blocks.insert(rng.below(blocks.len() + 1), lent);
            }
        }
        3 => {
            // `x = v` and `_x = v` differ in what may follow.
            if let Some((name, value)) = blocks[at].clone().split_once(" = ")
                && name.chars().all(|c| c.is_alphanumeric() || c == '_')
            {
                let name = name.strip_prefix('_').map_or(format!("_{name}"), str::to_string);
                blocks[at] = format!("{name} = {value}");
            }
        }
        4 if !blocks[at].starts_with("schema") && !blocks[at].starts_with("import") => {
            let indented: String = blocks[at].lines().map(|line| format!("    {line}\n")).collect();
            blocks[at] = format!("if {}:\n{indented}", rng.pick(&["True", "False", "1 > 0"]));
        }
        _ => {
            let copy = blocks[at].clone();
            blocks.insert(rng.below(blocks.len() + 1), copy);
        }
    }
    blocks.concat()
}

fn shuffle(blocks: &mut [String], rng: &mut Rng) {
    for at in (1..blocks.len()).rev() {
        blocks.swap(at, rng.below(at + 1));
    }
}

/// Cuts a text into top-level statements: a block begins at a line that is not indented and closes nothing.
fn blocks(text: &str) -> Vec<&str> {
    let mut starts = vec![0];
    let mut offset = 0;
    let mut long_string = false;
    for line in text.split_inclusive('\n') {
        let continues =
            line.starts_with([' ', '\t', '}', ']', ')', '\n', '"', '\'']) || line.starts_with("el");
        let decorated = text[..offset].trim_end().rsplit('\n').next().is_some_and(|l| l.starts_with('@'));
        if offset > 0 && !continues && !long_string && !decorated {
            starts.push(offset);
        }
        if line.matches("\"\"\"").count() % 2 == 1 {
            long_string = !long_string;
        }
        offset += line.len();
    }
    starts.push(text.len());
    starts.windows(2).map(|pair| &text[pair[0]..pair[1]]).filter(|block| block.ends_with('\n')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_whole_statements() {
        let text =
            "a = {\n    b = 1\n}\n@info()\nschema S:\n    x: int\nif a:\n    c = 1\nelse:\n    c = 2\n";
        let found = blocks(text);
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(found.concat(), text);
    }
}
