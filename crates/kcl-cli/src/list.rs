//! `kcl list`: what a program is made of, without running it. Every answer is one of the automation API (`kcl-api`).

use std::process::ExitCode;

use kcl_api::messages::{
    ExecProgramArgs, GetSchemaTypeMappingArgs, ListVariablesArgs, LoadPackageArgs, ParseProgramArgs,
    Position, SymbolAtArgs, UpdateDependenciesArgs, Variable,
};
use kcl_api::{Budget, Failure, methods};
use serde_json::{Value, json};

use crate::flags::{Flag, Given, flags, help, opened};
use crate::wrong::Wrong;

pub(crate) const FLAGS: &[Flag] = flags! {
    "path" Some('p'), "PATH" "variables: only this one (`app.image`); may be given several times";
    "json" None, "" "print the answer as JSON, in the words of the API (its columns count from 0)";
    "help" Some('h'), "" "print this";
};

/// Name, words after it, one line of help, what it does: the answer as text and as JSON.
type Sub = (&'static str, &'static str, &'static str, fn(&Given, &[String]) -> Result<Told, Wrong>);

const SUBS: &[Sub] = &[
    ("variables", "[FILE…]", "variables as they are written", variables),
    ("options", "[FILE…]", "every option() that a program asks for", options),
    ("schemas", "[FILE…]", "schemas with their attributes and types", schemas),
    ("files", "[FILE…]", "the files that a program is made of", files),
    ("dependencies", "[FOLDER]", "packages of the module, and where they are", dependencies),
    ("symbol", "FILE:LINE:COLUMN", "what is named there: kind, type, declaration, other places", symbol),
    ("package", "[FILE…]", "everything that is known of a program, as data (JSON)", package),
];

struct Told {
    text: String,
    json: Value,
}

pub(crate) fn main(words: &[String]) -> ExitCode {
    let given = match opened("list", FLAGS, words, usage) {
        Ok(given) => given,
        Err(code) => return code,
    };
    let Some((name, words)) = given.rest.split_first() else {
        let names: Vec<&str> = SUBS.iter().map(|sub| sub.0).collect();
        return Wrong::from(format!("say what to list: {}", names.join(", "))).tell("list");
    };
    let Some((_, _, _, run)) = SUBS.iter().find(|sub| sub.0 == name) else {
        let near = base_diag::nearest(SUBS.iter().map(|sub| sub.0), name);
        let help = near.map_or("`kcl list --help` lists them".to_owned(), |near| {
            format!("did you mean `kcl list {near}`?")
        });
        return Wrong::with_help(format!("there is no `kcl list {name}`"), help).tell("list");
    };
    match run(&given, words) {
        Ok(told) if given.has("json") || name == "package" => {
            println!("{}", told.json);
            ExitCode::SUCCESS
        }
        Ok(told) => {
            print!("{}", told.text);
            ExitCode::SUCCESS
        }
        Err(wrong) => wrong.tell("list"),
    }
}

fn usage() -> String {
    let mut out = String::from(
        "What a program is made of, without running it.\n\nExamples:\n  kcl list variables main.k\n  kcl list options .\n  kcl list \
         symbol main.k:3:7\n\nUsage: kcl list WHAT [flags]\n\n",
    );
    for (name, words, text, _) in SUBS {
        out.push_str(&format!("  {:<28} {text}\n", format!("{name} {words}")));
    }
    out.push_str(&format!("\n{}\nExit codes: 0, 1 wrong input, 70 a bug of ours.\n", help(FLAGS)));
    out
}

impl From<Failure> for Wrong {
    fn from(failure: Failure) -> Wrong {
        Wrong::from(failure.message)
    }
}

fn told(text: String, json: Result<Value, serde_json::Error>) -> Result<Told, Wrong> {
    Ok(Told { text, json: json.map_err(|e| format!("the answer cannot be written: {e}"))? })
}

/// Nothing named is the folder here.
fn paths(words: &[String]) -> Vec<String> {
    if words.is_empty() { vec![".".to_owned()] } else { words.to_vec() }
}

/// The files that words name; folders stand for theirs.
fn entries(words: &[String]) -> Result<Vec<String>, Wrong> {
    let work_dir = std::env::current_dir().map_err(|e| format!("cannot tell the folder here: {e}"))?;
    let request = kcl::Request { work_dir, ..kcl::Request::paths(paths(words)) };
    let found = kcl::entry_files(&request, &kcl::Disk).into_iter();
    Ok(found.map(|file| file.map(|file| file.display().to_string())).collect::<Result<_, String>>()?)
}

fn program(words: &[String]) -> ParseProgramArgs {
    ParseProgramArgs { paths: paths(words), ..ParseProgramArgs::default() }
}

fn variables(given: &Given, words: &[String]) -> Result<Told, Wrong> {
    let specs = given.all("path").into_iter().map(str::to_owned).collect();
    let args = ListVariablesArgs { files: entries(words)?, specs, ..ListVariablesArgs::default() };
    let result = methods::variables::list_variables(&args, &Budget::default())?;
    if let Some(error) = result.parse_errors.first().and_then(|error| error.messages.first()) {
        return Err(Wrong::from(error.msg.clone()));
    }
    let line = |name: &String, variable: &Variable| {
        let operator = if variable.op_sym.is_empty() { "=" } else { &variable.op_sym };
        format!("{name} {operator} {}\n", variable.value)
    };
    let text =
        result.variables.iter().flat_map(|(name, all)| all.variables.iter().map(move |v| line(name, v)));
    told(text.collect(), serde_json::to_value(&result))
}

/// Refuses a program that does not parse: half of an answer would look like a whole one.
fn refuse_unsound(words: &[String]) -> Result<(), Wrong> {
    let result = methods::parse::parse_program(&program(words), &Budget::default())?;
    match result.errors.first().and_then(|error| error.messages.first()) {
        None => Ok(()),
        Some(message) => {
            let place = message.pos.as_ref();
            let place = place.map(|at| format!("{}:{}:{}: ", at.filename, at.line, at.column + 1));
            Err(Wrong::from(format!(
                "the program does not parse: {}{}",
                place.unwrap_or_default(),
                message.msg
            )))
        }
    }
}

fn options(_: &Given, words: &[String]) -> Result<Told, Wrong> {
    refuse_unsound(words)?;
    let result = methods::options::list_options(&program(words), &Budget::default())?;
    let line = |option: &kcl_api::messages::OptionHelp| {
        let mut line = option.name.clone();
        let mut add = |word: &str, text: &str| {
            if !text.is_empty() {
                line.push_str(&format!("{word}{text}"));
            }
        };
        add(": ", &option.r#type);
        add(" = ", &option.default_value);
        add(" ", if option.required { "(required)" } else { "" });
        add("  # ", &option.help);
        line + "\n"
    };
    told(result.options.iter().map(line).collect(), serde_json::to_value(&result))
}

fn schemas(_: &Given, words: &[String]) -> Result<Told, Wrong> {
    refuse_unsound(words)?;
    let exec_args = Some(ExecProgramArgs { k_filename_list: paths(words), ..ExecProgramArgs::default() });
    let args = GetSchemaTypeMappingArgs { exec_args, ..GetSchemaTypeMappingArgs::default() };
    let result = methods::schema_types::mapping(&args, &Budget::default())?;
    let mut text = String::new();
    for (name, schema) in
        result.schema_type_mapping.iter().filter(|(name, schema)| **name == schema.schema_name)
    {
        text.push_str(&format!("{name}\n"));
        for (attribute, ty) in &schema.properties {
            let mark = if schema.required.contains(attribute) { "" } else { "?" };
            let shown = if ty.schema_name.is_empty() { &ty.r#type } else { &ty.schema_name };
            text.push_str(&format!("  {attribute}{mark}: {shown}\n"));
        }
    }
    told(text, serde_json::to_value(&result))
}

fn files(_: &Given, words: &[String]) -> Result<Told, Wrong> {
    let result = methods::parse::parse_program(&program(words), &Budget::default())?;
    let text = result.paths.iter().map(|path| format!("{path}\n")).collect();
    Ok(Told { text, json: json!({ "paths": result.paths }) })
}

fn dependencies(_: &Given, words: &[String]) -> Result<Told, Wrong> {
    let folder = match words {
        [] => ".".to_owned(),
        [folder] => folder.clone(),
        [_, word, ..] => return Err(Wrong::from(format!("`{word}` is one word too many"))),
    };
    let args = UpdateDependenciesArgs { manifest_path: folder, vendor: false };
    let result = methods::dependencies::update_dependencies(&args, &Budget::default())?;
    let line =
        |package: &kcl_api::messages::ExternalPkg| format!("{} {}\n", package.pkg_name, package.pkg_path);
    told(result.external_pkgs.iter().map(line).collect(), serde_json::to_value(&result))
}

fn symbol(_: &Given, words: &[String]) -> Result<Told, Wrong> {
    let place =
        || Wrong::with_help("say where: FILE:LINE:COLUMN", "lines and columns count from 1: main.k:3:7");
    let [word] = words else { return Err(place()) };
    let mut parts = word.rsplitn(3, ':');
    let (column, line, file) = (parts.next(), parts.next(), parts.next());
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<u64>().ok()).filter(|n| *n > 0);
    let (Some(column), Some(line), Some(file)) = (number(column), number(line), file) else {
        return Err(place());
    };
    // The API counts columns from 0.
    let args = SymbolAtArgs { file: file.to_owned(), line, column: column - 1, ..SymbolAtArgs::default() };
    let result = methods::symbol::symbol_at(&args, &Budget::default())?;
    if result.name.is_empty() && result.ty.is_empty() {
        return Err(Wrong::from(format!("nothing is named at {word}")));
    }
    let at = |place: &Position| format!("{}:{}:{}", place.filename, place.line, place.column + 1);
    let mut text = match result.name.is_empty() {
        true => format!("value of type {}\n", result.ty),
        false if result.ty.is_empty() => format!("{} {}\n", result.kind, result.name),
        false => format!("{} {}: {}\n", result.kind, result.name, result.ty),
    };
    if let Some(place) = &result.definition {
        text.push_str(&format!("declared at {}\n", at(place)));
    }
    result.references.iter().for_each(|place| text.push_str(&format!("named at {}\n", at(place))));
    told(text, serde_json::to_value(&result))
}

fn package(_: &Given, words: &[String]) -> Result<Told, Wrong> {
    let args =
        LoadPackageArgs { parse_args: Some(program(words)), resolve_ast: true, ..LoadPackageArgs::default() };
    let result = methods::package::load_package(&args, &Budget::default())?;
    told(String::new(), serde_json::to_value(&result))
}
