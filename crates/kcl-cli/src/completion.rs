//! `kcl completion SHELL`: from the same tables that read the flags.

use std::process::ExitCode;

use crate::flags::Flag;
use crate::{COMMANDS, EXIT_WRONG, doc, edit, fmt, import, krm, lint, list, packages, run, test, vet};

/// Commands that have flags.
pub(crate) const FLAGS: &[(&str, &[Flag])] = &[
    ("run", run::FLAGS),
    ("fmt", fmt::FLAGS),
    ("lint", lint::FLAGS),
    ("doc", doc::FLAGS),
    ("test", test::FLAGS),
    ("edit", edit::FLAGS),
    ("vet", vet::FLAGS),
    ("mod", packages::FLAGS),
    ("registry", packages::REGISTRY_FLAGS),
    ("clean", packages::CLEAN_FLAGS),
    ("import", import::FLAGS),
    ("list", list::FLAGS),
    ("krm", krm::FLAGS),
];

fn words(flags: &[Flag]) -> String {
    flags.iter().map(|f| format!("--{}", f.long)).collect::<Vec<_>>().join(" ")
}

/// Whether a flag takes one of the words that its table names; a place to be filled in is written in capitals.
fn is_choice(value: &str) -> bool {
    value.contains('|') && !value.contains(|c: char| c.is_ascii_uppercase())
}

/// The words that may follow something: flags whose value is one of some words, and commands that take names we know.
fn values() -> Vec<(&'static str, String, String)> {
    let mut all = Vec::new();
    for (command, flags) in FLAGS {
        for flag in flags.iter().filter(|flag| is_choice(flag.value)) {
            all.push((*command, format!("--{}", flag.long), flag.value.replace('|', " ")));
        }
    }
    let rules = kcl_lint::RULES.iter().flat_map(|rule| [rule.id, rule.code]).collect::<Vec<_>>();
    all.push(("explain", "explain".into(), rules.join(" ")));
    all.push(("completion", "completion".into(), "bash zsh fish".into()));
    all
}

/// `pattern` of each command that has flags, joined.
fn cases(pattern: impl Fn(&str, &str) -> String) -> String {
    FLAGS.iter().map(|(command, flags)| pattern(command, &words(flags))).collect()
}

pub(crate) fn main(shell: &[String]) -> ExitCode {
    let commands: Vec<&str> = COMMANDS.iter().map(|c| c.0).collect();
    let commands = commands.join(" ");
    match shell.first().map(String::as_str) {
        Some("bash") => {
            let cases = cases(|command, flags| format!("    {command}) flags=\"{flags}\";;\n"));
            let values: String = values()
                .into_iter()
                .map(|(command, before, words)| format!("    \"{command} {before}\") values=\"{words}\";;\n"))
                .collect();
            println!(
                "_kcl() {{\n  local cur=\"${{COMP_WORDS[COMP_CWORD]}}\" flags=\"\" values=\"\"\n  case \"${{COMP_WORDS[1]}}\" in\n{cases}  esac\n  \
                 case \"${{COMP_WORDS[1]}} ${{COMP_WORDS[COMP_CWORD-1]}}\" in\n{values}  esac\n  \
                 if [ -n \"$values\" ]; then COMPREPLY=($(compgen -W \"$values\" -- \"$cur\"))\n  \
                 elif [ \"$COMP_CWORD\" = 1 ]; then COMPREPLY=($(compgen -W \"{commands}\" -f -- \"$cur\"))\n  elif [[ \"$cur\" == -* ]]; \
                 then COMPREPLY=($(compgen -W \"$flags\" -- \"$cur\"))\n  else COMPREPLY=($(compgen -f -- \"$cur\")); \
                 fi\n}}\ncomplete -o filenames -F _kcl kcl"
            );
        }
        Some("zsh") => {
            let cases = cases(|command, flags| format!("    {command}) compadd -- {flags};;\n"));
            let values: String = values()
                .into_iter()
                .map(|(command, before, words)| {
                    format!("    \"{command} {before}\") compadd -- {words}; return;;\n")
                })
                .collect();
            println!(
                "#compdef kcl\n_kcl() {{\n  case \"$words[2] $words[CURRENT-1]\" in\n{values}  esac\n  if (( CURRENT == 2 )); then compadd {commands}; _files\n  elif [[ $PREFIX == -* ]]; then\n    \
                 case $words[2] in\n{cases}    esac\n  else _files; fi\n}}\n_kcl \"$@\""
            );
        }
        Some("fish") => {
            println!("complete -c kcl -n __fish_use_subcommand -a \"{commands}\"");
            for (command, flags) in FLAGS {
                for flag in *flags {
                    println!(
                        "complete -c kcl -n \"__fish_seen_subcommand_from {command}\" -l {} -d \"{}\"",
                        flag.long, flag.help
                    );
                }
            }
            for (command, before, words) in values() {
                let flag = before.strip_prefix("--").map_or(String::new(), |long| format!("-l {long} "));
                println!(
                    "complete -c kcl -n \"__fish_seen_subcommand_from {command}\" {flag}-x -a \"{words}\""
                );
            }
        }
        _ => {
            eprintln!("error: name a shell: kcl completion bash|zsh|fish");
            return ExitCode::from(EXIT_WRONG);
        }
    }
    ExitCode::SUCCESS
}
