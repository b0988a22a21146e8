//! Kubernetes quantities, only as far as comparing needs them.
//!
//! In: `500m`, `1Gi`, `2`. Out: a float. Invariant: equal amounts read equal for the sizes quotas use.

use serde_json::Value;

pub(crate) fn read(value: &Value) -> Option<f64> {
    if let Some(number) = value.as_f64() {
        return Some(number);
    }
    let text = value.as_str()?.trim();
    let suffixes: [(&str, f64); 15] = [
        ("Ki", 1024.0),
        ("Mi", 1_048_576.0),
        ("Gi", 1_073_741_824.0),
        ("Ti", 1_099_511_627_776.0),
        ("Pi", 1_125_899_906_842_624.0),
        ("Ei", 1_152_921_504_606_846_976.0),
        ("n", 1e-9),
        ("u", 1e-6),
        ("m", 1e-3),
        ("k", 1e3),
        ("M", 1e6),
        ("G", 1e9),
        ("T", 1e12),
        ("P", 1e15),
        ("E", 1e18),
    ];
    for (suffix, factor) in suffixes {
        if let Some(digits) = text.strip_suffix(suffix) {
            return digits.parse::<f64>().ok().map(|number| number * factor);
        }
    }
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn equal_amounts_read_equal() {
        assert_eq!(read(&json!("1000m")), read(&json!("1")));
        assert_eq!(read(&json!("1Gi")), read(&json!("1024Mi")));
        assert_eq!(read(&json!("2k")), read(&json!(2000)));
        assert_eq!(read(&json!("x")), None);
    }
}
