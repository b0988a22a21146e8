//! `kcl import`: other formats to KCL files. References stay in the folder of the input; nothing comes from the network.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use kcl_import::{Imported, Input, Mode, detect, import};
use serde_json::json;

use crate::flags::{Flag, Given, flags, help, opened};
use crate::{EXIT_BUG, EXIT_WRONG};

pub(crate) const FLAGS: &[Flag] = flags! {
    "mode" Some('m'), "MODE" "auto, json, yaml, toml, jsonschema, openapi, crd, terraformschema, proto or gostruct (default: auto)";
    "output" Some('o'), "PATH|-" "file or folder to write; `-` prints (default: the input's name with .k, or models/)";
    "force" Some('f'), "" "replace files that exist";
    "package" Some('p'), "PACKAGE" "openapi, crd: put packages below this one";
    "skip-validation" Some('s'), "" "accepted for the reference's sake: what is read is judged while it is read";
    "json" None, "" "print one JSON object with the files and the warnings";
    "help" Some('h'), "" "print this";
};

/// A larger input is refused.
const MAX_BYTES: u64 = 256 << 20;

pub(crate) fn main(words: &[String]) -> ExitCode {
    let given = match opened("import", FLAGS, words, usage) {
        Ok(given) => given,
        Err(code) => return code,
    };
    if given.rest.is_empty() {
        return wrong_call("name a file: kcl import FILE");
    }
    match run(&given) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(if message.contains(kcl_import::BUG) { EXIT_BUG } else { EXIT_WRONG })
        }
    }
}

fn usage() -> String {
    format!(
        "Makes KCL of other formats: schemas of schemas, configurations of data.\n\nExamples:\n  kcl import values.yaml                   \
         data: values.k\n  kcl import service.schema.json           JSON Schema: service.k\n  kcl import -m crd crds.yaml -o \
         models      one package per group and version\n  kcl import swagger.json -p k8s           OpenAPI 2 or 3: models/\n  kcl import \
         schema.json -o -              print\n\nUsage: kcl import FILE|FOLDER… [flags]\n\n{}\nA file that exists is not replaced \
         without --force. A `$ref` may lead to other files in the folder of the\ninput, never out of it or to the network. What KCL \
         cannot say is told as a warning.\nExit codes: 0, 1 wrong input, 70 a bug of ours.\n",
        help(FLAGS)
    )
}

fn wrong_call(message: &str) -> ExitCode {
    eprintln!("error: {message}\nhelp: `kcl import --help` lists the flags");
    ExitCode::from(EXIT_WRONG)
}

fn run(given: &Given) -> Result<(), String> {
    let mode = match given.last("mode").unwrap_or("auto") {
        "auto" => None,
        name => Some(Mode::ALL.iter().find(|(known, _)| *known == name).map(|(_, mode)| *mode).ok_or_else(
            || {
                let known: Vec<&str> = Mode::ALL.iter().map(|(name, _)| *name).collect();
                format!("`{name}` is no mode: write auto, {}", known.join(", "))
            },
        )?),
    };
    let inputs = inputs(&given.rest)?;
    let output = given.last("output");
    let mut files: BTreeMap<PathBuf, String> = BTreeMap::new();
    let mut warnings: Vec<String> = Vec::new();
    for path in &inputs {
        let (mode, imported) = one(path, mode, given.last("package").unwrap_or_default())?;
        warnings.extend(imported.warnings.iter().map(|warning| format!("{}: {warning}", path.display())));
        for (name, text) in imported.files {
            let target = target(path, mode, output, inputs.len() > 1, &name);
            if let Some(other) = files.get(&target).filter(|other| **other != text) {
                let _ = other;
                return Err(format!(
                    "two inputs make {}: import them to folders of their own",
                    target.display()
                ));
            }
            files.insert(target, text);
        }
    }
    if output == Some("-") {
        return print_all(&files, &warnings);
    }
    if let Some(there) = files.keys().find(|path| path.exists() && !given.has("force")) {
        return Err(format!("{} exists: --force replaces it", there.display()));
    }
    let files: Vec<(PathBuf, String)> = files.into_iter().collect();
    base_file::write_all(&files, base_file::How::Plain).map_err(|trouble| trouble.to_string())?;
    report(given.has("json"), &files, &warnings);
    Ok(())
}

