//! `kusion config`: defaults of flags in a file of the user, and where each value comes from.
//!
//! The weakest of four: flag, `KUSION_*` variable, this file, built-in default.

use std::collections::BTreeMap;
use std::path::PathBuf;

use base_diag::nearest;
use kcl::Disk;
use kusion_generate::locate;
use serde_json::{Value, json};

use crate::input::backend;
use crate::input::chosen::here;
use crate::input::flags::{Arg, Given, flag, variable_name};
use crate::views::failure::Failure;
use crate::views::output::{Format, format_of, print, print_data, print_json, tell};
use crate::views::style::Style;
use crate::views::table::table;
use crate::views::yaml;

pub(crate) fn flags() -> Vec<Arg> {
    vec![flag("output", Some('o'), "FORMAT", "text or json")]
}

/// Flags that may have a default of the user; consent is not among them.
const KEYS: &[(&str, &str)] = &[
    ("context", "the current context of the kubeconfig"),
    ("kubeconfig", "$KUBECONFIG, else ~/.kube/config"),
    ("profile", "default; sandbox where the context is one"),
    ("timeout", "the deadline of each kind"),
    ("lock-timeout", "0s"),
    ("request-timeout", "60s"),
    ("on-failure", "stop"),
    ("no-watch", "off"),
    ("detail", "fields"),
    ("output", "text"),
    ("key", "file"),
    ("backend", "the folder of --home"),
    ("backend-timeout", "60s"),
    ("keep-releases", "50"),
];

/// What `backends:` holds is a map of its own, for people who write the file by hand or come from upstream.
const NAMED_BACKENDS: &str = "backends";

/// Where the file is.
fn path() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = set("KUSION_HOME").or_else(|| set("HOME").map(|home| home.join(".kusion")))?;
    Some(home.join("config.yaml"))
}

/// Reads the file; a missing one is empty.
pub(crate) fn load() -> Result<BTreeMap<String, String>, Failure> {
    let Some(path) = path() else { return Ok(BTreeMap::new()) };
    let Ok(text) = std::fs::read_to_string(&path) else { return Ok(BTreeMap::new()) };
    let wrong = |cause: String| {
        Failure::usage("the configuration file cannot be used")
            .cause(cause)
            .place(path.display().to_string())
            .next("correct it, or remove it")
    };
    let documents = kusion_generate::read_documents(&text)
        .map_err(|e| wrong(format!("line {}: {}", e.line, e.message)))?;
    let Some(Value::Object(map)) = documents.into_iter().next() else { return Ok(BTreeMap::new()) };
    let text_of = |value: Value| match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    Ok(map.into_iter().map(|(key, value)| (key, text_of(value))).collect())
}

fn save(values: &BTreeMap<String, String>) -> Result<(), Failure> {
    let path = path().ok_or_else(|| {
        Failure::usage("there is no place for the configuration").cause("neither KUSION_HOME nor HOME is set")
    })?;
    // Named backends are a map in the file, and stay one.
    let value = |(key, value): (&String, &String)| {
        let map = if key == NAMED_BACKENDS { serde_json::from_str(value).ok() } else { None };
        (key.clone(), map.unwrap_or_else(|| Value::String(value.clone())))
    };
    let document: serde_json::Map<String, Value> = values.iter().map(value).collect();
    let text = if values.is_empty() { String::new() } else { yaml::text(&Value::Object(document)) };
    base_file::write_all(&[(path, text)], base_file::How::Durable).map_err(|trouble| {
        Failure::usage("the configuration cannot be written")
            .cause(trouble.error.to_string())
            .place(trouble.path.display().to_string())
    })
}

