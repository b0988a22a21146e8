//! `kcl vet`: data files against schemas, in parallel.

mod inputs;
mod report;

use std::process::ExitCode;

use kcl::{Compiler, Disk, DiskOutside, ReadOnly};
use kcl_vet::{Source, Unreadable, Verdict, Vet, WrongCode};

use crate::EXIT_WRONG;
use crate::flags::{Flag, flags, help, opened};
use crate::parallel::on_all;
use inputs::Inputs;
use report::{Checked, Report};

pub(crate) const FLAGS: &[Flag] = flags! {
    "schema" Some('s'), "NAME" "the schema: Name, or package.path.Name (default: the first of the code)";
    "attribute-name" Some('a'), "NAME" "the variable that holds the data, for checks outside the schema (default: value)";
    "format" None, "json|yaml|toml" "format of the data (default: by its ending, YAML for standard input)";
    "data" Some('d'), "FILE" "a data file, whatever its name";
    "package" Some('p'), "PATH" "a package with schemas; documents are matched by apiVersion and kind, unless -s names one";
    "by-kind" Some('k'), "" "match documents by apiVersion and kind with the schemas of the code and its imports";
    "fill" None, "" "print the data with the defaults of the schema";
    "external" Some('E'), "NAME=PATH" "the folder of an external package";
    "argument" Some('D'), "KEY=VALUE" "a value for option()";
    "json" None, "" "print one JSON object with the verdict of every document";
    "error-format" None, "full|short|json" "form of errors on standard error";
    "max-steps" None, "N" "stop after N steps of work";
    "max-memory" None, "N" "stop after N value cells";
    "max-depth" None, "N" "stop at N levels of nesting";
    "jobs" Some('j'), "N" "how many documents at a time (default: one per processor)";
    "help" Some('h'), "" "print this";
};

pub(crate) fn main(words: &[String]) -> ExitCode {
    let given = match opened("vet", FLAGS, words, usage) {
        Ok(given) => given,
        Err(code) => return code,
    };
    let inputs = match Inputs::new(&given) {
        Ok(inputs) => inputs,
        Err(message) => return wrong_call(&message),
    };
    match vet(&inputs) {
        Ok(report) => report.print(&inputs),
        Err(wrong) => report::print_wrong_code(wrong, &inputs),
    }
}

fn usage() -> String {
    format!(
        "Checks data files against schemas.\n\nExamples:\n  kcl vet user.json schema.k\n  kcl vet a.yaml b.yaml schema.k -s User\n  \
         cat user.json | kcl vet - schema.k --format json\n  kcl vet deploy.yaml -p k8s.apps.v1 -E k8s=./k8s   each document \
         by its apiVersion and kind\n  kcl vet user.yaml schema.k --fill                 the data with its defaults\n\nUsage: \
         kcl vet DATA… [CODE.k|FOLDER]… [flags]\n\n{}\nFiles that end in .k and folders are code, everything else is data; `-` is \
         standard input.\nA YAML file may hold many documents, and a list is checked element by element. Exit codes: 0 all\nholds, \
         1 something does not or the call is wrong, 70 a bug of ours.\n",
        help(FLAGS)
    )
}

fn wrong_call(message: &str) -> ExitCode {
    eprintln!("error: {message}\nhelp: `kcl vet --help` lists the flags");
    ExitCode::from(EXIT_WRONG)
}

/// A file of data, or why there is none.
type Loaded = Result<Source, LoadError>;

enum LoadError {
    /// The sentence goes on after the path.
    File(String),
    Data(Unreadable),
}

fn vet(inputs: &Inputs) -> Result<Report, WrongCode> {
    let compiler = Compiler::new(Disk);
    let vet = Vet::new(&compiler, inputs.code.clone(), &inputs.wish)?;
    let world = ReadOnly(DiskOutside::new(&inputs.code.work_dir));
    let sources: Vec<Loaded> = on_all(inputs.jobs, inputs.data.len(), |at| {
        let mut source = inputs.load(at)?;
        source.documents = vet.split(source.documents);
        Ok(source)
    });
    let jobs: Vec<(usize, usize)> = (0..)
        .zip(&sources)
        .filter_map(|(file, source)| Some((file, source.as_ref().ok()?.documents.len())))
        .flat_map(|(file, documents)| (0..documents).map(move |document| (file, document)))
        .collect();
    let verdicts: Vec<Option<Verdict>> = on_all(inputs.jobs, jobs.len(), |at| {
        let (file, document) = jobs.get(at)?;
        let source = sources.get(*file)?.as_ref().ok()?;
        Some(vet.check(source, source.documents.get(*document)?, &world))
    });
    let mut verdicts = verdicts.into_iter().flatten();
    let checked = sources.into_iter().zip(&inputs.data).map(|(source, name)| match source {
        Err(error) => Checked { path: name.shown(), outcome: Err(error) },
        Ok(source) => {
            let numbers = source.documents.iter().map(|document| document.number);
            let documents = numbers.zip(verdicts.by_ref()).collect();
            Checked { path: name.shown(), outcome: Ok(documents) }
        }
    });
    Ok(Report { files: checked.collect() })
}
