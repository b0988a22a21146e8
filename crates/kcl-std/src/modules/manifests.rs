//! `manifests`: replaces the program's output.

use base_yaml::YamlWriter;
use kcl_value::{Value, write_value};

use super::{encodable, encode_options, list};
use crate::{Args, Error, Host, Mistake};

/// `yaml_stream(values, opts={})`.
///
/// Private names are kept when `opts` is not given at all and left out when it is given without `ignore_private`.
pub(crate) fn yaml_stream(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Result<Value, Error> {
    let values = list(args, 0, "values")?;
    let opts = match args.get(1, "opts") {
        None => None,
        Some(value) if value.is_config() => value.as_dict(),
        Some(other) => return Err(Mistake::StreamOptions { got: other.type_name() }.into()),
    };
    let given = |name: &str| opts.and_then(|opts| opts.get(name));
    let flag = |name: &str| given(name).is_some_and(Value::truthy);
    let ignore_private = given("ignore_private").map_or(opts.is_some(), Value::truthy);
    let options = encode_options(flag("sort_keys"), ignore_private, flag("ignore_none"));
    let separator = given("sep").map_or("---", |sep| sep.as_str().unwrap_or(""));
    let mut out = String::new();
    for (i, value) in values.iter().enumerate() {
        if i > 0 {
            out.push_str(&format!("\n{separator}\n"));
        }
        let mut writer = YamlWriter::new();
        write_value(&mut writer, &encodable(value), &options);
        out.push_str(&writer.into_string());
    }
    host.charge(out.len() as u64 / 16)?;
    host.set_output(out, args.get(0, "values").unwrap_or(&Value::None), options);
    Ok(Value::None)
}