pub(crate) fn main(given: &Given) -> Result<(), Failure> {
    let words: Vec<&str> = given.rest.iter().map(String::as_str).collect();
    let mut values = load()?;
    match words.as_slice() {
        [] | ["list"] if format_of(given)? == Format::Json => {
            print_json(&json!({"schema": "kusion.io/config-file/v1", "settings": shown(&values)}))
        }
        [] | ["list"] if values.is_empty() => {
            tell("nothing is set; `kusion config explain` shows the defaults\n");
            Ok(())
        }
        [] | ["list"] => {
            shown(&values).iter().try_for_each(|(key, value)| print_data(&format!("{key}: {value}\n")))
        }
        ["get", key] => match values.get(check(key)?) {
            Some(value) => print_data(&format!("{value}\n")),
            None => Err(Failure::usage(format!("`{key}` is not set")).next("kusion config explain")),
        },
        ["set", key, value] => {
            check_value(check(key)?, value)?;
            values.insert((*key).to_owned(), (*value).to_owned());
            save(&values)
        }
        ["unset", key] => {
            values.remove(check(key)?);
            save(&values)
        }
        ["explain"] => explain(given, &values, None),
        ["explain", stack] => explain(given, &values, Some(stack)),
        _ => Err(Failure::usage("kusion config does not know these words")
            .next("kusion config list, get KEY, set KEY VALUE, unset KEY or explain [STACK]")),
    }
}

/// Sets one value, for commands that are shorter to type.
pub(crate) fn set(key: &str, value: &str) -> Result<(), Failure> {
    let mut values = load()?;
    values.insert(key.to_owned(), value.to_owned());
    save(&values)
}

fn check(key: &str) -> Result<&str, Failure> {
    if KEYS.iter().any(|(known, _)| *known == key) {
        return Ok(key);
    }
    let failure = Failure::usage(format!("there is no setting `{key}`"));
    Err(match nearest(KEYS.iter().map(|(known, _)| *known), key) {
        Some(near) => failure.next(format!("did you mean `{near}`?")),
        None => failure.next("kusion config explain lists them"),
    })
}

/// A value that its flag would refuse is refused here, where it is written.
fn check_value(key: &str, value: &str) -> Result<(), Failure> {
    let is_time = |text: &str| {
        let number = text.strip_suffix(['s', 'm']).unwrap_or(text);
        number.parse::<u64>().is_ok()
    };
    let (fits, wanted) = match key {
        "output" => (matches!(value, "text" | "json"), "text or json"),
        "on-failure" => (matches!(value, "stop" | "continue" | "rollback"), "stop, continue or rollback"),
        "profile" => (matches!(value, "default" | "sandbox"), "default or sandbox"),
        "detail" => (matches!(value, "fields" | "all"), "fields or all"),
        "no-watch" => (matches!(value, "on" | "off" | "true" | "false"), "on or off"),
        "timeout" | "lock-timeout" | "request-timeout" | "backend-timeout" => {
            (is_time(value), "a time: 90, 90s or 5m")
        }
        "keep-releases" => (value.parse::<usize>().is_ok_and(|n| n > 0), "a number from 1 on"),
        "kubeconfig" => (std::path::Path::new(value).is_file(), "a file that is there"),
        _ => (!value.is_empty(), "a name"),
    };
    if fits && key == "backend" && value.contains("://") {
        let address = backend::parsed(value, "kusion config set backend")?;
        if address.has_password() {
            return Err(Failure::usage("a password does not belong into the configuration file")
                .next("leave it out; PGPASSWORD and ~/.pgpass are looked at"));
        }
    }
    if fits && key == "context" {
        return known_context(value);
    }
    if fits {
        return Ok(());
    }
    Err(Failure::usage(format!("`{key}` cannot be `{value}`"))
        .cause(format!("it takes {wanted}"))
        .next(format!("kusion config set {key} VALUE; nothing was changed")))
}

/// A context that the kubeconfig does not have is a slip; where there is no kubeconfig yet, it cannot be told.
fn known_context(name: &str) -> Result<(), Failure> {
    let Ok(known) = kusion_runtime_k8s::contexts(None) else { return Ok(()) };
    let names: Vec<&str> = known.iter().map(|context| context.name.as_str()).collect();
    if names.is_empty() || names.contains(&name) {
        return Ok(());
    }
    Err(Failure::usage(format!("the kubeconfig has no context `{name}`"))
        .cause(format!("there are: {}", names.join(", ")))
        .next("kusion config set context NAME; nothing was changed"))
}

