//! `Generate*`: TOML of a run, KCL of data, documents of schemas.

use kcl::{DiskOutside, Formats};
use kcl_doc::Options;
use kcl_import::{Input, Mode};
use kcl_model::{Model, PackageName, Program, read_package};
use kcl_syntax::program::PkgId;

use super::exec::run_request;
use super::{compiler, parse_request, refuse_no_input};
use crate::messages::{
    GenerateDocArgs, GenerateDocResult, GenerateKclArgs, GenerateKclResult, GenerateOpenAPIArgs,
    GenerateOpenAPIResult, GenerateProtoArgs, GenerateProtoResult, GenerateTomlArgs, GenerateTomlResult,
    ParseProgramArgs,
};
use crate::{Answer, Budget, Failure, texts};

/// Runs a program and writes its result as TOML.
///
/// # Errors
/// The program does not run, or TOML has no way to say its result.
pub fn generate_toml(args: &GenerateTomlArgs, budget: &Budget) -> Answer<GenerateTomlResult> {
    let mut request = run_request(&args.exec_args.clone().unwrap_or_default(), budget)?;
    request.formats = Formats { toml: true, ..Formats::NONE };
    request.output.sort_keys |= args.sort_keys;
    let outcome = compiler(budget).run(&request, &DiskOutside::new(&request.work_dir));
    match outcome.is_ok() {
        true => Ok(GenerateTomlResult { toml: outcome.other + "\n" }),
        false => Err(Failure::wrong(texts::pretty(&outcome.diagnostics, &outcome.sources))),
    }
}

/// Makes KCL of JSON, YAML or TOML data, or of another format that `kcl import` knows and that gives one file.
///
/// # Errors
/// The text is not in the format, or the format is not known.
pub fn generate_kcl(args: &GenerateKclArgs, _: &Budget) -> Answer<GenerateKclResult> {
    let ending = args.filename.rsplit_once('.').map_or("", |(_, ending)| ending);
    let wanted = match (args.format.as_str(), ending) {
        ("", "yml") => "yaml",
        ("", "") => "json",
        ("", ending) => ending,
        (format, _) => format,
    };
    let known = Mode::ALL.iter().filter(|(_, mode)| !mode.is_folder());
    let Some((_, mode)) = known.clone().find(|(name, _)| *name == wanted) else {
        let names: Vec<&str> = known.map(|(name, _)| *name).collect();
        return Err(Failure::wrong(format!(
            "unsupported data format \"{wanted}\"; expected one of {}",
            names.join(", ")
        )));
    };
    let name = if args.filename.is_empty() { format!("data.{wanted}") } else { args.filename.clone() };
    let refuse = |path: &str| Err(format!("{path} is another file: only the given text is read"));
    let input = Input { name, text: args.source.clone(), load: &refuse };
    if matches!(mode, Mode::Json | Mode::Yaml | Mode::Toml) {
        let kcl = kcl_import::data_statements(&input, *mode).map_err(Failure::wrong)?;
        return Ok(GenerateKclResult { kcl });
    }
    let imported = kcl_import::import(&input, *mode, "").map_err(Failure::wrong)?;
    let text = imported.files.into_iter().next().map(|(_, text)| text);
    Ok(GenerateKclResult { kcl: text.unwrap_or_default() })
}

/// Writes the schemas of a program as an OpenAPI document.
///
/// # Errors
/// The program cannot be read, or the version is not one that is written.
pub fn generate_openapi(args: &GenerateOpenAPIArgs, budget: &Budget) -> Answer<GenerateOpenAPIResult> {
    if !matches!(args.version.as_str(), "" | "v3" | "3" | "3.0" | "3.0.3") {
        return Err(Failure::wrong(format!(
            "unsupported OpenAPI version \"{}\"; expected \"v3\"",
            args.version
        )));
    }
    let model = model(args.parse_args.as_ref(), budget)?;
    Ok(GenerateOpenAPIResult { spec: kcl_doc::openapi(&model, &Options::default()) })
}

/// Writes the schemas of a program as Protobuf messages.
///
/// # Errors
/// The program cannot be read, or the name of the package is none.
pub fn generate_proto(args: &GenerateProtoArgs, budget: &Budget) -> Answer<GenerateProtoResult> {
    let model = model(args.parse_args.as_ref(), budget)?;
    Ok(GenerateProtoResult { proto: kcl_doc::proto(&model, &args.package).map_err(Failure::wrong)? })
}

/// Writes documents of the schemas of a program: Markdown, OpenAPI or JSON Schema.
///
/// # Errors
/// The program cannot be read, or the format is not known.
pub fn generate_doc(args: &GenerateDocArgs, budget: &Budget) -> Answer<GenerateDocResult> {
    let model = model(args.parse_args.as_ref(), budget)?;
    let options = Options::default();
    let content = match args.format.as_str() {
        "" | "md" | "markdown" => kcl_doc::markdown_page(&model, &options),
        "openapi" => kcl_doc::openapi(&model, &options),
        "json-schema" | "jsonschema" => kcl_doc::json_schema(&model, &options).map_err(Failure::wrong)?,
        other => {
            let message = format!(
                "unsupported doc format \"{other}\"; expected one of \"md\", \"openapi\" or \"json-schema\""
            );
            return Err(Failure::wrong(message));
        }
    };
    Ok(GenerateDocResult { content })
}

/// The schemas of a program; packages that it imports are only referred to.
fn model(args: Option<&ParseProgramArgs>, budget: &Budget) -> Answer<Model> {
    let request = parse_request(&args.cloned().unwrap_or_default(), budget)?;
    let checked = compiler(budget).checked(&request);
    refuse_no_input(&checked.diagnostics, &checked.program.sources)?;
    let program = &checked.program;
    let name = |(at, package): (usize, &kcl_syntax::program::Package)| PackageName {
        path: package.path.to_string(),
        external: at != program.main.0 as usize,
    };
    let names: Vec<PackageName> = program.packages.iter().enumerate().map(name).collect();
    let root = checked.root.display().to_string();
    let input = Program { program, types: &checked.types, names: &names, root: &root };
    let packages = (0..names.len()).filter_map(|at| {
        let mut package = read_package(input, PkgId(at as u32))?;
        package.external = names[at].external;
        Some(package)
    });
    let packages: Vec<_> = packages.filter(|package| !package.schemas.is_empty()).collect();
    Ok(Model { name: "__main__".to_owned(), packages, ..Model::default() })
}
