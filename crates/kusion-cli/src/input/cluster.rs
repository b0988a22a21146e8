//! The clusters of one command: which kubeconfig and context, and what to say when they do not answer.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use kusion::{Cluster, Connected, Engine, Profile};
use kusion_health::Rules;
use kusion_model::{Provider, StoreConfig};
use kusion_runtime_k8s::{ConnectError, Identity, connect_as};

use crate::input::chosen::{ChosenStack, here};
use crate::input::flags::{Arg, Given, flag};
use crate::input::providers::{limits, providers};
use crate::views::failure::{Exit, Failure};

/// Flags of every command that talks to a cluster.
pub(crate) fn clusters() -> Vec<Arg> {
    let mut flags = vec![
        flag(
            "context",
            None,
            "NAME",
            "the context of the kubeconfig (default: stack.yaml's, then the current one)",
        ),
        flag("kubeconfig", None, "FILE", "the kubeconfig (default: stack.yaml's, then $KUBECONFIG)"),
        flag("as", None, "USER", "act as another user, where the cluster allows it"),
        flag("as-group", None, "GROUP", "act as a member of a group; may be repeated"),
        flag("request-timeout", None, "TIME", "how long one request may take (default 60s)"),
        flag(
            "profile",
            None,
            "NAME",
            "how long health may take before it counts as failed: default, or sandbox (short)",
        ),
        flag(
            "rules",
            None,
            "FILE",
            "health rules for custom kinds, beside health.rules of project and stack",
        ),
    ];
    flags.extend(limits());
    flags
}

/// The cluster that a command works on, connected.
pub(crate) struct Connection {
    pub(crate) engine: Engine,
    /// What people call the cluster; empty if none is needed.
    pub(crate) context: String,
    pub(crate) server: String,
}

/// An async runtime of one thread: the work is waiting.
pub(crate) fn tokio() -> Result<tokio::runtime::Runtime, Failure> {
    let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
    built.map_err(|e| Failure::new(Exit::Bug, "no async runtime").cause(e.to_string()))
}

/// Which kubeconfig and context the flags and the stack name.
pub(crate) fn choice(
    given: &Given,
    chosen: Option<&ChosenStack>,
) -> Result<(Option<PathBuf>, Option<String>), Failure> {
    let of_stack = |pick: fn(&kusion_model::Stack) -> Option<String>| {
        chosen.and_then(|chosen| pick(&chosen.folder.stack))
    };
    let file = match given.last("kubeconfig") {
        Some(file) => Some(here()?.join(file)),
        None => of_stack(|stack| stack.kube_config.clone())
            .and_then(|file| Some(chosen?.folder.stack_dir.join(file))),
    };
    Ok((file, given.last("context").or_else(|| of_stack(|stack| stack.context.clone()))))
}

/// Connects to the default cluster and to those that resources name; to none if nothing of the stack is in any. Nothing is
/// sent yet.
pub(crate) async fn connect(
    given: &Given,
    chosen: &ChosenStack,
    names: &BTreeSet<String>,
) -> Result<Connection, Failure> {
    let providers = providers(given, &chosen.folder.project_dir, &chosen.folder.stack_dir)?;
    let in_cluster = |store: &StoreConfig| matches!(store.provider, Provider::Kubernetes { .. });
    if names.is_empty() && !chosen.target.secret_stores.values().any(in_cluster) {
        let engine = Engine::new().with(providers);
        return Ok(Connection { engine, context: String::new(), server: String::new() });
    }
    let (file, context) = choice(given, Some(chosen))?;
    let limit = seconds(given, "request-timeout")?.unwrap_or(Duration::from_secs(60));
    let identity = Identity {
        user: given.last("as"),
        groups: given.all("as-group").into_iter().map(str::to_owned).collect(),
    };
    if identity.user.is_none() && !identity.groups.is_empty() {
        return Err(
            Failure::usage("--as-group needs --as").next("name the user too: --as USER --as-group GROUP")
        );
    }
    let default = open(file.as_ref(), context.as_deref(), &identity).await?;
    let (context, server) = (default.context.clone(), default.server.clone());
    let profile = profile(given, &context)?;
    let rules = rules(given, chosen)?;
    let cluster = |to: Connected| Cluster::connected(to, profile.clone()).with_rules(rules.clone());
    let engine = Engine::new().with(cluster(default)).with(providers).with_request_limit(limit);
    let mut engine = engine.with_move(given.has("move-cluster"));
    for name in names.iter().filter(|name| !name.is_empty()) {
        let connected = open(file.as_ref(), Some(name), &identity).await?;
        engine = engine.with(cluster(connected).named(name));
    }
    Ok(Connection { engine, context, server })
}

/// The health rules of the project, the stack and the command line.
fn rules(given: &Given, chosen: &ChosenStack) -> Result<Option<Rules>, Failure> {
    let own =
        [&chosen.folder.project_dir, &chosen.folder.stack_dir].map(|folder| folder.join("health.rules"));
    let mut files: Vec<String> =
        own.iter().filter(|path| path.is_file()).map(|path| path.display().to_string()).collect();
    files.extend(given.all("rules").into_iter().map(str::to_owned));
    let mut all: Option<Rules> = None;
    for file in files {
        let read = Rules::parse(&crate::input::text::read_text(&file)?).map_err(|problem| {
            Failure::usage("the health rules cannot be used").cause(problem).place(file.clone())
        })?;
        all.get_or_insert_with(Rules::default).extend(read);
    }
    Ok(all)
}

fn profile(given: &Given, context: &str) -> Result<Profile, Failure> {
    match given.last("profile") {
        Some(name) => Profile::named(&name).ok_or_else(|| {
            Failure::usage(format!("there is no health profile `{name}`")).next("use default or sandbox")
        }),
        None if context.contains("sandbox") => Ok(Profile::sandbox()),
        None => Ok(Profile::default()),
    }
}

/// Reads a time: `90`, `90s`, `5m`.
pub(crate) fn seconds(given: &Given, name: &str) -> Result<Option<Duration>, Failure> {
    let Some(text) = given.last(name) else { return Ok(None) };
    let (number, unit) = match text.strip_suffix('m') {
        Some(minutes) => (minutes, 60),
        None => (text.strip_suffix('s').unwrap_or(&text), 1),
    };
    let count: u64 = number.parse().map_err(|_| {
        Failure::usage(format!("--{name} {text} is no time")).next(format!("--{name} 90, 90s or 5m"))
    })?;
    Ok(Some(Duration::from_secs(count.saturating_mul(unit))))
}

async fn open(
    file: Option<&PathBuf>,
    context: Option<&str>,
    identity: &Identity,
) -> Result<Connected, Failure> {
    let file = file.map(PathBuf::as_path);
    connect_as(file, context, identity).await.map_err(|error| unknown_cluster(&error))
}

/// A cluster that cannot be named.
pub(crate) fn unknown_cluster(error: &ConnectError) -> Failure {
    let failure = Failure::usage("there is no cluster to work with").cause(error.to_string());
    match error {
        ConnectError::Kubeconfig(_) => failure
            .next("name one: --kubeconfig FILE, or set KUBECONFIG; `kusion sandbox start` makes one to try"),
        ConnectError::UnknownContext { .. } | ConnectError::NoContext { .. } => {
            failure.next("choose one of them: --context NAME")
        }
        ConnectError::Client { .. } => failure,
    }
}
