//! The `kcl` command: one file per sub-command. Exit codes: 0 · 1 for anything wrong in the input or the call · 70 for a bug.
//!
//! Arguments are read by a small table-driven reader (`flags.rs`) rather than a general library: start-up is part of the
//! product (at most a millisecond above `/bin/true`), and upstream's greedy options need their own rules anyway.
#![cfg_attr(test, allow(clippy::unwrap_used))]

// First: its macros take the place of those that panic.
#[macro_use]
mod say;

mod completion;
mod doc;
mod edit;
mod explain;
mod files;
mod flags;
mod fmt;
mod import;
mod krm;
mod lint;
mod list;
mod man;
mod packages;
mod parallel;
mod plugin;
mod remote;
mod run;
mod test;
mod vet;
mod watch;
mod wrong;

use std::process::ExitCode;

/// Anything wrong in the input or the call.
pub(crate) const EXIT_WRONG: u8 = 1;
/// A bug of ours.
pub(crate) const EXIT_BUG: u8 = 70;

/// Name, one line of help, entry point.
type Command = (&'static str, &'static str, fn(&[String]) -> ExitCode);

pub(crate) const COMMANDS: &[Command] = &[
    ("run", "evaluate files and print YAML or JSON", run::main),
    ("fmt", "format files in their canonical form", fmt::main),
    ("lint", "find what is probably not meant, and mend it", lint::main),
    ("test", "run the test cases of packages", test::main),
    ("vet", "check data files against schemas", vet::main),
    ("edit", "get, set, append, unset or rename by path, in the source", edit::main),
    ("doc", "write documents of schemas: Markdown, OpenAPI, JSON Schema, a site", doc::main),
    ("mod", "packages: init, add, update, vendor, push, …", packages::main),
    ("registry", "credentials of registries: login, logout", packages::registry),
    ("clean", "remove the packages that were fetched", packages::clean),
    (
        "import",
        "make KCL of JSON Schema, OpenAPI, CRDs, Terraform, protobuf, Go, JSON, YAML, TOML",
        import::main,
    ),
    ("list", "variables, options, schemas, files, dependencies, symbols of a program", list::main),
    ("krm", "run a program over Kubernetes resources: KRM function, Helm post-renderer", krm::main),
    ("server", "answer questions over gRPC, JSON-RPC and REST (the program kcl-server)", server),
    ("explain", "explain an error code, e.g. `kcl explain E2G22`", explain::main),
    ("completion", "print completions for bash, zsh or fish", completion::main),
    ("man", "print the manual page", man::main),
    ("version", "print the version", version),
];

fn main() -> ExitCode {
    keep_large_blocks();
    base_secret::Redactor::install_for_program(|text| say::err(format_args!("{text}")));
    let code = command();
    if say::is_lost() && code == ExitCode::SUCCESS { ExitCode::from(EXIT_WRONG) } else { code }
}

/// Makes the allocator keep large blocks that are free: glibc gives them back to the system at once, and takes the next one from
/// there page by page, until one of this size was given back. (Other allocators do not mind.)
fn keep_large_blocks() {
    /// The largest that glibc would ever keep is 32 MiB.
    const LARGEST: usize = 31 << 20;
    drop(std::hint::black_box(Vec::<u8>::with_capacity(LARGEST)));
}

fn command() -> ExitCode {
    let words: Result<Vec<String>, _> =
        std::env::args_os().skip(1).map(std::ffi::OsString::into_string).collect();
    let words = match words {
        Ok(words) => words,
        Err(word) => {
            eprintln!("error: {} is not UTF-8 text", word.display());
            eprintln!("help: packages are named by the names of their files: give the file another name");
            return ExitCode::from(EXIT_WRONG);
        }
    };
    let Some(first) = words.first() else {
        print!("{}", help());
        return ExitCode::from(EXIT_WRONG);
    };
    match first.as_str() {
        "-h" | "--help" | "help" => {
            print!("{}", help());
            ExitCode::SUCCESS
        }
        "-V" | "--version" => version(&[]),
        name => match COMMANDS.iter().find(|c| c.0 == name) {
            Some((_, _, main)) => main(&words[1..]),
            // `kcl main.k` is `kcl run main.k`.
            None if name.ends_with(".k") || std::path::Path::new(name).is_dir() => run::main(&words),
            None => extension(name, &words[1..]).unwrap_or_else(|| unknown_command(name)),
        },
    }
}

fn help() -> String {
    let mut out = String::from(
        "kcl: the configuration and policy language\n\nExamples:\n  kcl run main.k\n  kcl run base/base.k prod/main.k -D env=prod\n  \
         kcl run . --format json -S app.image\n  kcl fmt ./...\n  kcl edit set dev app.image='\"pay:v42\"'\n\nCommands:\n",
    );
    for (name, text, _) in COMMANDS {
        out.push_str(&format!("  {name:<11} {text}\n"));
    }
    out.push_str(
        "\n`kcl COMMAND --help` says more. A program `kcl-NAME` on the search path is `kcl NAME`.\n",
    );
    out
}

/// The servers are a program of their own, beside this one or on the search path: their HTTP stack would slow every start.
fn server(words: &[String]) -> ExitCode {
    let beside = std::env::current_exe().ok().map(|own| own.with_file_name("kcl-server"));
    if let Some(program) = beside.filter(|program| program.is_file()) {
        return started(std::process::Command::new(program).args(words))
            .unwrap_or(ExitCode::from(EXIT_WRONG));
    }
    extension("server", words).unwrap_or_else(|| {
        eprintln!("error: the program kcl-server is neither beside kcl nor on the search path");
        eprintln!("help: it is built with `cargo build --release -p kcl-server`");
        ExitCode::from(EXIT_WRONG)
    })
}

/// A program `kcl-NAME` on the search path is the command NAME.
fn extension(name: &str, words: &[String]) -> Option<ExitCode> {
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_')) {
        return None;
    }
    started(std::process::Command::new(format!("kcl-{name}")).args(words))
}

/// Becomes a program, so that what is sent to us (a signal, the end of a terminal) reaches it; none if it cannot be started.
#[cfg(unix)]
fn started(command: &mut std::process::Command) -> Option<ExitCode> {
    let _why = std::os::unix::process::CommandExt::exec(command);
    None
}

/// Runs a program to its end; none if it cannot be started.
#[cfg(not(unix))]
fn started(command: &mut std::process::Command) -> Option<ExitCode> {
    let status = command.status().ok()?;
    let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(EXIT_WRONG);
    Some(ExitCode::from(code))
}

fn unknown_command(name: &str) -> ExitCode {
    eprintln!("error: there is no command `{name}`");
    let near = COMMANDS.iter().map(|c| c.0).find(|c| flags::near(c, name));
    match near {
        Some(near) => eprintln!("help: did you mean `kcl {near}`?"),
        None => eprintln!("help: `kcl --help` lists the commands; to run a file: `kcl run FILE`"),
    }
    ExitCode::from(EXIT_WRONG)
}

fn version(_: &[String]) -> ExitCode {
    println!("kcl {} (language 0.12.4)", env!("CARGO_PKG_VERSION"));
    ExitCode::SUCCESS
}
