//! What can be wrong before a program is checked and after it ran: one table (syntax, types and evaluation have their own).

use std::path::Path;

base_diag::mistakes! {
    /// A mistake around a program: what it is made of, how it is asked for, how it is written out.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub(crate) enum Mistake;

    /// A kcl.mod that cannot be read.
    BadManifest { why: String } = MODULE "bad-manifest" {
        sentence: why.clone(),
        help: "kcl.mod is TOML: [package], [dependencies] (name = \"1.0\" or name = { path = \"..\" }), [profile]",
    }
    /// A package that is not what kcl.mod.lock says, or whose signature nobody has looked at.
    UnprovenPackage { name: String, why: String, next: &'static str } = MODULE "unproven-package" {
        sentence: format!("package `{name}`: {why}"),
        help: *next,
    }
    /// Nothing to run.
    NoInput { why: String, hint: String } = EVALUATION "no-input" { sentence: why.clone(), help: hint.clone() }
    /// A file of a package that cannot be read.
    UnreadableFile { why: String } = MODULE "unreadable-file" { sentence: why.clone() }
    /// Two imports under one name.
    DuplicateImportName { name: String } = COMPILE "duplicate-import-name" {
        sentence: format!("the name '{name}' is defined multiple times, '{name}' must be defined only once"),
    }

    /// A file that imports itself.
    SelfImport { file: Member } = RECURSIVE_LOAD "import-cycle" {
        sentence: cycle(std::slice::from_ref(file)),
        title: format!("`{}` imports itself", file.near),
        help: "remove the import: names of one package need none",
    }
    /// Imported files that import one another.
    ImportCycle { files: Vec<Member> } = RECURSIVE_LOAD "import-cycle" {
        sentence: cycle(files),
        title: one_another(files),
        help: THIRD_PACKAGE,
    }
    /// A cycle that goes through the file that is run: the imported files come first, that one last.
    EntryCycle { files: Vec<Member> } = COMPILE "import-cycle" {
        sentence: format!(
            "There is a circular reference between modules {}",
            files.iter().map(Member::module).collect::<Vec<_>>().join(", ")
        ),
        title: one_another(files),
        help: THIRD_PACKAGE,
    }

    /// An import of what is not there. The reference has two sentences; one mistake is told once.
    ModuleNotFound { path: String, looked_at: String, hint: String } = MODULE "module-not-found" {
        sentence: match path.starts_with('.') {
            true => format!("Cannot find the module {path} from {looked_at}"),
            false => format!("pkgpath {path} not found in the program"),
        },
        title: format!("there is no package `{path}`"),
        help: hint.clone(),
    }
    /// An import that leaves the root of the module.
    AboveRoot { raw: String, root: String } = MODULE "module-not-found" {
        sentence: format!(
            "Failed to import the module {raw} from {root}. No KCL files found in the specified folder"
        ),
    }
    /// A package that stands in two places.
    FoundTwice { path: String } = MODULE "module-found-twice" {
        sentence: format!("the `{path}` is found multiple times in the current package and vendor package"),
    }
    /// A plugin that nobody allowed.
    PluginNotEnabled { path: String } = MODULE "plugin-not-enabled" {
        sentence: format!("the plugin package `{path}` is not found, please confirm if plugin mode is enabled"),
        help: "enable it with --plugin NAME=COMMAND",
    }

    /// The caller stopped the run.
    Cancelled = EVALUATION "cancelled" { sentence: "the run was cancelled" }
    /// A defect of ours.
    InternalError = EVALUATION "internal-error" {
        sentence: "internal error: the evaluator stopped unexpectedly; please report this program",
    }
    /// An output that TOML cannot hold: it is no mapping.
    NoTable = EVALUATION "format" {
        sentence: "only a mapping can be written as TOML",
        help: "write it in another format, or give it a name: `items = [..]`",
    }
    /// An output that TOML cannot hold: it is a stream.
    TomlStream = EVALUATION "format" {
        sentence: "a stream of documents cannot be written as TOML",
        help: "write it as YAML, or choose one of its documents: `-S PATH`",
    }
    /// An output that TOML cannot hold: None in a list.
    TomlNull = EVALUATION "format" {
        sentence: "null array element cannot be represented in TOML",
        title: "TOML has no `None` in a list",
        help: "leave it out: `[x for x in list if x != None]`",
    }
    /// An output that TOML cannot hold, as its writer says.
    Toml { why: String } = EVALUATION "format" { sentence: why.clone() }
    /// An output that is too deep to be written.
    OutputTooDeep { levels: usize } = EVALUATION "output-too-deep" {
        sentence: format!("the output nests deeper than {levels} levels"),
    }
}

const THIRD_PACKAGE: &str = "put what both need into a third package";

/// A file of an import cycle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Member {
    /// Its path.
    full: String,
    /// Its path from the working folder.
    near: String,
}

impl Member {
    pub(crate) fn new(file: &Path, work_dir: &Path) -> Self {
        let near = file.strip_prefix(work_dir).unwrap_or(file);
        Member { full: file.display().to_string(), near: near.display().to_string() }
    }

    fn module(&self) -> String {
        self.near.trim_end_matches(".k").replace('/', ".")
    }
}

fn cycle(files: &[Member]) -> String {
    let lines: String = files.iter().map(|file| format!("\n- {}", file.full)).collect();
    format!("Could not compiles due to cyclic import statements{lines}")
}

fn one_another(files: &[Member]) -> String {
    let quoted: Vec<String> = files.iter().map(|file| format!("`{}`", file.near)).collect();
    format!("these files import one another: {}", quoted.join(", "))
}
