//! `ValidateCode`: data against a schema.

use std::path::Path;

use base_diag::{Diagnostic, FileId, SourceMap};
use kcl::{DiskOutside, Entry, ReadOnly, sources};
use kcl_vet::{Format, Source, Vet, Wish};

use super::{compiler, folder, request};
use crate::messages::{ValidateCodeArgs, ValidateCodeResult};
use crate::{Answer, Budget, Failure, texts};

/// The name of code that is no file.
const CODE: &str = "validationTempKCLCode.k";
/// The name of data that is no file.
const DATA: &str = "<data>";

/// Checks data. What is wrong with code or data stands in the answer.
///
/// # Errors
/// A format that does not exist, or a file that cannot be read.
pub fn validate_code(args: &ValidateCodeArgs, budget: &Budget) -> Answer<ValidateCodeResult> {
    let source = match data(args)? {
        Ok(source) => source,
        Err(message) => return Ok(wrong(message)),
    };
    let mut request = request(folder("")?, &args.external_pkgs, budget);
    request.entries = match (args.code.is_empty(), args.file.is_empty()) {
        (true, true) => Vec::new(),
        (true, false) => vec![Entry::Path(args.file.clone())],
        (false, file) => {
            let path = if file { CODE.to_owned() } else { args.file.clone() };
            vec![Entry::Source { path, text: args.code.clone() }]
        }
    };
    let named = |text: &String| (!text.is_empty()).then(|| text.clone());
    let mut wish = Wish { schema: named(&args.schema), ..Wish::default() };
    if let Some(attribute) = named(&args.attribute_name) {
        wish.attribute = attribute;
    }
    let work_dir = request.work_dir.clone();
    let told = |found: &[Diagnostic], sources: &SourceMap| {
        wrong(texts::pretty(found, &with_names(sources, &work_dir)))
    };
    let world = ReadOnly(DiskOutside::new(&work_dir));
    let compiler = compiler(budget);
    let vet = match Vet::new(&compiler, request, &wish) {
        Ok(vet) => vet,
        Err(error) => return Ok(told(&error.diagnostics, &error.sources)),
    };
    for document in &source.documents {
        let verdict = vet.check(&source, document, &world);
        if !verdict.is_ok() {
            return Ok(told(&verdict.diagnostics, &verdict.sources));
        }
    }
    Ok(ValidateCodeResult { success: true, err_message: String::new() })
}

/// The texts of a question stand in no folder: they have names, not paths.
fn with_names(sources: &SourceMap, work_dir: &Path) -> SourceMap {
    let mut out = SourceMap::default();
    for file in (0..).map_while(|at| sources.get(FileId(at))) {
        match [CODE, DATA].into_iter().find(|name| work_dir.join(name) == Path::new(&file.path)) {
            Some(name) => out.add(name, file.text.clone()),
            None => out.add_file(file.clone()),
        };
    }
    out
}

fn wrong(message: String) -> ValidateCodeResult {
    ValidateCodeResult { success: false, err_message: message }
}

/// The data, or what is wrong with its text.
fn data(args: &ValidateCodeArgs) -> Answer<Result<Source, String>> {
    let format = match args.format.as_str() {
        "" => {
            let ending = args.datafile.rsplit_once('.').map(|(_, ending)| ending);
            ending.and_then(Format::named).unwrap_or(Format::Yaml)
        }
        name => Format::named(name)
            .ok_or_else(|| Failure::wrong(format!("`{name}` is no format: use json, yaml or toml")))?,
    };
    let (name, text) = match args.datafile.as_str() {
        "" => (DATA.to_owned(), args.data.clone()),
        path => {
            let read = sources::read(path.as_ref()).and_then(sources::text_of);
            (path.to_owned(), read.map_err(|message| Failure::wrong(format!("{path} {message}")))?)
        }
    };
    let text = text.strip_prefix('\u{FEFF}').map(str::to_owned).unwrap_or(text);
    let told = |error: kcl_vet::Unreadable| texts::pretty(&[*error.diagnostic], &error.sources);
    Ok(Source::new(name, text.into(), format).map_err(told))
}