/// Files, and those of a folder that have an ending that says what they are.
fn inputs(words: &[String]) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    for word in words {
        if word.contains("://") {
            return Err(format!("{word} is on the network: download it first"));
        }
        let path = PathBuf::from(word);
        let problem = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound => format!("{word}: there is no such file or folder"),
            _ => format!("{word} cannot be read: {error}"),
        };
        if !fs::metadata(&path).map_err(problem)?.is_dir() {
            found.push(path);
            continue;
        }
        let mut inside = Vec::new();
        for entry in fs::read_dir(&path).map_err(problem)? {
            let entry = entry.map_err(problem)?;
            let known = ["json", "yaml", "yml", "toml", "proto", "go"];
            let named = entry.path().extension().and_then(|e| e.to_str()).is_some_and(|e| known.contains(&e));
            if named && entry.file_type().map_err(problem)?.is_file() {
                inside.push(entry.path());
            }
        }
        if inside.is_empty() {
            return Err(format!("{word} has no .json, .yaml, .toml, .proto or .go files"));
        }
        inside.sort();
        found.extend(inside);
    }
    Ok(found)
}

fn one(path: &Path, mode: Option<Mode>, package: &str) -> Result<(Mode, Imported), String> {
    let text = text_of(path)?;
    let name = path.display().to_string();
    let mode = mode
        .or_else(|| detect(&name, &text))
        .ok_or_else(|| format!("{name}: its ending does not say what it is: add --mode"))?;
    let folder = path.parent().filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_path_buf();
    let load = |relative: &str| load(&folder, relative);
    let input = Input { name, text, load: &load };
    kcl::deep(|| import(&input, mode, package)).map(|imported| (mode, imported))
}

/// Reads a file that is referred to; a link may not lead out of the folder, either.
fn load(folder: &Path, relative: &str) -> Result<String, String> {
    let path = folder.join(relative);
    let problem = |error: std::io::Error| format!("{} cannot be read: {error}", path.display());
    let (root, real) =
        (fs::canonicalize(folder).map_err(problem)?, fs::canonicalize(&path).map_err(problem)?);
    if !real.starts_with(&root) {
        return Err(format!("{} leads out of the input's folder: refused", path.display()));
    }
    text_of(&path)
}

fn text_of(path: &Path) -> Result<String, String> {
    let shown = path.display();
    let file = fs::File::open(path).map_err(|error| format!("{shown} cannot be read: {error}"))?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("{shown} cannot be read: {error}"))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(format!("{shown} is larger than {} MiB", MAX_BYTES >> 20));
    }
    String::from_utf8(bytes).map_err(|error| {
        format!(
            "{shown} is not UTF-8 text: the first wrong byte is number {}",
            error.utf8_error().valid_up_to() + 1
        )
    })
}

/// Where a file goes.
fn target(input: &Path, mode: Mode, output: Option<&str>, several: bool, name: &str) -> PathBuf {
    if mode.is_folder() {
        return Path::new(output.filter(|o| *o != "-").unwrap_or("models")).join(name);
    }
    let file = input.file_name().unwrap_or_default().to_string_lossy();
    let stem = file.split('.').next().filter(|stem| !stem.is_empty()).unwrap_or("main");
    let own = format!("{stem}.k");
    match output {
        Some("-") | None => PathBuf::from(own),
        Some(folder) if several || Path::new(folder).is_dir() || folder.ends_with('/') => {
            Path::new(folder).join(own)
        }
        Some(file) => PathBuf::from(file),
    }
}

fn print_all(files: &BTreeMap<PathBuf, String>, warnings: &[String]) -> Result<(), String> {
    let mut out = String::new();
    match files.len() {
        1 => files.values().for_each(|text| out.push_str(text)),
        _ => files.iter().for_each(|(path, text)| out.push_str(&format!("# {}\n{text}\n", path.display()))),
    }
    warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
    crate::say::result(&out)
}

fn report(as_json: bool, files: &[(PathBuf, String)], warnings: &[String]) {
    let paths: Vec<String> = files.iter().map(|(path, _)| path.display().to_string()).collect();
    if as_json {
        println!("{}", json!({ "files": paths, "warnings": warnings }));
        return;
    }
    warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
    match paths.as_slice() {
        [one] => println!("{one}"),
        many => {
            println!("{} files in {}", many.len(), common_folder(files).display());
        }
    }
}

/// The deepest folder that all files are in.
fn common_folder(files: &[(PathBuf, String)]) -> PathBuf {
    let mut folders = files.iter().map(|(path, _)| path.parent().unwrap_or(Path::new("")));
    let first = folders.next().unwrap_or(Path::new("")).to_path_buf();
    let common = folders.fold(first, |common, folder| {
        common.ancestors().find(|above| folder.starts_with(above)).unwrap_or(Path::new("")).to_path_buf()
    });
    if common.as_os_str().is_empty() { PathBuf::from(".") } else { common }
}
