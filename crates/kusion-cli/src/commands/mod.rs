//! The table of commands, and finding one by its name.

mod apply;
mod completion;
mod config;
mod context;
mod deps;
mod diff;
mod drift;
mod generate;
mod graph;
mod health;
mod init;
mod logs;
mod ls;
mod man;
mod port_forward;
mod preview;
mod quickstart;
mod release;
mod sandbox;
mod secret;
mod state;
mod status;
mod why;

use crate::input::cluster::CLUSTER;
use crate::input::flags::{self, Flag, Given};
use crate::input::place::STACK;
use crate::input::planned::{CONFLICT, IMPORTED, MOVE, OWNERS, SPEC};
use crate::views::failure::{Exit, Failure};
use crate::views::output::{Format, format_of, print, print_json};

/// One command.
pub(crate) struct Command {
    pub(crate) name: &'static str,
    pub(crate) alias: &'static str,
    /// What its words are called in help.
    pub(crate) words: &'static str,
    pub(crate) help: &'static str,
    pub(crate) examples: &'static [&'static str],
    pub(crate) flags: &'static [&'static [Flag]],
    pub(crate) run: fn(&Given) -> Result<(), Failure>,
}

/// Builds a row.
const fn command(
    name: &'static str,
    words: &'static str,
    help: &'static str,
    examples: &'static [&'static str],
    flags: &'static [&'static [Flag]],
    run: fn(&Given) -> Result<(), Failure>,
) -> Command {
    Command { name, alias: "", words, help, examples, flags, run }
}

impl Command {
    /// Adds a second name.
    const fn also(mut self, alias: &'static str) -> Self {
        self.alias = alias;
        self
    }
}

