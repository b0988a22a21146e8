//! `-D key=value`.

/// Splits an argument into its name and the JSON text of its value.
///
/// Valid JSON stays as it is, except numbers in scientific notation, which are text (so that a Git hash survives);
/// KCL's `True`, `False`, `None`, `Undefined` become JSON; anything else is a string.
///
/// # Errors
/// If there are not exactly two non-blank parts around `=`.
pub fn argument(given: &str) -> Result<(String, String), String> {
    let mut parts = given.split('=');
    let (Some(key), Some(value), None) = (parts.next(), parts.next(), parts.next()) else {
        return Err("Invalid value for top level arguments".into());
    };
    if key.trim().is_empty() || value.trim().is_empty() {
        return Err("Invalid value for top level arguments".into());
    }
    Ok((key.to_owned(), json_of(value)))
}

fn json_of(value: &str) -> String {
    match value {
        "True" => return "true".into(),
        "False" => return "false".into(),
        "None" | "Undefined" => return "null".into(),
        _ => {}
    }
    let scientific = value.contains(['e', 'E']) && value.parse::<f64>().is_ok();
    if !scientific && kcl_std::value_from_json(value).is_ok() {
        return value.to_owned();
    }
    let mut out = String::new();
    base_yaml::push_json_string(&mut out, value);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_stay_text_and_words_become_json() {
        assert_eq!(argument("a=12e1").unwrap().1, "\"12e1\"");
        assert_eq!(argument("a=True").unwrap().1, "true");
        assert_eq!(argument("a=[1]").unwrap().1, "[1]");
        assert_eq!(argument("a=x").unwrap().1, "\"x\"");
        assert!(argument("a=").is_err() && argument("a").is_err() && argument("a=b=c").is_err());
    }
}
