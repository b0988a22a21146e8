//! `kcl doc`: documents of a module's schemas, and its examples run as tests. The module is only read.

pub(crate) mod examples;
pub(crate) mod module;
mod output;

use std::path::Path;
use std::process::ExitCode;

use kcl_doc::{Options, Source};
use serde_json::json;

use crate::EXIT_WRONG;
use crate::flags::{Flag, Given, flags, help, opened};
use crate::run::ErrorFormat;
use module::Module;
use output::Output;

pub(crate) const FLAGS: &[Flag] = flags! {
    "format" Some('f'), "md|openapi|json-schema|html" "what to write (default: md)";
    "target" Some('t'), "FOLDER|-" "where to write; `-` prints (default: print; html needs a folder)";
    "schema" Some('s'), "NAME" "json-schema: the schema that the document is about";
    "ignore-deprecated" None, "" "leave out what is marked @deprecated";
    "escape-html" None, "" "md: escape HTML in descriptions";
    "test" None, "" "write nothing; run the examples in docstrings";
    "json" None, "" "print one JSON object with what was written or tested";
    "file-path" None, "PATH" "the same as PATH";
    "error-format" None, "full|short|json" "form of errors on standard error";
    "help" Some('h'), "" "print this";
};

pub(crate) fn main(words: &[String]) -> ExitCode {
    // `kcl doc generate …` is the reference's spelling, which writes to `docs`.
    let (words, generate) = match words.split_first() {
        Some((first, rest)) if first == "generate" => (rest, true),
        _ => (words, false),
    };
    let given = match opened("doc", FLAGS, words, usage) {
        Ok(given) => given,
        Err(code) => return code,
    };
    match Wish::new(&given, generate) {
        Ok(wish) => work(&wish),
        Err(message) => wrong_call(&message),
    }
}

fn usage() -> String {
    format!(
        "Writes documents of the schemas in a folder and the folders in it.\n\nExamples:\n  kcl doc                                 \
         Markdown of this folder, printed\n  kcl doc models --format html --target site\n  kcl doc --format openapi --target \
         openapi.json\n  kcl doc --format json-schema --schema Server > server.schema.json\n  kcl doc --test                          \
         run the examples in docstrings\n\nUsage: kcl doc [PATH] [flags]\n       kcl doc generate [--file-path PATH] \
         [--target docs] [flags]\n\n{}\nThe folder is only read: no program writes, no plugin is started, nothing comes from \
         the network.\nExit codes: 0, 1 wrong input or an example that fails, 70 a bug of ours.\n",
        help(FLAGS)
    )
}

pub(super) fn wrong_call(message: &str) -> ExitCode {
    eprintln!("error: {message}\nhelp: `kcl doc --help` lists the flags");
    ExitCode::from(EXIT_WRONG)
}

/// Which document.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Markdown,
    OpenApi,
    JsonSchema,
    Html,
}

/// What is to be done.
struct Wish {
    path: String,
    format: Format,
    /// None prints.
    target: Option<String>,
    schema: Option<String>,
    options: Options,
    test: bool,
    json: bool,
    errors: ErrorFormat,
}

impl Wish {
    fn new(given: &Given, generate: bool) -> Result<Wish, String> {
        let format = match given.last("format").unwrap_or("md") {
            "md" | "markdown" => Format::Markdown,
            "openapi" => Format::OpenApi,
            "json-schema" | "jsonschema" => Format::JsonSchema,
            "html" => Format::Html,
            other => return Err(format!("`{other}` is no format: write md, openapi, json-schema or html")),
        };
        let mut paths = given.all("file-path");
        paths.extend(given.rest.iter().map(String::as_str));
        let path = match paths.as_slice() {
            [] => ".".to_owned(),
            [one] => (*one).to_owned(),
            _ => return Err("one PATH at a time: a file, or a folder with everything in it".to_owned()),
        };
        let target =
            given.last("target").or(generate.then_some("docs")).filter(|t| *t != "-").map(str::to_owned);
        let (test, json) = (given.has("test"), given.has("json"));
        if format == Format::Html && target.is_none() && !test {
            return Err("a site is many files: name a folder with --target".to_owned());
        }
        if json && target.is_none() && !test {
            return Err("--json reports what was written: name a folder with --target".to_owned());
        }
        let schema = given.last("schema").map(str::to_owned);
        if schema.is_some() && format != Format::JsonSchema {
            return Err("--schema says what a JSON Schema is about: add --format json-schema".to_owned());
        }
        Ok(Wish {
            path,
            format,
            target,
            schema,
            options: Options {
                ignore_deprecated: given.has("ignore-deprecated"),
                escape_html: given.has("escape-html"),
                root: None,
            },
            test,
            json,
            errors: crate::run::error_format(given)?,
        })
    }
}

fn work(wish: &Wish) -> ExitCode {
    let module = match Module::read(&wish.path) {
        Ok(module) => module,
        Err(problems) => {
            problems.print(wish.errors);
            return ExitCode::from(EXIT_WRONG);
        }
    };
    for note in &module.notes {
        eprintln!("warning: {note}");
    }
    if wish.test {
        return examples::run(&module, wish.json, wish.errors);
    }
    let output = match document(&module, wish) {
        Ok(output) => output,
        Err(message) => {
            eprintln!("error: {message}");
            return ExitCode::from(EXIT_WRONG);
        }
    };
    let written = match &wish.target {
        None => output.print(),
        Some(target) => output.write(Path::new(target)),
    };
    match written {
        Ok(files) => {
            report(wish, &module, &files);
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(EXIT_WRONG)
        }
    }
}

fn document(module: &Module, wish: &Wish) -> Result<Output, String> {
    let model = &module.model;
    let mut options = wish.options.clone();
    if model.own_packages().all(|package| package.schemas.is_empty()) {
        return Err(format!("{} has no schemas: there is nothing to document", wish.path));
    }
    Ok(match wish.format {
        Format::Markdown if wish.target.is_none() => {
            Output::One { name: "README.md", text: kcl_doc::markdown_page(model, &options) }
        }
        Format::Markdown => Output::Many { list: ".kcl-doc-md", files: kcl_doc::markdown(model, &options) },
        Format::OpenApi => Output::One { name: "openapi.json", text: kcl_doc::openapi(model, &options) },
        Format::JsonSchema => {
            options.root = wish.schema.as_ref().map(|name| kcl_doc::find_schema(model, name)).transpose()?;
            Output::One { name: "schema.json", text: kcl_doc::json_schema(model, &options)? }
        }
        Format::Html => {
            let sources: Vec<Source> = module
                .sources
                .iter()
                .map(|(path, text)| Source { path: path.clone(), text: text.to_string() })
                .collect();
            Output::Many { list: ".kcl-doc-html", files: kcl_doc::site(model, &sources, &options) }
        }
    })
}

fn report(wish: &Wish, module: &Module, files: &[String]) {
    let Some(target) = &wish.target else { return };
    let own: Vec<_> = module.model.own_packages().filter(|package| !package.schemas.is_empty()).collect();
    let schemas: usize = own.iter().map(|package| package.schemas.len()).sum();
    if wish.json {
        println!(
            "{}",
            json!({ "target": target, "packages": own.len(), "schemas": schemas, "files": files })
        );
        return;
    }
    let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let open = match wish.format {
        Format::Html => format!(": open {target}/index.html"),
        _ => String::new(),
    };
    println!(
        "{} of {} in {} to {target}{open}",
        count(schemas, "schema"),
        count(own.len(), "package"),
        count(files.len(), "file")
    );
}
