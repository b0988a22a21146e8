//! `kcl krm`: a KCL program as a KRM function (a ResourceList in, a ResourceList out), as kustomize and kpt call one; with
//! `--manifests` as a filter of manifests, as Helm calls a post-renderer.

mod resources;
mod source;

use std::io::Read;
use std::process::ExitCode;

use base_diag::Code;
use kcl::{Compiler, Disk, DiskOutside, Formats, ReadOnly};

use crate::flags::{Flag, Given, flags, help, opened};
use crate::run::{error_format, render};
use crate::wrong::Wrong;
use crate::{EXIT_BUG, EXIT_WRONG};
use resources::Resources;

pub(crate) const FLAGS: &[Flag] = flags! {
    "source" Some('s'), "PATH|OCI|TEXT" "the program, where the input does not name one";
    "manifests" None, "" "the input is a stream of manifests, not a ResourceList; so is the output";
    "argument" Some('D'), "KEY=VALUE" "a parameter: option(\"params\").KEY";
    "max-steps" None, "N" "stop after N steps of work";
    "error-format" None, "full|short|json" "form of errors on standard error";
    "help" Some('h'), "" "print this";
};

/// A larger input is refused.
const MAX_BYTES: u64 = 256 << 20;

pub(crate) fn main(words: &[String]) -> ExitCode {
    let given = match opened("krm", FLAGS, words, usage) {
        Ok(given) => given,
        Err(code) => return code,
    };
    match run(&given) {
        Ok(code) => code,
        Err(wrong) => wrong.tell("krm"),
    }
}

fn usage() -> String {
    format!(
        "Runs a KCL program over Kubernetes resources.\n\nExamples:\n  kcl krm < resource-list.yaml               the program is \
         spec.source of the functionConfig\n  kcl krm --source ./labels.k < list.yaml\n  kustomize build --enable-alpha-plugins \
         --enable-exec .\n  helm template shop ./chart | kcl krm --manifests --source labels.k -D env=prod\n\nUsage: kcl krm \
         [flags] < INPUT > OUTPUT\n\n{}\nThe program gets option(\"items\"), option(\"params\") and option(\"resource_list\"). Its \
         variable `items` replaces\nthe items; without one, what it prints is added to them. It reads files below its folder and \
         writes none.\nExit codes: 0, 1 wrong input, 70 a bug of ours.\n",
        help(FLAGS)
    )
}

fn run(given: &Given) -> Result<ExitCode, Wrong> {
    if let Some(word) = given.rest.first() {
        let help = "the input is standard input; --source names the program";
        return Err(Wrong::with_help(format!("`{word}` is one word too many"), help));
    }
    let errors = error_format(given)?;
    let mut text = String::new();
    let read = std::io::stdin().lock().take(MAX_BYTES + 1).read_to_string(&mut text);
    read.map_err(|error| format!("standard input cannot be read: {error}"))?;
    if text.len() as u64 > MAX_BYTES {
        return Err(Wrong::from(format!("the input is larger than {} MiB", MAX_BYTES >> 20)));
    }
    let mut resources = match given.has("manifests") {
        true => Resources::of_manifests(&text),
        false => Resources::of_list(&text),
    }?;
    for argument in given.all("argument") {
        let (name, json) =
            kcl::argument(argument).map_err(|message| format!("{message}: `-D {argument}`"))?;
        resources.set_param(&name, &json);
    }
    let wanted = resources.source().or_else(|| given.last("source").map(str::to_owned));
    let wanted = wanted.ok_or_else(|| {
        Wrong::with_help(
            "there is no program",
            "put it into spec.source of the functionConfig, or name it with --source",
        )
    })?;
    let mut request = source::find(&wanted)?;
    request.formats = Formats::DATA;
    request.arguments = resources.arguments();
    if let Some(steps) = given.last("max-steps") {
        request.limits.steps =
            steps.parse().map_err(|_| format!("--max-steps {steps}: write a whole number"))?;
    }
    let outside = ReadOnly(DiskOutside::new(&request.work_dir));
    let result = Compiler::new(Disk).run(&request, &outside);
    // Standard output belongs to the resources.
    eprint!("{}", result.log);
    if !result.is_ok() {
        eprint!("{}", render(&result.diagnostics, &result.sources, errors));
        let bug = result.diagnostics.iter().any(|d| d.id == "internal-error");
        return Ok(ExitCode::from(if bug { EXIT_BUG } else { EXIT_WRONG }));
    }
    let out = resources.with_output(result.documents).map_err(|m| Wrong::from(m).coded(Code::EVALUATION))?;
    crate::say::result(&out)?;
    Ok(ExitCode::SUCCESS)
}
