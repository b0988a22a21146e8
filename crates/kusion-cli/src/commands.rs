//! The table of commands, and finding one by its name.

use crate::cluster::CLUSTER;
use crate::failure::Failure;
use crate::flags::{self, Flag, Given};
use crate::output::print;
use crate::place::STACK;
use crate::planned::SPEC;
use crate::{apply, generate, health, preview, quickstart, sandbox};

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

pub(crate) const COMMANDS: &[Command] = &[
    Command {
        name: "generate",
        alias: "compile",
        words: "[STACK]",
        help: "print the resources that a stack's configuration means",
        examples: &[
            "kusion generate dev",
            "kusion generate guestbook/prod -o json",
            "kusion generate dev -D replicas=3",
        ],
        flags: &[generate::FLAGS, STACK],
        run: generate::main,
    },
    Command {
        name: "preview",
        alias: "plan",
        words: "[STACK]",
        help: "show what an apply would change, field by field",
        examples: &[
            "kusion preview dev",
            "kusion preview dev --plan dev.plan",
            "kusion preview dev -o json --exit-code",
        ],
        flags: &[preview::FLAGS, SPEC, STACK, CLUSTER],
        run: preview::main,
    },
    Command {
        name: "apply",
        alias: "up",
        words: "[STACK]",
        help: "change the cluster, wait until everything is healthy, record a release",
        examples: &[
            "kusion apply dev",
            "kusion apply dev -y --context my-cluster",
            "kusion apply dev --plan dev.plan",
        ],
        flags: &[apply::FLAGS, apply::PLAN, SPEC, STACK, CLUSTER],
        run: apply::apply,
    },
    Command {
        name: "destroy",
        alias: "down",
        words: "[STACK]",
        help: "delete everything that the stack has made",
        examples: &["kusion destroy dev", "kusion destroy dev -y"],
        flags: &[apply::FLAGS, STACK, CLUSTER],
        run: apply::destroy,
    },
    Command {
        name: "rollback",
        alias: "",
        words: "[STACK]",
        help: "go back to an earlier release",
        examples: &["kusion rollback dev", "kusion rollback dev --to 3"],
        flags: &[apply::FLAGS, apply::TO, STACK, CLUSTER],
        run: apply::rollback,
    },
    Command {
        name: "health",
        alias: "",
        words: "",
        help: "judge objects of a file: healthy or not, and why",
        examples: &["kusion health -f objects.yaml", "kubectl get all -o yaml | kusion health -f - -o json"],
        flags: &[health::FLAGS],
        run: health::main,
    },
    Command {
        name: "quickstart",
        alias: "",
        words: "[FOLDER]",
        help: "an application from its first line to healthy, broken and rolled back, on a sandbox",
        examples: &["kusion quickstart", "kusion quickstart try-it"],
        flags: &[quickstart::FLAGS],
        run: quickstart::main,
    },
    Command {
        name: "sandbox",
        alias: "",
        words: "start|stop|reset|status",
        help: "a Kubernetes-compatible API on this machine, for trying and for tests",
        examples: &["kusion sandbox start", "kusion sandbox status -o json", "kusion sandbox stop"],
        flags: &[sandbox::FLAGS],
        run: sandbox::main,
    },
    Command {
        name: "version",
        alias: "",
        words: "",
        help: "print the version",
        examples: &["kusion version"],
        flags: &[],
        run: version,
    },
];

/// Runs the words of a command line.
pub(crate) fn run(words: &[String]) -> Result<(), Failure> {
    let Some(first) = words.first() else {
        print(&help())?;
        return Err(Failure::told(crate::failure::exit::USAGE));
    };
    match first.as_str() {
        "-h" | "--help" | "help" => match words.get(1).and_then(|name| find(name)) {
            Some(command) => print(&help_of(command)),
            None => print(&help()),
        },
        "-V" | "--version" => version(&Given::default()),
        name => {
            let command = find(name).ok_or_else(|| unknown(name))?;
            if words[1..].iter().take_while(|word| *word != "--").any(|word| word == "-h" || word == "--help")
            {
                return print(&help_of(command));
            }
            let table: Vec<Flag> = command.flags.iter().flat_map(|rows| rows.iter().copied()).collect();
            let given = flags::read(&table, &words[1..]).map_err(|mut failure| {
                failure.place.get_or_insert_with(|| format!("kusion {}", command.name));
                failure
            })?;
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
    match flags::nearest(COMMANDS.iter().map(|command| command.name), name) {
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
        out.push_str(&format!("  {:<11} {}\n", command.name, command.help));
    }
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
    out
}

fn version(_: &Given) -> Result<(), Failure> {
    print(&format!("kusion {}\n", env!("CARGO_PKG_VERSION")))
}
