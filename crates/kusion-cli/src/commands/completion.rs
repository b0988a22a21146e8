//! `kusion completion bash|zsh|fish`: a script that asks this program what could come next, so that it knows stacks and
//! releases, not only words of the language.

use kcl::Disk;
use kube_meaning::id::KubeId;
use kusion_generate::stacks_below;
use kusion_store::{State, wait};

use crate::commands::COMMANDS;
use crate::input::chosen::{here, open_named};
use crate::input::flags::Given;
use crate::views::debug::debug_flag;
use crate::views::failure::Failure;
use crate::views::output::print_data;

const BASH: &str = r#"_kusion() {
    local IFS=$'\n'
    COMPREPLY=($(kusion __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _kusion kusion
"#;

const ZSH: &str = r#"#compdef kusion
_kusion() {
    local -a found
    found=("${(@f)$(kusion __complete "${words[@]:1:$((CURRENT-1))}" 2>/dev/null)}")
    compadd -a found
}
compdef _kusion kusion
"#;

const FISH: &str = r#"complete -c kusion -f -a '(kusion __complete (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
"#;

pub(crate) fn main(given: &Given) -> Result<(), Failure> {
    match given.rest.first().map(String::as_str) {
        Some("bash") => print_data(BASH),
        Some("zsh") => print_data(ZSH),
        Some("fish") => print_data(FISH),
        _ => Err(Failure::usage("which shell?").next("kusion completion bash, zsh or fish")),
    }
}

/// Prints what could stand in the place of the last word.
pub(crate) fn complete(words: &[String]) -> Result<(), Failure> {
    let (last, before) = words.split_last().map_or(("", words), |(last, before)| (last.as_str(), before));
    let found = candidates(last, before);
    found.iter().filter(|word| word.starts_with(last)).try_for_each(|word| print_data(&format!("{word}\n")))
}

fn candidates(last: &str, before: &[String]) -> Vec<String> {
    let Some(name) = before.first() else {
        return COMMANDS.iter().map(|command| command.name.to_owned()).collect();
    };
    let Some(command) = COMMANDS.iter().find(|command| command.name == name || command.alias == name) else {
        return Vec::new();
    };
    if last.starts_with('-') {
        let flags = command.flags.iter().flat_map(|rows| rows()).chain([debug_flag()]);
        return flags.filter_map(|flag| Some(format!("--{}", flag.get_long()?))).collect();
    }
    let previous = before.last().map(String::as_str).unwrap_or_default();
    match (command.name, previous) {
        ("graph", "-o" | "--output") => return words(&["text", "dot", "svg", "json"]),
        (_, "-o" | "--output") => return words(&["text", "json"]),
        (_, "--on-failure") => return words(&["stop", "continue", "rollback"]),
        (_, "--profile") => return words(&["default", "sandbox"]),
        (_, "--detail") => return words(&["all"]),
        (_, "--context") | ("context", "use") => return contexts(),
        ("rollback", "--to") | ("release", "--revision") => return releases(before),
        ("release", "release") => {
            return words(&["list", "show", "diff", "verify", "export", "key", "unlock"]);
        }
        ("secret", "secret") => return words(&["ls", "check", "show", "rotate"]),
        ("release", _) => {
            let mut all = stacks();
            all.extend(releases(before));
            return all;
        }
        ("state", "state") => return words(&["repair", "rotate", "unlock"]),
        ("config", "config") => return words(&["list", "get", "set", "unset", "explain"]),
        ("context", "context") => return words(&["list", "show", "use"]),
        ("sandbox", "sandbox") => return words(&["start", "stop", "reset", "status"]),
        ("completion", _) => return words(&["bash", "zsh", "fish"]),
        _ => {}
    }
    let named = before[1..].iter().any(|word| stacks().contains(word));
    match command.words {
        words if words.starts_with("[STACK]") && words.contains("RESOURCE") && named => resources(before),
        words if words.starts_with("[STACK]") => stacks(),
        _ => Vec::new(),
    }
}

fn contexts() -> Vec<String> {
    let known = kusion_runtime_k8s::contexts(None).unwrap_or_default();
    known.into_iter().map(|context| context.name).collect()
}

/// What the stack has made, as `Kind/name`.
fn resources(before: &[String]) -> Vec<String> {
    let Some(state) = state_of(before) else { return Vec::new() };
    let short = |key: &kusion_model::ResourceKey| {
        let id = KubeId::from_parts(key.id.parts()).ok()?;
        Some(format!("{}/{}", id.kind, id.name))
    };
    state.records.keys().filter_map(short).collect()
}

fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|&word| word.to_owned()).collect()
}

fn stacks() -> Vec<String> {
    let Ok(here) = here() else { return Vec::new() };
    let (found, _) = stacks_below(&Disk, &here);
    let one_project = found.windows(2).all(|pair| pair[0].project.name == pair[1].project.name);
    let name = |stack: &kusion_generate::StackFolder| match one_project {
        true => stack.stack.name.clone(),
        false => format!("{}/{}", stack.project.name, stack.stack.name),
    };
    found.iter().map(name).collect()
}

fn releases(before: &[String]) -> Vec<String> {
    let state = state_of(before);
    state.map(|state| state.releases.keys().map(ToString::to_string).collect()).unwrap_or_default()
}

/// The state of the stack that the words name.
fn state_of(before: &[String]) -> Option<State> {
    let known = stacks();
    let stack = before.iter().find(|word| known.contains(word)).map(String::as_str);
    wait(open_named(&Given::default(), stack).ok()?.target.store.read()).ok()
}
