//! `kusion generate`: the Spec of a stack, as YAML or JSON. Secrets stay sealed.

use std::path::Path;

use base_file::How;
use serde_json::{Value, json};

use crate::input::chosen::{Intent, open_for};
use crate::input::flags::{Arg, Given, flag};
use crate::views::failure::Failure;
use crate::views::output::{print_data, print_json};
use crate::views::yaml;

pub(crate) fn flags() -> Vec<Arg> {
    vec![
        flag("output", Some('o'), "FORMAT|FILE", "yaml, json, or a file to write"),
        flag("context", None, "NAME", "the option `cluster` of the program"),
    ]
}

pub(crate) fn main(given: &Given) -> Result<(), Failure> {
    let chosen = open_for(given, Intent::Record)?;
    let generated = chosen.generate(&given.last("context").unwrap_or_default(), false)?;
    let resources: Vec<Value> =
        generated.spec.resources.iter().map(|r| serde_json::to_value(r).unwrap_or_default()).collect();
    let spec = json!({ "resources": resources });
    let with_schema = || json!({"schema": "kusion.io/spec/v1", "resources": spec["resources"]});
    match given.last("output").as_deref() {
        None | Some("yaml") => print_data(&yaml::text(&spec)),
        Some("json") => print_json(&with_schema()),
        Some(file) => {
            let text = match file.ends_with(".json") {
                true => serde_json::to_string_pretty(&spec).unwrap_or_default() + "\n",
                false => yaml::text(&spec),
            };
            base_file::replace(Path::new(file), text.as_bytes(), How::Plain)
                .map_err(|e| Failure::usage("the Spec cannot be written").cause(e.to_string()).place(file))
        }
    }
}
