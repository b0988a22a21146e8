//! `kusion logs`: the ends of the logs of a stack's pods.

use kusion::{DryRun, find};
use kusion_health::dependents;
use kusion_model::ResourceKey;
use kusion_runtime_k8s::LogAsk;
use serde_json::Value;

use crate::board::short;
use crate::cluster::{remote, tokio, world};
use crate::failure::Failure;
use crate::flags::{Flag, Given, flag};
use crate::output::{Format, format_of, print, tell};
use crate::place::open_named;
use crate::style::Style;

pub(crate) const FLAGS: &[Flag] = &[
    flag("tail", None, "N", "how many lines of each container (default 20)"),
    flag("previous", Some('p'), "", "the run before the last restart"),
    flag("output", Some('o'), "FORMAT", "text, or json: one line of JSON per line of log"),
];

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
    let place = open_named(given, stack.as_deref())?;
    let state = place.target.store.read()?;
    let keys: Vec<ResourceKey> = state
        .records
        .keys()
        .filter(|key| wanted.as_ref().is_none_or(|word| is(key, word)))
        .cloned()
        .collect();
    if let (Some(word), true) = (&wanted, keys.is_empty()) {
        return Err(Failure::usage(format!("stack {} has made no `{word}`", state.scope))
            .next(format!("kusion ls {}", state.scope)));
    }
    tokio()?.block_on(async {
        let names = keys.iter().map(|key| key.cluster.to_string()).collect();
        let world = world(given, &place, &names).await?;
        let clusters = world.engine.clusters(&place.target.key, DryRun::All);
        let looks = clusters.look(&keys).await.map_err(|error| remote(&error, &world.server))?;
        let mut sources = Vec::new();
        for key in &keys {
            let Some((snapshot, _)) = looks.get(&*key.cluster) else { continue };
            if let Some(object) = find(key, snapshot) {
                pods(object, &|object| dependents(object, snapshot), &key.cluster, 4, &mut sources);
            }
        }
        if sources.is_empty() {
            tell("no pod belongs to these resources\n");
        }
        for source in &sources {
            let Some(runtime) = clusters.kube(&source.cluster) else { continue };
            let ask = LogAsk {
                namespace: source.namespace.clone(),
                pod: source.pod.clone(),
                container: source.container.clone(),
                previous: given.has("previous"),
                tail,
            };
            match runtime.log(&ask).await {
                Ok(text) => show(source, &text, format)?,
                Err(error) => tell(&format!("{}/{}: {}\n", source.pod, source.container, error.message)),
            }
        }
        Ok(())
    })
}

/// Whether a word names a resource: its id, its name, or `Kind/name`.
pub(crate) fn is(key: &ResourceKey, word: &str) -> bool {
    let (kind, name) = short(key);
    let bare = name.rsplit('/').next().unwrap_or(&name);
    key.to_string() == word
        || bare == word
        || word.split_once('/').is_some_and(|(k, n)| k.eq_ignore_ascii_case(&kind) && n == bare)
}

fn pods<'s>(
    object: &'s Value,
    below: &dyn Fn(&Value) -> Vec<&'s Value>,
    cluster: &str,
    deep: usize,
    found: &mut Vec<Source>,
) {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    if text("/kind") == "Pod" {
        let containers = object.pointer("/spec/containers").and_then(Value::as_array).into_iter().flatten();
        for container in containers {
            found.push(Source {
                cluster: cluster.to_owned(),
                namespace: text("/metadata/namespace"),
                pod: text("/metadata/name"),
                container: container.get("name").and_then(Value::as_str).unwrap_or_default().to_owned(),
            });
        }
        return;
    }
    if deep > 0 {
        below(object).into_iter().for_each(|object| pods(object, below, cluster, deep - 1, found));
    }
}

fn show(source: &Source, text: &str, format: Format) -> Result<(), Failure> {
    let style = Style::stdout();
    for line in text.lines() {
        let out = match format {
            Format::Json => {
                serde_json::json!({"pod": source.pod, "container": source.container, "line": line})
                    .to_string()
            }
            Format::Text => format!("{} {line}", style.cyan(&format!("{}/{}", source.pod, source.container))),
        };
        print(&format!("{out}\n"))?;
    }
    Ok(())
}