pub(crate) const COMMANDS: &[Command] = &[
    command(
        "quickstart",
        "[FOLDER]",
        "an application from the first line of configuration to healthy, in a minute",
        &["kusion quickstart", "kusion quickstart try-it", "cd quickstart && kusion preview dev"],
        &[quickstart::FLAGS],
        quickstart::main,
    ),
    command(
        "init",
        "[FOLDER]",
        "make a project from a template",
        &["kusion init shop", "kusion init shop --template job", "kusion init templates"],
        &[init::FLAGS],
        init::main,
    ),
    command(
        "generate",
        "[STACK]",
        "print the resources that a stack's configuration means",
        &[
            "kusion generate dev",
            "kusion generate guestbook/prod -o json",
            "kusion generate dev -D replicas=3",
        ],
        &[generate::FLAGS, STACK],
        generate::main,
    )
    .also("compile"),
    command(
        "preview",
        "[STACK]",
        "show what an apply would change, field by field",
        &[
            "kusion preview dev",
            "kusion preview dev --plan dev.plan",
            "kusion preview dev -o json --exit-code",
        ],
        &[preview::FLAGS, CONFLICT, OWNERS, SPEC, MOVE, STACK, CLUSTER],
        preview::main,
    )
    .also("plan"),
    command(
        "apply",
        "[STACK]",
        "change the cluster, wait until everything is healthy, record a release",
        &["kusion apply dev", "kusion apply dev -y --context my-cluster", "kusion apply dev --plan dev.plan"],
        &[apply::FLAGS, apply::PLAN, CONFLICT, OWNERS, SPEC, MOVE, STACK, CLUSTER],
        apply::apply,
    )
    .also("up"),
    command(
        "destroy",
        "[STACK]",
        "delete everything that the stack has made",
        &["kusion destroy dev", "kusion destroy dev -y", "kusion destroy shop/dev --context my-cluster"],
        &[apply::FLAGS, IMPORTED, MOVE, STACK, CLUSTER],
        apply::destroy,
    )
    .also("down"),
    command(
        "rollback",
        "[STACK]",
        "go back to an earlier release",
        &["kusion rollback dev", "kusion rollback dev --to 3", "kusion rollback dev --to 3 -y"],
        &[apply::FLAGS, apply::TO, CONFLICT, OWNERS, STACK, CLUSTER],
        apply::rollback,
    ),
    command(
        "release",
        "list|show|diff|unlock [STACK] [N] [N]",
        "what happened to a stack, by whom, with what result",
        &["kusion release list dev", "kusion release show dev 3", "kusion release diff dev 3 5"],
        &[release::FLAGS, STACK],
        release::main,
    ),
    command(
        "secret",
        "ls|check|show [STACK] [ref://NAME/PROPERTY]",
        "which secrets of stores a stack uses, and whether they are to be had",
        &["kusion secret ls dev", "kusion secret check dev", "kusion secret show dev ref://db/password"],
        &[secret::FLAGS, SPEC, STACK, CLUSTER],
        secret::main,
    ),
    command(
        "state",
        "repair|rotate|unlock [STACK]",
        "save what can be saved of a damaged state, change its key, or open a lock that nobody will give back",
        &[
            "kusion state repair dev",
            "kusion state repair dev -o json -y",
            "kusion state rotate dev --new-key passphrase",
            "kusion state unlock dev",
        ],
        &[state::FLAGS, SPEC, STACK, CLUSTER],
        state::main,
    ),
    command(
        "status",
        "[STACK]",
        "the health of everything a stack has made, right now",
        &["kusion status dev", "kusion status dev --watch", "kusion status dev -o json --exit-code"],
        &[status::FLAGS, STACK, CLUSTER],
        status::main,
    ),
    command(
        "drift",
        "[STACK]",
        "what others have changed since the last release; leaves with 2 if something has",
        &["kusion drift dev", "kusion drift dev -o json", "kusion drift shop/prod --context my-cluster"],
        &[drift::FLAGS, STACK, CLUSTER],
        drift::main,
    ),
    command(
        "diff",
        "[STACK] | FILE FILE",
        "the configuration beside the last release, or two files; no cluster is asked",
        &["kusion diff dev", "kusion diff old.yaml new.yaml", "kusion diff dev -o json --exit-code"],
        &[diff::FLAGS, STACK],
        diff::main,
    ),
    command(
        "why",
        "[STACK] RESOURCE FIELD",
        "which lines made a field what it is",
        &[
            "kusion why dev Deployment/web spec.replicas",
            "kusion why dev v1:Namespace:shop-dev metadata.name",
            "kusion why dev Deployment/web 'spec.template.spec.containers[main].image' -o json",
        ],
        &[why::FLAGS, STACK],
        why::main,
    ),
    command(
        "ls",
        "[FOLDER|STACK]",
        "the stacks of a folder, or what a stack has made",
        &["kusion ls", "kusion ls dev", "kusion ls -o json"],
        &[ls::FLAGS, STACK],
        ls::main,
    ),
    command(
        "graph",
        "[STACK]",
        "what comes before what, and why",
        &["kusion graph dev", "kusion graph dev -o dot", "kusion graph dev -o svg > dev.svg"],
        &[graph::FLAGS, STACK],
        graph::main,
    ),
    command(
        "deps",
        "[FOLDER]",
        "which stacks a file is part of, and which files a stack is made of",
        &[
            "kusion deps --focus base/base.k",
            "kusion deps --direct up --focus dev/main.k",
            "kusion deps --focus base/base.k -o json",
        ],
        &[deps::FLAGS],
        deps::main,
    ),
    command(
        "logs",
        "[STACK] [RESOURCE]",
        "the ends of the logs of a stack's pods",
        &["kusion logs dev", "kusion logs dev Deployment/web --tail 100", "kusion logs dev web --previous"],
        &[logs::FLAGS, STACK, CLUSTER],
        logs::main,
    ),
    command(
        "port-forward",
        "[STACK] RESOURCE [LOCAL:]PORT...",
        "a port of this machine that leads to a pod of the stack",
        &[
            "kusion port-forward dev Service/web 8080:80",
            "kusion port-forward dev Deployment/web 8080",
            "kusion port-forward dev web",
        ],
        &[port_forward::FLAGS, STACK, CLUSTER],
        port_forward::main,
    ),
    command(
        "health",
        "",
        "judge objects of a file: healthy or not, and why",
        &[
            "kusion health -f objects.yaml",
            "kusion health -f - -o json < objects.yaml",
            "kusion health -f objects.yaml --rules health.rules --exit-code",
        ],
        &[health::FLAGS],
        health::main,
    ),
    command(
        "sandbox",
        "start|stop|reset|status",
        "a Kubernetes-compatible API on this machine, for trying and for tests",
        &["kusion sandbox start", "kusion sandbox status -o json", "kusion sandbox stop"],
        &[sandbox::FLAGS],
        sandbox::main,
    ),
    command(
        "context",
        "list|show|use [NAME]",
        "the clusters that the kubeconfig knows",
        &["kusion context", "kusion context show", "kusion context use kind-dev"],
        &[context::FLAGS],
        context::main,
    ),
    command(
        "config",
        "list|get|set|unset|explain [KEY] [VALUE]",
        "defaults of flags, and where each value comes from",
        &["kusion config explain", "kusion config set context kind-dev", "kusion config unset context"],
        &[config::FLAGS],
        config::main,
    ),
    command(
        "completion",
        "bash|zsh|fish",
        "a script that completes commands, stacks and releases",
        &[
            "source <(kusion completion bash)",
            "kusion completion zsh > _kusion",
            "kusion completion fish | source",
        ],
        &[],
        completion::main,
    ),
    command(
        "man",
        "",
        "print the manual page",
        &["kusion man | man -l -", "kusion man > kusion.1", "kusion apply --help"],
        &[],
        man::main,
    ),
    command(
        "version",
        "",
        "print the version",
        &["kusion version", "kusion version -o json", "kusion --version"],
        &[VERSION],
        version,
    ),
];

