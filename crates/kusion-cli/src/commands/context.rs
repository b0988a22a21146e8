//! `kusion context`: the clusters that the kubeconfig knows; `use NAME` chooses one for all stacks without their own.

use kusion_runtime_k8s::contexts;
use serde_json::{Value, json};

use crate::commands::config;
use crate::input::cluster;
use crate::input::cluster::choice;
use crate::input::flags::{Arg, Given, flag};
use crate::views::failure::Failure;
use crate::views::output::{Format, format_of, print, print_data, print_json};
use crate::views::style::Style;
use crate::views::table::table;

pub(crate) fn flags() -> Vec<Arg> {
    vec![
        flag("output", Some('o'), "FORMAT", "text or json"),
        flag("kubeconfig", None, "FILE", "the kubeconfig (default: $KUBECONFIG)"),
        flag("context", None, "NAME", "the context that commands use"),
    ]
}

pub(crate) fn main(given: &Given) -> Result<(), Failure> {
    let (file, chosen) = choice(given, None)?;
    let known = contexts(file.as_deref()).map_err(|error| cluster::unknown_cluster(&error))?;
    let current = chosen.or_else(|| known.iter().find(|context| context.current).map(|c| c.name.clone()));
    match given.rest.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] | ["list"] if format_of(given)? == Format::Json => {
            let rows: Vec<Value> = known
                .iter()
                .map(|c| json!({"name": c.name, "server": c.server, "current": current.as_ref() == Some(&c.name)}))
                .collect();
            print_json(&json!({"schema": "kusion.io/contexts/v1", "contexts": rows}))
        }
        [] | ["list"] => {
            let mark = |name: &String| if current.as_ref() == Some(name) { "*" } else { "" };
            let rows: Vec<Vec<String>> = known
                .iter()
                .map(|c| vec![mark(&c.name).to_owned(), c.name.clone(), c.server.clone()])
                .collect();
            print(&table(&["", "CONTEXT", "SERVER"], &rows, &Style::stdout()))
        }
        ["show"] => match current {
            Some(name) if format_of(given)? == Format::Json => {
                let server = known.iter().find(|c| c.name == name).map(|c| c.server.as_str());
                print_json(&json!({"schema": "kusion.io/context/v1", "name": name, "server": server}))
            }
            Some(name) => print_data(&format!("{name}\n")),
            None => Err(Failure::usage("no context is chosen").next("kusion context use NAME")),
        },
        ["use", name] => {
            if !known.iter().any(|context| context.name == *name) {
                let names: Vec<&str> = known.iter().map(|context| context.name.as_str()).collect();
                return Err(Failure::usage(format!("the kubeconfig has no context `{name}`"))
                    .next(format!("there are: {}", names.join(", "))));
            }
            config::set("context", name)?;
            if format_of(given)? == Format::Json {
                let server = known.iter().find(|c| c.name == *name).map(|c| c.server.as_str());
                return print_json(
                    &json!({"schema": "kusion.io/context/v1", "name": name, "server": server}),
                );
            }
            print(&format!("Stacks without a context of their own now use `{name}`.\n"))
        }
        _ => Err(Failure::usage("kusion context does not know these words").next("list, show or use NAME")),
    }
}
