//! `ParseFile` and `ParseProgram`: trees and syntax errors.

use kcl::Loaded;
use kcl_syntax::program::Package;

use super::{compiler, folder, parse_request, refuse_no_input, request, tree};
use crate::messages::{ParseFileArgs, ParseFileResult, ParseProgramArgs, ParseProgramResult};
use crate::{Answer, Budget, texts};

/// Parses a file, or a text under its name; lists the files that it imports.
///
/// # Errors
/// No such file.
pub fn parse_file(args: &ParseFileArgs, budget: &Budget) -> Answer<ParseFileResult> {
    let mut request = request(folder("")?, &args.external_pkgs, budget);
    let texts_given: Vec<String> =
        Some(args.source.clone()).filter(|text| !text.is_empty()).into_iter().collect();
    request.entries = super::entries(std::slice::from_ref(&args.path), &texts_given);
    let loaded = compiler(budget).load(&request);
    refuse_no_input(&loaded.diagnostics, &loaded.program.sources)?;
    let main = loaded.program.main_package();
    let own: Vec<_> = main.files.clone();
    let syntax = loaded.diagnostics.iter().filter(|diagnostic| match diagnostic.place() {
        base_diag::Place::Span(file, _) | base_diag::Place::Line(file, _) => own.contains(&file),
        base_diag::Place::None => true,
    });
    Ok(ParseFileResult {
        ast_json: tree::file(&loaded.program, main, 0).to_string(),
        deps: direct(&loaded),
        errors: texts::messages(
            syntax.filter(|d| d.code.kind == base_diag::Code::SYNTAX.kind),
            &loaded.program.sources,
        ),
    })
}

/// Parses files and everything that they import.
///
/// # Errors
/// No such file.
pub fn parse_program(args: &ParseProgramArgs, budget: &Budget) -> Answer<ParseProgramResult> {
    let loaded = compiler(budget).load(&parse_request(args, budget)?);
    refuse_no_input(&loaded.diagnostics, &loaded.program.sources)?;
    Ok(ParseProgramResult {
        ast_json: tree::program(&loaded.program, &loaded.root).to_string(),
        paths: paths(&loaded),
        errors: texts::messages(&loaded.diagnostics, &loaded.program.sources),
    })
}

/// The files of the program, imported packages first.
pub(super) fn paths(loaded: &Loaded) -> Vec<String> {
    loaded.program.packages.iter().flat_map(|package| files(loaded, package)).collect()
}

/// The files of the packages that the main package itself imports.
fn direct(loaded: &Loaded) -> Vec<String> {
    use kcl_syntax::program::ImportTarget;
    let links = loaded.program.main_package().imports.iter();
    let imported = links.filter_map(|link| match link.target {
        ImportTarget::Package(id) => Some(loaded.program.package(id)),
        _ => None,
    });
    imported.flat_map(|package| files(loaded, package)).collect()
}

fn files(loaded: &Loaded, package: &Package) -> Vec<String> {
    let sources = package.files.iter().filter_map(|id| loaded.program.sources.get(*id));
    sources.map(|source| source.path.clone()).collect()
}
