//! `kcl registry login|logout HOST` and `kcl clean`.

use std::io::{BufRead, IsTerminal};
use std::process::ExitCode;

use kcl_fetch::{Client, Credentials, Registry};

use crate::flags::{Flag, Given, flags, help, opened};
use crate::wrong::Wrong;

pub(crate) const REGISTRY_FLAGS: &[Flag] = flags! {
    "username" Some('u'), "NAME" "who you are";
    "password" Some('p'), "TEXT" "the password; better: --password-stdin, which no list of processes shows";
    "password-stdin" None, "" "read the password from standard input";
    "help" Some('h'), "" "print this";
};

pub(crate) const CLEAN_FLAGS: &[Flag] = flags! {
    "yes" Some('y'), "" "do not ask";
    "help" Some('h'), "" "print this";
};

pub(crate) fn registry(words: &[String]) -> ExitCode {
    told("registry", REGISTRY_FLAGS, words, registry_usage, |given| match given.rest.as_slice() {
        [verb, host] if verb == "login" => login(given, host),
        [verb, host] if verb == "logout" => {
            let there = kcl_fetch::logout(host)?;
            println!("{host}: {}", if there { "forgotten" } else { "nothing was known" });
            Ok(())
        }
        _ => Err(Wrong::from("say `kcl registry login HOST` or `kcl registry logout HOST`".to_owned())),
    })
}

fn registry_usage() -> String {
    format!(
        "Credentials of registries, in the Docker configuration of the user (with its helpers).\n\nExamples:\n  kcl registry login \
         registry.example.org -u me --password-stdin < token\n  kcl registry logout registry.example.org\n\nUsage: kcl registry \
         login|logout HOST [flags]\n\n{}\nThe registry is asked before anything is remembered. Exit codes: 0, 1 refused or wrong \
         input, 70 a bug of ours.\n",
        help(REGISTRY_FLAGS)
    )
}

fn login(given: &Given, host: &str) -> Result<(), Wrong> {
    let user = given.last("username").ok_or_else(|| Wrong::from("say who you are: -u NAME".to_owned()))?;
    let password = match given.last("password") {
        Some(password) => password.to_owned(),
        None if given.has("password-stdin") || !std::io::stdin().is_terminal() => first_line()?,
        None => return Err(Wrong::with_help("there is no password", "`--password-stdin < FILE` reads it")),
    };
    let credentials = Credentials { user: user.to_owned(), password: password.into() };
    Client::with(Registry::new(host), Some(credentials.clone())).check()?;
    let place = kcl_fetch::login(host, &credentials)?;
    println!("{host} knows you; remembered in {place}");
    Ok(())
}

fn first_line() -> Result<String, Wrong> {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).map_err(|e| format!("cannot read standard input: {e}"))?;
    let line = line.trim_end_matches(['\r', '\n']).to_owned();
    if line.is_empty() { Err(Wrong::from("standard input has no password".to_owned())) } else { Ok(line) }
}

pub(crate) fn clean(words: &[String]) -> ExitCode {
    told("clean", CLEAN_FLAGS, words, clean_usage, |given| {
        if let Some(word) = given.rest.first() {
            return Err(Wrong::from(format!("`{word}` is one word too many")));
        }
        let store = super::store()?;
        let mut removed = Vec::new();
        // Only what `kcl mod` made: another tool may keep its packages beside.
        for folder in ["store", "seals", "signed", "git", "locks"].map(|name| store.root().join(name)) {
            if folder.exists() && given.has("yes") {
                std::fs::remove_dir_all(&folder)
                    .map_err(|e| format!("cannot remove {}: {e}", folder.display()))?;
            }
            removed.push(folder.display().to_string());
        }
        if !given.has("yes") {
            return Err(Wrong::with_help(
                format!("this would remove {}", removed.join(", ")),
                "`kcl clean -y` does it",
            ));
        }
        println!("removed {}", removed.join(", "));
        Ok(())
    })
}

fn clean_usage() -> String {
    format!(
        "Removes the packages that were fetched; the next `kcl mod update` fetches them again.\n\nUsage: kcl clean [flags]\n\n{}",
        help(CLEAN_FLAGS)
    )
}

fn told(
    name: &str,
    table: &'static [Flag],
    words: &[String],
    usage: fn() -> String,
    run: impl Fn(&Given) -> Result<(), Wrong>,
) -> ExitCode {
    match opened(name, table, words, usage) {
        Ok(given) => run(&given).map_or_else(|wrong| wrong.tell(name), |()| ExitCode::SUCCESS),
        Err(code) => code,
    }
}
