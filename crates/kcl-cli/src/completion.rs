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
            println!(
                "_kcl() {{\n  local cur=\"${{COMP_WORDS[COMP_CWORD]}}\" flags=\"\"\n  case \"${{COMP_WORDS[1]}}\" in\n{cases}  esac\n  \
                 if [ \"$COMP_CWORD\" = 1 ]; then COMPREPLY=($(compgen -W \"{commands}\" -f -- \"$cur\"))\n  elif [[ \"$cur\" == -* ]]; \
                 then COMPREPLY=($(compgen -W \"$flags\" -- \"$cur\"))\n  else COMPREPLY=($(compgen -f -- \"$cur\")); \
                 fi\n}}\ncomplete -o filenames -F _kcl kcl"
            );
        }
        Some("zsh") => {
            let cases = cases(|command, flags| format!("    {command}) compadd -- {flags};;\n"));
            println!(
                "#compdef kcl\n_kcl() {{\n  if (( CURRENT == 2 )); then compadd {commands}; _files\n  elif [[ $PREFIX == -* ]]; then\n    \
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
        }
        _ => {
            eprintln!("error: name a shell: kcl completion bash|zsh|fish");
            return ExitCode::from(EXIT_WRONG);
        }
    }
    ExitCode::SUCCESS
}
