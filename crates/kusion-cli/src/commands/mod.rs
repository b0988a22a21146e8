//! The table of commands, and finding one by its name.

mod advice;
mod apply;
mod completion;
mod config;
mod context;
mod deps;
mod diff;
mod docs;
mod drift;
mod export;
mod generate;
mod graph;
mod health;
mod help;
mod import;
mod import_cluster;
mod init;
mod logs;
mod ls;
mod man;
mod output;
mod port_forward;
mod preview;
mod provider;
mod provider_call;
mod provider_schema;
mod quickstart;
mod release;
mod release_proof;
mod sandbox;
mod secret;
mod state;
mod status;
mod why;

use std::time::Instant;

use crate::input::chosen::stack;
use crate::input::cluster::clusters;
use crate::input::flags::{self, Arg, Given, Read};
use crate::input::planned::{conflict, imported, moving, owners, spec_file};
use crate::input::providers;
use crate::views::debug::{self, debug_flag};
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
    pub(crate) flags: &'static [fn() -> Vec<Arg>],
    pub(crate) run: fn(&Given) -> Result<(), Failure>,
}

/// Builds a row.
const fn command(
    name: &'static str,
    words: &'static str,
    help: &'static str,
    examples: &'static [&'static str],
    flags: &'static [fn() -> Vec<Arg>],
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
        &[quickstart::flags],
        quickstart::main,
    ),
    command(
        "init",
        "[FOLDER]",
        "make a project from a template",
        &["kusion init shop", "kusion init shop --template job", "kusion init templates"],
        &[init::flags],
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
        &[generate::flags, stack],
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
        &[preview::flags, conflict, owners, imported, spec_file, moving, stack, clusters],
        preview::main,
    )
    .also("plan"),
    command(
        "apply",
        "[STACK]",
        "change the cluster, wait until everything is healthy, record a release",
        &["kusion apply dev", "kusion apply dev -y --context my-cluster", "kusion apply dev --plan dev.plan"],
        &[apply::flags, apply::plan, conflict, owners, imported, spec_file, moving, stack, clusters],
        apply::apply,
    )
    .also("up"),
    command(
        "destroy",
        "[STACK]",
        "delete everything that the stack has made",
        &["kusion destroy dev", "kusion destroy dev -y", "kusion destroy shop/dev --context my-cluster"],
        &[apply::flags, imported, moving, stack, clusters],
        apply::destroy,
    )
    .also("down"),
    command(
        "rollback",
        "[STACK]",
        "go back to an earlier release",
        &["kusion rollback dev", "kusion rollback dev --to 3", "kusion rollback dev --to 3 -y"],
        &[apply::flags, apply::to, conflict, owners, imported, stack, clusters],
        apply::rollback,
    ),
    command(
        "release",
        "list|show|diff|verify|export|key|unlock [STACK] [N] [N] [FILE]",
        "what happened to a stack, by whom, with what result; signed for others",
        &[
            "kusion release list dev",
            "kusion release show dev 3",
            "kusion release diff dev 3 5",
            "kusion release export dev 3 --to audit",
            "kusion release verify audit/shop-dev-release-3.json --public-key shop.pem",
        ],
        &[release::flags, stack],
        release::main,
    ),
    command(
        "output",
        "[STACK]",
        "what a stack gives to others, since when, and who uses it",
        &["kusion output dev", "kusion output shop/dev -o json", "kusion output"],
        &[output::flags, stack],
        output::main,
    ),
    command(
        "secret",
        "ls|check|show|rotate [STACK] [ref://NAME/PROPERTY]",
        "which secrets of stores a stack uses, and whether they are to be had; a new value for one",
        &[
            "kusion secret ls dev",
            "kusion secret check dev",
            "kusion secret show dev ref://db/password",
            "kusion secret rotate dev ref://db/password",
        ],
        &[secret::flags, spec_file, stack, clusters],
        secret::main,
    ),
    command(
        "provider",
        "install|list|lock|mirror|schema|call [FOLDER|NAME] [STACK|FUNCTION…]",
        "the Terraform providers of a stack: bring them to this machine, verified and pinned",
        &[
            "kusion provider install dev",
            "kusion provider lock dev --platform linux_amd64 --platform darwin_arm64",
            "kusion provider mirror /srv/providers dev",
            "kusion provider schema hashicorp/random@3.9.0 --kcl > random.k",
            "kusion provider call hashicorp/time@0.14.0 rfc3339_parse 2023-07-25T23:43:16Z",
        ],
        &[provider::flags, providers::flags, spec_file, stack],
        provider::main,
    ),
    command(
        "import",
        "[STACK] RESOURCE [ID] | [STACK] --from-tfstate FILE",
        "take over what exists, without touching it, and write the KCL that asks for it",
        &[
            "kusion import dev --from-tfstate terraform.tfstate",
            "kusion import dev hashicorp:random:random_pet:p upbeat-bear",
            "kusion import dev apps/v1:Deployment:shop:web --write web.k",
        ],
        &[import::flags, stack, clusters],
        import::main,
    ),
    command(
        "export",
        "[STACK] --tfstate FILE",
        "what a stack has made with providers, as a state of Terraform and OpenTofu",
        &[
            "kusion export dev --tfstate terraform.tfstate",
            "kusion export dev --tfstate terraform.tfstate --with-secrets",
            "kusion export dev --tfstate -",
        ],
        &[export::flags, stack, clusters],
        export::main,
    ),
    command(
        "state",
        "list|show|pull|push|mv|rm|import|migrate|repair|rotate|unlock [STACK] [ID|FILE]",
        "what is recorded of a stack: look at it, change it by hand, bring it to another backend, repair it",
        &[
            "kusion state list dev",
            "kusion state show dev v1:ConfigMap:shop:settings",
            "kusion state pull dev > dev.json && kusion state push dev dev.json",
            "kusion state rm dev v1:ConfigMap:shop:settings",
            "kusion state import dev kusion_state.yaml",
            "kusion state migrate dev --to s3://acme-state/kusion --new-key passphrase",
            "kusion state repair dev -o json -y",
            "kusion state rotate dev --new-key passphrase",
            "kusion state unlock dev",
        ],
        &[state::flags, spec_file, stack, clusters],
        state::main,
    ),
    command(
        "status",
        "[STACK]",
        "the health of everything a stack has made, right now",
        &["kusion status dev", "kusion status dev --watch", "kusion status dev -o json --exit-code"],
        &[status::flags, stack, clusters],
        status::main,
    ),
    command(
        "drift",
        "[STACK]",
        "what others have changed since the last release; leaves with 2 if something has",
        &["kusion drift dev", "kusion drift dev -o json", "kusion drift shop/prod --context my-cluster"],
        &[drift::flags, stack, clusters],
        drift::main,
    ),
    command(
        "diff",
        "[STACK] | FILE FILE",
        "the configuration beside the last release, or two files; no cluster is asked",
        &["kusion diff dev", "kusion diff old.yaml new.yaml", "kusion diff dev -o json --exit-code"],
        &[diff::flags, stack],
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
        &[why::flags, stack],
        why::main,
    ),
    command(
        "ls",
        "[FOLDER|STACK]",
        "the stacks of a folder, or what a stack has made",
        &["kusion ls", "kusion ls dev", "kusion ls -o json"],
        &[ls::flags, stack],
        ls::main,
    ),
    command(
        "graph",
        "[STACK]",
        "what comes before what, and why",
        &["kusion graph dev", "kusion graph dev -o dot", "kusion graph dev -o svg > dev.svg"],
        &[graph::flags, spec_file, stack],
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
        &[deps::flags],
        deps::main,
    ),
    command(
        "logs",
        "[STACK] [RESOURCE]",
        "the ends of the logs of a stack's pods",
        &["kusion logs dev", "kusion logs dev Deployment/web --tail 100", "kusion logs dev web --previous"],
        &[logs::flags, stack, clusters],
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
        &[port_forward::flags, stack, clusters],
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
        &[health::flags],
        health::main,
    ),
    command(
        "sandbox",
        "start|stop|reset|status",
        "a Kubernetes-compatible API on this machine, for trying and for tests",
        &["kusion sandbox start", "kusion sandbox status -o json", "kusion sandbox stop"],
        &[sandbox::flags],
        sandbox::main,
    ),
    command(
        "context",
        "list|show|use [NAME]",
        "the clusters that the kubeconfig knows",
        &["kusion context", "kusion context show", "kusion context use kind-dev"],
        &[context::flags],
        context::main,
    ),
    command(
        "config",
        "list|get|set|unset|explain [KEY|STACK] [VALUE]",
        "defaults of flags, and where each value comes from",
        &[
            "kusion config explain",
            "kusion config explain dev",
            "kusion config set context kind-dev",
            "kusion config set backend s3://acme-state/kusion",
            "kusion config unset context",
        ],
        &[config::flags, stack],
        config::main,
    ),
    command(
        "docs",
        "[PAGE|WORDS]",
        "the book: in a browser, as a folder, or a page of it here",
        &["kusion docs", "kusion docs rollback", "kusion docs take over", "kusion docs --folder book"],
        &[docs::flags],
        docs::main,
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
        &[version_flags],
        version,
    ),
];

