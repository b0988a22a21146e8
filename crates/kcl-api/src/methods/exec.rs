//! `ExecProgram`: run files or texts.

use base_diag::{Code, Diagnostic, SourceMap};
use kcl::{DiskOutside, Formats, Request, RunResult};

use super::{compiler, entries, folder, overrides, request};
use crate::messages::{ExecProgramArgs, ExecProgramResult};
use crate::{Answer, Budget, Failure, Reason, texts};

/// Runs a program. What does not compile is a failure; a run-time error stands in the answer.
///
/// # Errors
/// No input, errors in the code, or a wish that does not exist.
pub fn exec_program(args: &ExecProgramArgs, budget: &Budget) -> Answer<ExecProgramResult> {
    let told = telling(&args.error_format)?;
    let mut request = run_request(args, budget)?;
    let yaml = args.format != "json" && !args.disable_yaml_result;
    request.formats = match args.format.as_str() {
        "" | "json" | "yaml" => Formats { yaml, json: args.format != "yaml", ..Formats::NONE },
        other => return Err(Failure::wrong(format!("`{other}` is no format: use json or yaml"))),
    };
    let compiler = compiler(budget);
    if args.compile_only {
        let checked = compiler.checked(&request);
        return match checked.diagnostics.is_empty() {
            true => Ok(ExecProgramResult::default()),
            false => Err(Failure::wrong(told(&checked.diagnostics, &checked.program.sources))),
        };
    }
    let outcome = compiler.run(&request, &DiskOutside::new(&request.work_dir));
    let result = answer(outcome, told)?;
    if args.print_override_ast && result.err_message.is_empty() {
        overrides::write_back(&request, &args.overrides)?;
    }
    Ok(result)
}

type Telling = fn(&[Diagnostic], &SourceMap) -> String;

fn telling(format: &str) -> Answer<Telling> {
    match format {
        "" | "pretty" => Ok(texts::pretty),
        "short" => Ok(texts::short),
        other => Err(Failure::wrong(format!(
            "invalid diagnostic format `{other}` (expected one of: pretty, short)"
        ))),
    }
}

fn answer(outcome: RunResult, told: Telling) -> Answer<ExecProgramResult> {
    let RunResult { yaml, json, log, diagnostics, sources, .. } = outcome;
    let Some(first) = diagnostics.first() else {
        return Ok(ExecProgramResult {
            json_result: json,
            yaml_result: yaml,
            log_message: log,
            ..Default::default()
        });
    };
    let text = told(&diagnostics, &sources);
    match first.id {
        "internal-error" => Err(Failure::new(Reason::Bug, text)),
        "no-input" => Err(Failure::wrong(text)),
        _ if first.code == Code::EVALUATION => {
            Ok(ExecProgramResult { log_message: log, err_message: text, ..Default::default() })
        }
        _ => Err(Failure::wrong(text)),
    }
}

/// The request that the arguments of a run mean, without formats.
pub(super) fn run_request(args: &ExecProgramArgs, budget: &Budget) -> Answer<Request> {
    let work_dir = folder(&args.work_dir)?;
    // A text whose name is relative stands in the work folder, like a file.
    let named = |(at, name): (usize, &String)| match args.k_code_list.get(at) {
        Some(_) if !args.work_dir.is_empty() => work_dir.join(name).display().to_string(),
        _ => name.clone(),
    };
    let names: Vec<String> = args.k_filename_list.iter().enumerate().map(named).collect();
    let mut request = request(work_dir, &args.external_pkgs, budget);
    request.entries = entries(&names, &args.k_code_list);
    request.arguments = args.args.iter().map(|a| (a.name.clone(), a.value.clone())).collect();
    request.overrides.clone_from(&args.overrides);
    request.selectors.clone_from(&args.path_selector);
    request.strict_range = args.strict_range_check;
    request.debug = args.debug != 0;
    request.output.disable_none = args.disable_none;
    request.output.sort_keys = args.sort_keys;
    request.output.show_hidden = args.show_hidden;
    request.output.schema_type_path = args.include_schema_type_path;
    Ok(request)
}
