//! `kusion logs`: the ends of the logs of a stack's pods.

use kusion_model::ResourceKey;
use kusion_runtime_k8s::LogAsk;
use kusion_store::wait;
use serde_json::Value;

use crate::input::chosen::open_named;
use crate::input::cluster::tokio;
use crate::input::flags::{Arg, Given, flag};
use crate::input::sight::{Sight, look, named, pods};
use crate::views::failure::{Exit, Failure};
use crate::views::output::{Format, format_of, print_data, tell};
use crate::views::style::Style;

pub(crate) fn flags() -> Vec<Arg> {
    vec![
        flag("tail", None, "N", "how many lines of each container (default 20)"),
        flag("previous", Some('p'), "", "the run before the last restart"),
        flag("output", Some('o'), "FORMAT", "text, or json: one line of JSON per line of log"),
    ]
}

/// A container of a pod.
struct Source {
    cluster: String,
    namespace: String,
    pod: String,
    container: String,
}

pub(crate) fn main(given: &Given) -> Result<(), Failure> {
    let format = format_of(given)?;
    let (stack, wanted) = match given.rest.as_slice() {
        [] => (given.last("workdir"), None),
        [stack] => (Some(stack.clone()), None),
        [stack, resource] => (Some(stack.clone()), Some(resource.clone())),
        _ => {
            return Err(
                Failure::usage("a stack and a resource at most").next("kusion logs dev Deployment/web")
            );
        }
    };
    let tail = given.last("tail").map_or(Ok(20), |text| {
        text.parse().map_err(|_| Failure::usage(format!("--tail {text} is no number")).next("--tail 100"))
    })?;
    let chosen = open_named(given, stack.as_deref())?;
    let state = wait(chosen.target.store.read())?;
    let keys = named(&chosen, &state, wanted.as_deref())?;
    tokio()?.block_on(async {
        let sight = look(given, &chosen, &state, &keys).await?;
        let sources: Vec<Source> = keys.iter().flat_map(|key| sources(key, &sight)).collect();
        if sources.is_empty() {
            let unreadable = sight.unreadable();
            if !unreadable.is_empty() {
                return Err(unseen(&unreadable, &sight.server));
            }
            tell("no pod belongs to these resources\n");
        }
        let (mut read, mut silent) = (sources.is_empty(), !sources.is_empty());
        for source in &sources {
            let Some(runtime) = sight.runtime(&source.cluster) else { continue };
            let ask = LogAsk {
                namespace: source.namespace.clone(),
                pod: source.pod.clone(),
                container: source.container.clone(),
                previous: given.has("previous"),
                tail,
            };
            match runtime.log(&ask).await {
                Ok(text) => {
                    (read, silent) = (true, silent && text.is_empty());
                    show(source, &text, format)?;
                }
                Err(error) => tell(&format!("{}/{}: {}\n", source.pod, source.container, error.message)),
            }
        }
        if read && silent {
            tell("nothing is logged yet\n");
        }
        // Each has said why.
        if read { Ok(()) } else { Err(Failure::told(Exit::Remote)) }
    })
}

/// Whether there are pods nobody can tell who may not list them.
pub(crate) fn unseen(unreadable: &[String], server: &str) -> Failure {
    Failure::new(Exit::Remote, "the pods of these resources cannot be read")
        .cause(unreadable.join("\n"))
        .place(server)
        .next("ask for the right that the message names, or let somebody look who has it")
}

/// The containers of the pods below a resource.
fn sources(key: &ResourceKey, sight: &Sight) -> Vec<Source> {
    let Some((object, snapshot)) = sight.object(key) else { return Vec::new() };
    let mut found = Vec::new();
    for pod in pods(object, snapshot) {
        let text =
            |pointer: &str| pod.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        for container in pod.pointer("/spec/containers").and_then(Value::as_array).into_iter().flatten() {
            found.push(Source {
                cluster: key.cluster.to_string(),
                namespace: text("/metadata/namespace"),
                pod: text("/metadata/name"),
                container: container.get("name").and_then(Value::as_str).unwrap_or_default().to_owned(),
            });
        }
    }
    found
}

fn show(source: &Source, text: &str, format: Format) -> Result<(), Failure> {
    let style = Style::stdout();
    for line in text.lines() {
        let out = match format {
            Format::Json => {
                serde_json::json!({"schema": "kusion.io/log/v1", "pod": source.pod, "container": source.container, "line": line})
                    .to_string()
            }
            Format::Text => format!("{} {line}", style.cyan(&format!("{}/{}", source.pod, source.container))),
        };
        print_data(&format!("{out}\n"))?;
    }
    Ok(())
}
