//! Numbers are exact.

use tf_value::Number;

fn n(text: &str) -> Number {
    text.parse().unwrap()
}

#[test]
fn a_decimal_is_not_the_float_next_to_it() {
    let float = Number::from_f64(0.1).unwrap();
    assert_ne!(n("0.1"), float);
    assert!(n("0.1") < float);
    assert_eq!(float.to_string(), "0.1");
    assert_eq!(n("0.5"), Number::from_f64(0.5).unwrap());
    assert_eq!(n("1e0"), n("1.000"));
    assert_eq!(n("-0"), n("0"));
    assert_eq!(n("-0").to_string(), "-0");
}

#[test]
fn texts_are_plain_and_shortest() {
    for (text, shown) in [
        ("1.50", "1.5"),
        ("1e3", "1000"),
        ("+5", "5"),
        (".5", "0.5"),
        ("5.", "5"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("0.30000000000000000000000000000000001", "0.30000000000000000000000000000000001"),
        ("-2.5e-3", "-0.0025"),
        ("1e160", &format!("1{}", "0".repeat(160))),
        ("1e-160", &format!("0.{}1", "0".repeat(159))),
    ] {
        assert_eq!(n(text).to_string(), shown, "{text}");
        assert_eq!(n(shown), n(text), "{text}");
    }
    for (float, shown) in [
        (1e21, "1000000000000000000000"),
        // A power of two: the reference looks half a unit to both sides.
        (18_446_744_073_709_551_616.0, "18446744073709550000"),
        (5e-324, &format!("0.{}4940656458412465", "0".repeat(323))),
        (0.3, "0.3"),
        (2.5e-8, "0.000000025"),
    ] {
        assert_eq!(Number::from_f64(float).unwrap().to_string(), shown);
    }
}

#[test]
fn what_is_no_number_is_refused() {
    for text in ["", "-", ".", "1e", "1e+", "0x10", "1_000", " 1", "1 ", "Inf", "NaN", "1.2.3", "1p3", "--1"]
    {
        assert!(text.parse::<Number>().is_err(), "{text}");
    }
    assert!(Number::from_f64(f64::NAN).is_err());
    assert!("1e5000".parse::<Number>().is_err());
    assert!("9".repeat(5000).parse::<Number>().is_err());
}

#[test]
fn order_is_by_value() {
    let mut numbers: Vec<Number> =
        ["1e30", "-1e30", "0.1", "3", "-0.1", "0", "2.9999999999999999999999999", "1e-30"].map(n).to_vec();
    numbers.extend([Number::POSITIVE_INFINITY, Number::NEGATIVE_INFINITY, Number::from_f64(2.5).unwrap()]);
    numbers.sort();
    let shown: Vec<String> = numbers.iter().take(6).map(Number::to_string).collect();
    assert_eq!(numbers.len(), 11);
    assert_eq!(shown[0], "-Inf");
    assert_eq!(shown[2..6], ["-0.1", "0", &format!("0.{}1", "0".repeat(29)), "0.1"]);
    assert_eq!(numbers[6].to_string(), "2.5");
}

#[test]
fn integers_and_floats_are_told() {
    assert_eq!(n("9223372036854775807").as_i64(), Some(i64::MAX));
    assert_eq!(n("9223372036854775808").as_i64(), None);
    assert_eq!(n("-9223372036854775808").as_i64(), Some(i64::MIN));
    assert_eq!(Number::from_f64(9.223372036854776e18).unwrap().as_i64(), None);
    assert_eq!(Number::from_f64(-9.223372036854776e18).unwrap().as_i64(), Some(i64::MIN));
    assert_eq!(n("0.25").as_f64(), Some(0.25));
    assert_eq!(n("0.1").as_f64(), None);
    assert_eq!(n("1e-5000".get(..5).unwrap()).as_f64(), None);
    assert!(n("1e20").is_whole() && !n("1.5").is_whole());
}