/// The settings without what may hold credentials: named backends by their names only.
fn shown(values: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let names = |text: &String| match serde_json::from_str(text) {
        Ok(Value::Object(map)) => map.keys().cloned().collect::<Vec<_>>().join(", "),
        _ => "unreadable".to_owned(),
    };
    let value = |(key, value): (&String, &String)| {
        (key.clone(), if key == NAMED_BACKENDS { names(value) } else { value.clone() })
    };
    values.iter().map(value).collect()
}

/// One setting: its value, who says so, and who says otherwise and is weaker.
struct Row {
    key: &'static str,
    value: String,
    from: String,
    over: Vec<(String, String)>,
}

fn explain(given: &Given, values: &BTreeMap<String, String>, stack: Option<&str>) -> Result<(), Failure> {
    let mut rows: Vec<Row> = Vec::new();
    for (key, default) in KEYS.iter().filter(|(key, _)| *key != "backend") {
        let file = path().map(|p| p.display().to_string()).unwrap_or_default();
        let mut all: Vec<(String, String)> = Vec::new();
        if *key != "output" && given.origin(key) == "flag" {
            all.push(("flag".to_owned(), given.last(key).unwrap_or_default()));
        }
        all.extend(std::env::var(variable_name(key)).ok().map(|value| (variable_name(key), value)));
        all.extend(values.get(*key).map(|value| (file, value.clone())));
        all.push(("default".to_owned(), (*default).to_owned()));
        let (from, value) = all.remove(0);
        rows.push(Row { key, value, from, over: all });
    }
    rows.extend(explain_backend(given, stack)?);
    if format_of(given)? == Format::Json {
        let weaker = |over: &[(String, String)]| {
            over.iter().map(|(from, value)| json!({"from": from, "value": value})).collect::<Vec<_>>()
        };
        let row = |row: &Row| json!({"key": row.key, "value": row.value, "from": row.from, "over": weaker(&row.over)});
        let rows: Vec<Value> = rows.iter().map(row).collect();
        return print_json(&json!({"schema": "kusion.io/config/v1", "settings": rows}));
    }
    let weaker = |row: &Row| {
        let names: Vec<&str> =
            row.over.iter().map(|(from, _)| from.as_str()).filter(|from| *from != "default").collect();
        names.join(", ")
    };
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| vec![row.key.to_owned(), row.value.clone(), row.from.clone(), weaker(row)])
        .collect();
    print(&table(&["SETTING", "VALUE", "FROM", "STRONGER THAN"], &cells, &Style::stdout()))
}

/// Where the state of a stack is kept (of the one that is named, or that the user stands in), and where its login comes from.
fn explain_backend(given: &Given, stack: Option<&str>) -> Result<Vec<Row>, Failure> {
    let word = stack.map(str::to_owned).or_else(|| given.last("workdir"));
    let folder = match locate(&Disk, &here()?, word.as_deref()) {
        Ok(folder) => Some(folder),
        Err(problem) if word.is_some() => return Err(problem.into()),
        Err(_) => None,
    };
    let from = folder.as_ref().map_or_else(here, |folder| Ok(folder.stack_dir.clone()))?;
    let chosen = backend::choose(given, folder.as_ref(), &from)?;
    let login = chosen.login(given)?;
    let (value, over) = (chosen.shown(), chosen.over.clone());
    let mut rows = vec![Row { key: "backend", value: value.clone(), from: chosen.from, over }];
    if !value.starts_with("file://") {
        let value = if login.is_some() { "found, not shown" } else { "none found; the service decides" };
        let from = login.unwrap_or_else(|| "the machine's role, or nothing".to_owned());
        rows.push(Row { key: "backend login", value: value.to_owned(), from, over: Vec::new() });
    }
    Ok(rows)
}