const VERSION: &[Flag] = &[flags::flag("output", Some('o'), "FORMAT", "text or json")];

/// Runs the words of a command line.
pub(crate) fn run(words: &[String]) -> Result<(), Failure> {
    let Some(first) = words.first() else {
        print(&help())?;
        return Err(Failure::told(Exit::Usage));
    };
    match first.as_str() {
        "-h" | "--help" | "help" => match words.get(1).and_then(|name| find(name)) {
            Some(command) => print(&help_of(command)),
            None => print(&help()),
        },
        "__complete" => completion::complete(&words[1..]),
        "-V" | "--version" => version(&Given::default()),
        name => {
            let command = find(name).ok_or_else(|| unknown(name))?;
            if words[1..].iter().take_while(|word| *word != "--").any(|word| word == "-h" || word == "--help")
            {
                return print(&help_of(command));
            }
            let table: Vec<Flag> = command.flags.iter().flat_map(|rows| rows.iter().copied()).collect();
            let mut given = flags::read(&table, &words[1..]).map_err(|mut failure| {
                failure.place.get_or_insert_with(|| format!("kusion {}", command.name));
                failure
            })?;
            given.file = config::load()?;
            given.command = command.name;
            (command.run)(&given)
        }
    }
}

fn find(name: &str) -> Option<&'static Command> {
    COMMANDS
        .iter()
        .find(|command| command.name == name || (!command.alias.is_empty() && command.alias == name))
}

fn unknown(name: &str) -> Failure {
    let failure = Failure::usage(format!("there is no command `{name}`"));
    match base_diag::nearest(COMMANDS.iter().map(|command| command.name), name) {
        Some(near) => failure.next(format!("did you mean `kusion {near}`?")),
        None => failure.next("`kusion --help` lists the commands"),
    }
}

fn help() -> String {
    let mut out = String::from(
        "kusion: from a stack of configuration to healthy resources\n\nExamples:\n  kusion preview dev\n  kusion apply dev\n  \
         kusion health -f objects.yaml\n\nCommands:\n",
    );
    for command in COMMANDS {
        out.push_str(&format!("  {:<12} {}\n", command.name, command.help));
    }
    out.push_str("\nExit codes:\n");
    Exit::ALL.iter().for_each(|exit| out.push_str(&format!("  {:<12} {}\n", exit.code(), exit.meaning())));
    out.push_str("\n`kusion COMMAND --help` says more.\n");
    out
}

fn help_of(command: &Command) -> String {
    let mut out = String::from("Examples:\n");
    for example in command.examples {
        out.push_str(&format!("  {example}\n"));
    }
    out.push_str(&format!("\nkusion {} {}\n  {}\n", command.name, command.words, command.help));
    if !command.alias.is_empty() {
        out.push_str(&format!("  (also `kusion {}`)\n", command.alias));
    }
    if command.flags.iter().any(|rows| !rows.is_empty()) {
        out.push_str("\nFlags (each also as a variable, e.g. --exit-code as KUSION_EXIT_CODE):\n");
        command.flags.iter().for_each(|rows| out.push_str(&flags::help(rows)));
    }
    let codes: Vec<String> =
        Exit::ALL.iter().map(|exit| format!("{} {}", exit.code(), exit.meaning())).collect();
    out.push_str(&format!("\nExit codes: {}.\n", codes.join("; ")));
    out
}

fn version(given: &Given) -> Result<(), Failure> {
    if format_of(given)? == Format::Json {
        return print_json(&serde_json::json!({
            "schema": "kusion.io/version/v1", "version": env!("CARGO_PKG_VERSION"), "kubernetes": "1.36",
            "plan": kusion_model::PLAN_SCHEMA,
        }));
    }
    print(&format!("kusion {}\n", env!("CARGO_PKG_VERSION")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_help_starts_with_three_examples() {
        for command in COMMANDS {
            assert!(command.examples.len() >= 3, "{}", command.name);
            assert!(help_of(command).starts_with("Examples:\n"), "{}", command.name);
        }
    }
}