fn version_flags() -> Vec<Arg> {
    vec![flags::flag("output", Some('o'), "FORMAT", "text or json")]
}

/// The whole command line, as clap reads it.
pub(crate) fn cli() -> clap::Command {
    let top = clap::Command::new("kusion")
        .version(env!("CARGO_PKG_VERSION"))
        .about("from a stack of configuration to healthy resources")
        .arg_required_else_help(true)
        .subcommand_required(true)
        .args_override_self(true)
        .help_template(help::help())
        .arg(debug_flag());
    COMMANDS.iter().fold(top, |top, command| top.subcommand(command.to_clap()))
}

/// Runs the words of a command line.
pub(crate) fn run(words: &[String]) -> Result<(), Failure> {
    let start = Instant::now();
    if let Some(("__complete", rest)) = words.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        return completion::complete(rest);
    }
    let mut read = match flags::read(cli(), words)? {
        Read::Given(given) => given,
        Read::Text(text) => return print(&text),
        Read::Nothing(text) => {
            print(&text)?;
            return Err(Failure::told(Exit::Usage));
        }
    };
    let Some(command) = COMMANDS.iter().find(|command| command.name == read.command) else {
        return Err(Failure::new(Exit::Bug, format!("nobody runs `kusion {}`", read.command)));
    };
    read.file = config::load()?;
    debug::listen(&read, start)?;
    (command.run)(&read).map_err(|failure| advice::with_stack(failure, command, &read.rest))
}

impl Command {
    fn to_clap(&self) -> clap::Command {
        let command = clap::Command::new(self.name)
            .about(self.help)
            .disable_version_flag(true)
            .args_override_self(true)
            .help_template(help::help_of(self))
            .args(self.flags.iter().flat_map(|rows| rows()))
            .arg(flags::words());
        if self.alias.is_empty() { command } else { command.visible_alias(self.alias) }
    }
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
mod tests;
