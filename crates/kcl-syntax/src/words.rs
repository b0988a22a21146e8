//! Syntax errors in words for people. The sentences of the reference name tokens; a person reads code.

/// Returns what a message says, in better words; none where the message is good as it is.
pub(crate) fn title(id: &str, message: &str) -> Option<String> {
    if id == "unmatched-bracket" {
        return Some("this bracket closes none that is open".to_owned());
    }
    let (wanted, got) = match message.strip_prefix("expected one of [") {
        Some(rest) => rest.split_once("] got ")?,
        None => {
            let token = message.strip_prefix("unexpected token '")?.strip_suffix('\'')?;
            return Some(match token {
                "indent" => "this line is indented further than the block it stands in".to_owned(),
                "dedent" => "the block ends too early".to_owned(),
                "eof" => "the file ends too early".to_owned(),
                other => format!("unexpected {}", found(other)),
            });
        }
    };
    let wanted = match id {
        "expected-expression" => "a value".to_owned(),
        "expected-type" => "a type".to_owned(),
        "expected-block" => "an indented block".to_owned(),
        "expected-end-of-block" => "the end of the block".to_owned(),
        "invalid-number" => "a number".to_owned(),
        _ => one_of(wanted),
    };
    Some(format!("expected {wanted}, found {}", found(got)))
}

/// What to write instead of a statement that other languages have.
pub(crate) fn foreign(word: &str) -> Option<&'static str> {
    Some(match word {
        "for" | "while" => {
            "there are no loops: write a list, `[x for x in list]`, or a dict, `{k: v for k, v in dict}`"
        }
        "def" | "fn" | "func" | "function" => {
            "a function is a value: `name = lambda x: int -> int { x + 1 }`"
        }
        "return" => "the last expression of a lambda is its result: leave `return` out",
        "class" | "struct" | "interface" => "a type with attributes is a schema: `schema Name:`",
        "let" | "var" | "const" => "a value needs no word before it: `name = value`",
        "from" => "a whole package is imported: `import path.to.package as name`",
        _ => return None,
    })
}

/// Words that begin a statement.
const BEGINNINGS: &[&str] = &["import", "schema", "mixin", "protocol", "rule", "type", "check", "assert"];

/// Returns the word of the language that a word is one slip away from: a letter too many, too few, another one, or two swapped.
pub fn misspelt_keyword(word: &str) -> Option<&'static str> {
    BEGINNINGS
        .iter()
        .find(|keyword| **keyword != word && is_one_slip(word.as_bytes(), keyword.as_bytes()))
        .copied()
}

fn is_one_slip(word: &[u8], keyword: &[u8]) -> bool {
    let same = word.iter().zip(keyword).take_while(|(a, b)| a == b).count();
    let (word, keyword) = (&word[same..], &keyword[same..]);
    match (word, keyword) {
        ([_, rest @ ..], _) if rest == keyword => true,
        (_, [_, rest @ ..]) if rest == word => true,
        ([a, b, rest @ ..], [c, d, more @ ..]) if a == d && b == c && rest == more => true,
        ([_, rest @ ..], [_, more @ ..]) => rest == more,
        _ => false,
    }
}

/// `"a", "b"` as `a` or `b`.
fn one_of(wanted: &str) -> String {
    let words: Vec<String> = wanted.split("\", \"").map(|word| thing(word.trim_matches('"'))).collect();
    words.join(" or ")
}

fn thing(token: &str) -> String {
    match token {
        "identifier" => "a name".to_owned(),
        "literal" => "a value".to_owned(),
        "newline" => "the end of the line".to_owned(),
        "eof" => "the end of the file".to_owned(),
        "indent" => "an indented line".to_owned(),
        "dedent" => "the end of the block".to_owned(),
        other => format!("`{other}`"),
    }
}

fn found(token: &str) -> String {
    if token.contains('\n') { "a text of several lines".to_owned() } else { thing(token) }
}

#[cfg(test)]
mod tests {
    use super::title;

    #[test]
    fn one_slip_is_forgiven() {
        for word in ["importt", "imprt", "inport", "ipmort", "mport"] {
            assert_eq!(super::misspelt_keyword(word), Some("import"), "{word}");
        }
        for word in ["import", "report", "x", "", "schemas_of"] {
            assert_eq!(super::misspelt_keyword(word), None, "{word}");
        }
    }

    #[test]
    fn tokens_are_told_as_code() {
        let told = |id, message| title(id, message).unwrap();
        let value = "expected one of [\"identifier\", \"literal\", \"(\", \"[\", \"{\"] got =";
        assert_eq!(told("expected-expression", value), "expected a value, found `=`");
        assert_eq!(
            told("expected-token", "expected one of [\":\", \"=\", \"+=\"] got }"),
            "expected `:` or `=` or `+=`, found `}`"
        );
        assert_eq!(
            told("expected-token", "expected one of [\"}\"] got eof"),
            "expected `}`, found the end of the file"
        );
        assert_eq!(told("unexpected-token", "unexpected token ','"), "unexpected `,`");
        assert_eq!(title("use-elif", "'else if' here is invalid in KCL"), None);
    }
}
