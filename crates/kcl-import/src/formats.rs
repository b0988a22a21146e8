//! `format` of texts and numbers, where the words of a format can be checked.

use kcl_model::{Rule, Type, Value};

/// Formats of texts with the pattern that all of their texts match. What is no text of a format may match, too: a pattern is no parser.
const TEXTS: &[(&str, &str)] = &[
    ("date", r"^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$"),
    (
        "date-time",
        r"^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[Tt ]([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):?[0-5]\d)$",
    ),
    ("time", r"^([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)?$"),
    ("email", r"^[^@\s]+@[^@\s]+$"),
    ("hostname", r"^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*\.?$"),
    ("ipv4", r"^((25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\.){3}(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)$"),
    ("ipv6", r"^[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*$"),
    ("uri", r"^[A-Za-z][A-Za-z0-9+.-]*:\S*$"),
    ("uuid", r"^[0-9A-Fa-f]{8}-?[0-9A-Fa-f]{4}-?[0-9A-Fa-f]{4}-?[0-9A-Fa-f]{4}-?[0-9A-Fa-f]{12}$"),
];

/// Formats of whole numbers that other languages keep in fewer bits.
const NUMBERS: &[(&str, i64, i64)] = &[
    ("int32", i32::MIN as i64, i32::MAX as i64),
    ("int-or-string", i32::MIN as i64, i32::MAX as i64),
    ("uint32", 0, u32::MAX as i64),
];

/// What a format demands of a value of a type.
pub(crate) fn rules(format: &str, ty: &Type) -> Vec<Rule> {
    match ty {
        Type::Str => {
            let found = TEXTS.iter().find(|(name, _)| *name == format);
            found.map(|(_, pattern)| Rule::Pattern((*pattern).to_owned())).into_iter().collect()
        }
        Type::Int => NUMBERS
            .iter()
            .filter(|(name, ..)| *name == format)
            .flat_map(|(_, min, max)| {
                [Rule::Min(Value::Int(*min), false), Rule::Max(Value::Int(*max), false)]
            })
            .collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_a_format_match_its_pattern() {
        let table = [
            ("date", "2024-02-29", "2024-2-29"),
            ("date-time", "2024-02-29T10:00:00.5Z", "2024-02-29"),
            ("date-time", "2024-02-29T10:00:00+02:00", "tomorrow"),
            ("time", "10:00:00Z", "25:00:00Z"),
            ("email", "a.b@example.org", "a.b"),
            ("hostname", "a-1.example.org", "-a.example.org"),
            ("ipv4", "127.0.0.1", "256.0.0.1"),
            ("ipv6", "::1", "127.0.0.1"),
            ("uri", "https://example.org/a?b=c", "no scheme"),
            ("uuid", "123e4567-e89b-12d3-a456-426614174000", "123e4567"),
        ];
        for (format, good, bad) in table {
            let Some(Rule::Pattern(pattern)) = rules(format, &Type::Str).pop() else { panic!("{format}") };
            let regex = fancy_regex::Regex::new(&pattern).unwrap();
            assert!(regex.is_match(good).unwrap(), "{format}: {good}");
            assert!(!regex.is_match(bad).unwrap(), "{format}: {bad}");
        }
        assert_eq!(rules("int32", &Type::Int).len(), 2);
        assert!(rules("int64", &Type::Int).is_empty() && rules("other", &Type::Str).is_empty());
    }
}
