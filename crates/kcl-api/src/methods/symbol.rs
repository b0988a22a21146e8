//! `SymbolAt`: what is named at a place, of which type, where it is declared and where else it is named.

use base_diag::Place;
use kcl::{Defined, Entry};
use kcl_check::index::Role;

use super::{compiler, folder, refuse_no_input, request};
use crate::messages::{SymbolAtArgs, SymbolAtResult};
use crate::{Answer, Budget, texts};

/// Says what stands at a place of a file.
///
/// # Errors
/// No such file.
pub fn symbol_at(args: &SymbolAtArgs, budget: &Budget) -> Answer<SymbolAtResult> {
    let mut request = request(folder("")?, &args.external_pkgs, budget);
    request.entries = vec![match &args.source {
        Some(text) => Entry::Source { path: args.file.clone(), text: text.clone() },
        None => Entry::Path(args.file.clone()),
    }];
    let index = compiler(budget).index(&request);
    refuse_no_input(&index.diagnostics, &index.program.sources)?;
    let sources = &index.program.sources;
    let main = index.program.main_package();
    let (Some(file), Ok(line)) = (main.files.first().copied(), u32::try_from(args.line)) else {
        return Ok(SymbolAtResult::default());
    };
    let Some(source) = sources.get(file) else { return Ok(SymbolAtResult::default()) };
    let start = source.lines().line_start(line.max(1));
    let line_text =
        source.text.get(start as usize..).and_then(|rest| rest.lines().next()).unwrap_or_default();
    let column = line_text.char_indices().nth(usize::try_from(args.column).unwrap_or(usize::MAX));
    let Some((inside, _)) = column else { return Ok(SymbolAtResult::default()) };
    let offset = start + inside as u32;
    let mut result = SymbolAtResult {
        ty: index.type_at(file, offset).map(|ty| ty.text).unwrap_or_default(),
        ..SymbolAtResult::default()
    };
    if let Some(definition) = index.definition(file, offset) {
        result.name = definition.name.to_string();
        result.kind = match definition.kind {
            Defined::Here(kind) => kind.word(),
            Defined::Builtin => "built-in function",
            Defined::SystemMember => "member of a system module",
            Defined::Method => "method",
        }
        .to_owned();
        result.definition =
            definition.place.map(|(file, span)| texts::position(Place::Span(file, span), sources));
        let references = index.references(file, offset);
        // A declaration reads no value, so its type is that of the first place that reads it.
        if result.ty.is_empty() {
            let read = references.iter().filter(|found| found.role == Role::Read);
            let mut types = read.filter_map(|found| index.type_at(found.file, found.span.start));
            result.ty = types.next().map(|ty| ty.text).unwrap_or_default();
        }
        let place = |found: kcl::Reference| texts::position(Place::Span(found.file, found.span), sources);
        result.references = references.into_iter().map(place).collect();
    }
    Ok(result)
}
