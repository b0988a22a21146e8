//! `kcl completion SHELL`: from the same tables that read the flags.

use std::process::ExitCode;

use crate::{COMMANDS, EXIT_WRONG, run};

pub(crate) fn main(words: &[String]) -> ExitCode {
    let flags: Vec<String> = run::FLAGS.iter().map(|f| format!("--{}", f.long)).collect();
    let commands: Vec<&str> = COMMANDS.iter().map(|c| c.0).collect();
    let (commands, flags) = (commands.join(" "), flags.join(" "));
    match words.first().map(String::as_str) {
        Some("bash") => println!(
            "_kcl() {{\n  local cur=\"${{COMP_WORDS[COMP_CWORD]}}\"\n  if [ \"$COMP_CWORD\" = 1 ]; then COMPREPLY=($(compgen -W \
             \"{commands}\" -f -- \"$cur\"))\n  elif [[ \"$cur\" == -* ]]; then COMPREPLY=($(compgen -W \"{flags}\" -- \
             \"$cur\"))\n  else COMPREPLY=($(compgen -f -- \"$cur\")); fi\n}}\ncomplete -o filenames -F _kcl kcl"
        ),
        Some("zsh") => println!(
            "#compdef kcl\n_kcl() {{\n  if (( CURRENT == 2 )); then compadd {commands}; _files\n  elif [[ $PREFIX == -* ]]; then compadd -- \
             {flags}\n  else _files; fi\n}}\n_kcl \"$@\""
        ),
        Some("fish") => {
            println!("complete -c kcl -n __fish_use_subcommand -a \"{commands}\"");
            for flag in run::FLAGS {
                println!(
                    "complete -c kcl -n \"__fish_seen_subcommand_from run\" -l {} -d \"{}\"",
                    flag.long, flag.help
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
