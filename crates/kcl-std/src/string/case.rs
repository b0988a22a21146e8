//! Case changes and the `is…` questions.

use kcl_value::{Str, Value};

use super::text_of;
use crate::{Args, Error, Host};

type Answer = Result<Value, Error>;

/// `lower()`.
pub(crate) fn lower(_: &mut dyn Host, this: &Value, _: Args<'_>) -> Answer {
    Ok(Value::from(text_of(this).to_lowercase()))
}

/// `upper()`.
pub(crate) fn upper(_: &mut dyn Host, this: &Value, _: Args<'_>) -> Answer {
    Ok(Value::from(text_of(this).to_uppercase()))
}

/// `capitalize()`: the first character in upper case, the rest in lower case.
pub(crate) fn capitalize(_: &mut dyn Host, this: &Value, _: Args<'_>) -> Answer {
    let mut chars = text_of(this).chars();
    let mut out: String = chars.next().into_iter().flat_map(char::to_uppercase).collect();
    out.push_str(&chars.as_str().to_lowercase());
    Ok(Value::from(out))
}

/// `title()`: upper case after every character that has no case.
pub(crate) fn title(_: &mut dyn Host, this: &Value, _: Args<'_>) -> Answer {
    let mut out = String::new();
    let mut in_word = false;
    for c in text_of(this).chars() {
        if in_word {
            out.extend(c.to_lowercase());
        } else {
            push_title(&mut out, c);
        }
        in_word = c.is_alphabetic();
    }
    Ok(Value::from(out))
}

/// The four letter pairs that have a title case of their own.
fn title_digraph(c: char) -> Option<char> {
    match c {
        'Ǆ' | 'ǅ' | 'ǆ' => Some('ǅ'),
        'Ǉ' | 'ǈ' | 'ǉ' => Some('ǈ'),
        'Ǌ' | 'ǋ' | 'ǌ' => Some('ǋ'),
        'Ǳ' | 'ǲ' | 'ǳ' => Some('ǲ'),
        _ => None,
    }
}

/// Appends the title case of a character: of several upper-case letters only the first stays upper case.
fn push_title(out: &mut String, c: char) {
    if let Some(pair) = title_digraph(c) {
        out.push(if c.is_uppercase() { c } else { pair });
        return;
    }
    let mut upper = c.to_uppercase();
    let first = upper.next().unwrap_or(c);
    out.push(first);
    match first.is_uppercase() {
        true => out.extend(upper.flat_map(char::to_lowercase)),
        false => out.extend(upper),
    }
}

fn all(this: &Value, holds: impl Fn(char) -> bool) -> Answer {
    let text = text_of(this);
    Ok(Value::Bool(!text.is_empty() && text.chars().all(holds)))
}

/// `isalpha()`.
pub(crate) fn is_alpha(_: &mut dyn Host, this: &Value, _: Args<'_>) -> Answer {
    all(this, char::is_alphabetic)
}

/// `isalnum()`.
pub(crate) fn is_alnum(_: &mut dyn Host, this: &Value, _: Args<'_>) -> Answer {
    all(this, char::is_alphanumeric)
}

/// `isdigit()`: ASCII digits and superscripts only.
pub(crate) fn is_digit(_: &mut dyn Host, this: &Value, _: Args<'_>) -> Answer {
    all(this, |c| matches!(c, '0'..='9' | '²' | '³' | '¹' | '⁰' | '⁴'..='⁹'))
}

/// `isspace()`.
pub(crate) fn is_space(_: &mut dyn Host, this: &Value, _: Args<'_>) -> Answer {
    all(this, char::is_whitespace)
}

/// `islower()`: at least one cased character, and none in upper case.
pub(crate) fn is_lower(_: &mut dyn Host, this: &Value, _: Args<'_>) -> Answer {
    let text = text_of(this);
    Ok(Value::Bool(text.chars().any(char::is_lowercase) && !text.chars().any(char::is_uppercase)))
}

/// `isupper()`.
pub(crate) fn is_upper(_: &mut dyn Host, this: &Value, _: Args<'_>) -> Answer {
    let text = text_of(this);
    Ok(Value::Bool(text.chars().any(char::is_uppercase) && !text.chars().any(char::is_lowercase)))
}

/// `istitle()`: upper case only at the start of words, lower case only inside.
pub(crate) fn is_title(_: &mut dyn Host, this: &Value, _: Args<'_>) -> Answer {
    let (mut cased, mut in_word) = (false, false);
    for c in text_of(this).chars() {
        if c.is_uppercase() || title_digraph(c) == Some(c) {
            if in_word {
                return Ok(Value::Bool(false));
            }
            (cased, in_word) = (true, true);
        } else if c.is_lowercase() {
            if !in_word {
                return Ok(Value::Bool(false));
            }
            (cased, in_word) = (true, true);
        } else {
            in_word = false;
        }
    }
    Ok(Value::Bool(cased))
}

/// `chars()`.
pub(crate) fn chars(host: &mut dyn Host, this: &Value, _: Args<'_>) -> Answer {
    let text = text_of(this);
    host.charge(text.len() as u64)?;
    Ok(Value::from(text.chars().map(|c| Value::Str(Str::from(c))).collect::<Vec<_>>()))
}
