//! PENDING: replaced by kcl_std::value_from_json as soon as it is there.
pub(crate) fn value_from_json(text: &str) -> Result<kcl_value::Value, String> {
    text.parse::<i64>().map(kcl_value::Value::Int).map_err(|e| e.to_string())
}
