//! Run-time errors whose sentence says it all: the same in words for people.
//!
//! Errors that need facts (values, places) are told in [`crate::telling`].

/// What a person reads instead of a sentence of the reference, and what to try; none where the sentence is good as it is.
pub(crate) fn plain(message: &str) -> Option<(String, Option<String>)> {
    packing(message)
        .or_else(|| deprecation(message))
        .or_else(|| access(message))
        .or_else(|| arithmetic(message))
}

/// `expect T, got U`, with what is wrong with a dict that should be an instance.
fn packing(message: &str) -> Option<(String, Option<String>)> {
    let (first, details) = match message.split_once(". For details:\n") {
        Some((first, details)) => (first, details),
        None => (message, ""),
    };
    let (wanted, got) = first.strip_prefix("expect ")?.split_once(", got ")?;
    let mut reasons = Vec::new();
    for line in details.lines() {
        if let Some((_, name)) = line.split_once(" does not contain attribute ") {
            reasons.push(format!("`{wanted}` has no attribute `{name}`"));
        } else if let Some((_, rest)) = line.split_once("'s attribute ") {
            reasons.push(format!("`{}` is missing", rest.trim_end_matches(" is missing")));
        }
    }
    let help = (!reasons.is_empty()).then(|| reasons.join(", "));
    match help {
        Some(reasons) => Some((format!("this `{}` is no `{wanted}`: {reasons}", type_name(got)), None)),
        None => Some((format!("expected `{wanted}`, found `{}`", type_name(got)), None)),
    }
}

fn deprecation(message: &str) -> Option<(String, Option<String>)> {
    let (name, rest) = message.split_once(" was deprecated ")?;
    let (since, reason) = rest.split_once(", ").unwrap_or((rest, ""));
    let since = if since.is_empty() { String::new() } else { format!(" {since}") };
    let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    Some((format!("`{name}` is deprecated{since}{reason}"), None))
}

fn access(message: &str) -> Option<(String, Option<String>)> {
    if let Some(rest) = message.strip_prefix("invalid value '") {
        let (ty, name) = rest.split_once("' to load attribute '")?;
        let ty = type_name(ty);
        let name = name.trim_end_matches('\'');
        let help = matches!(ty, "None" | "Undefined")
            .then(|| format!("if it may be missing, read it with `?.{name}`, or test it first"));
        return Some((format!("`{ty}` has no attribute `{name}`"), help));
    }
    if let Some(rest) = message.strip_prefix("schema '") {
        let (schema, name) = rest.strip_suffix("' not found")?.split_once("' attribute '")?;
        return Some((format!("this `{schema}` has no attribute `{name}`"), None));
    }
    if let Some(ty) = message.strip_suffix("' object is not iterable") {
        let ty = type_name(ty.trim_start_matches('\''));
        return Some((format!("`{ty}` has no items to walk through"), None));
    }
    if let Some(rest) = message.strip_prefix("No attribute named '") {
        let (name, schema) = rest.strip_suffix('\'')?.split_once("' in the schema '")?;
        return Some((format!("schema `{schema}` has no attribute `{name}`"), None));
    }
    None
}

fn arithmetic(message: &str) -> Option<(String, Option<String>)> {
    // The number before the colon is not told: of a very large one it has only the last digits.
    if let Some((_, rest)) = message.split_once(": A ")
        && let Some(bits) = rest.strip_suffix(" bit integer overflow")
    {
        return Some((format!("the result does not fit into a whole number of {bits} bits"), None));
    }
    if message.starts_with("attempt to divide by zero") || message.contains("a divisor of zero") {
        return Some(("division by zero".to_owned(), None));
    }
    let rest = message.strip_prefix("unsupported operand type(s) for ")?;
    let (op, types) = rest.split_once(": '")?;
    let (left, right) = types.strip_suffix('\'')?.split_once("' and '")?;
    let (left, right) = (type_name(left.trim_matches('"')), type_name(right.trim_matches('"')));
    let missing = |ty: &str| matches!(ty, "None" | "Undefined");
    let help = (missing(left) || missing(right))
        .then(|| "a value is missing: test it first, or give another: `(x or 0)`".to_owned());
    Some((format!("`{op}` does not take `{left}` and `{right}`"), help))
}

fn type_name(name: &str) -> &str {
    match name {
        "NoneType" => "None",
        "UndefinedType" => "Undefined",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::plain;

    fn title(message: &str) -> String {
        plain(message).map(|(title, _)| title).unwrap_or_default()
    }

    #[test]
    fn a_dict_that_is_no_instance_says_why() {
        let message = "expect I, got dict. For details:\nSchema I does not contain attribute q\nSchema I's attribute v is missing";
        assert_eq!(title(message), "this `dict` is no `I`: `I` has no attribute `q`, `v` is missing");
        assert_eq!(title("expect int, got str"), "expected `int`, found `str`");
    }

    #[test]
    fn what_is_missing_is_named_as_it_is_written() {
        assert_eq!(title("invalid value 'NoneType' to load attribute 'y'"), "`None` has no attribute `y`");
        assert_eq!(
            title("unsupported operand type(s) for +: 'int' and 'UndefinedType'"),
            "`+` does not take `int` and `Undefined`"
        );
    }

    #[test]
    fn a_deprecation_says_what_its_author_said() {
        assert_eq!(
            title("a was deprecated since version 1, use b"),
            "`a` is deprecated since version 1: use b"
        );
        assert_eq!(title("a was deprecated "), "`a` is deprecated");
    }

    #[test]
    fn other_sentences_stay() {
        assert_eq!(plain("list index out of range: 3"), None);
        assert_eq!(plain("my own words: expect nothing"), None);
    }
}
