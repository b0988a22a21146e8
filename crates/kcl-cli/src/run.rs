//! `kcl run`.

use std::io::{IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use base_diag::{Color, Diagnostic, SourceMap, render_full, render_short, to_json};
use kcl::{Compiler, Disk, DiskOutside, Entry, Formats, Reads, Request, RunResult, SettingsError};

use crate::flags::{Flag, Given, help, read};
use crate::plugin::Plugins;
use crate::wrong::Wrong;
use crate::{EXIT_BUG, EXIT_WRONG};

macro_rules! flags {
    ($($long:literal $short:expr, $value:literal $greedy:literal $help:literal;)*) => {
        &[$(Flag { long: $long, short: $short, value: $value, greedy: $greedy, help: $help },)*]
    };
}

pub(crate) const FLAGS: &[Flag] = flags! {
    "argument" Some('D'), "KEY=VALUE" true "a value for option(); JSON, or text";
    "overrides" Some('O'), "PATH=VALUE" true "change the source before it runs: a.b=1, a.b:{..}, a.l+=[1], a.b-";
    "path-selector" Some('S'), "PATH" true "print only this part of the result";
    "setting" Some('Y'), "FILE" true "settings files, merged in order (default: kcl.yaml, if there)";
    "external" Some('E'), "NAME=PATH" true "the folder of an external package";
    "format" Some('f'), "yaml|json|toml|xml" false "format of the output";
    "output" Some('o'), "FILE" false "write to a file instead of standard output";
    "disable-none" Some('n'), "" false "leave out keys whose value is None";
    "sort-keys" Some('k'), "" false "sort keys on all levels";
    "show-hidden" Some('H'), "" false "print names that start with _";
    "strict-range-check" Some('r'), "" false "check integers and floats against 32 bits";
    "debug" Some('d'), "" false "keep 64-bit checks beside -r; errors carry a backtrace; with -O, write the changes into the files";
    "why" None, "PATH" false "print where the value at a path came from";
    "plugin" None, "NAME=COMMAND" false "start COMMAND for `import kcl_plugin.NAME`";
    "allow-files" None, "" false "let file.* reach outside the module and the work folder";
    "edition" None, "0.12|0.13" false "language edition";
    "max-steps" None, "N" false "stop after N steps of work";
    "max-memory" None, "N" false "stop after N value cells";
    "max-depth" None, "N" false "stop at N levels of nesting";
    "error-format" None, "full|short|json" false "form of errors on standard error";
    "watch" Some('w'), "" false "run again whenever a source file changes";
    "vendor" Some('V'), "" false "accepted for compatibility: vendored packages are always used";
    "quiet" Some('q'), "" false "accepted for compatibility";
    "verbose" Some('v'), "" false "accepted for compatibility";
    "fast-eval" Some('K'), "" false "accepted for compatibility";
    "recursive" Some('R'), "" false "accepted for compatibility";
    "no-style" None, "" false "accepted for compatibility: colour follows the terminal and NO_COLOR";
    "target" None, "NAME" false "accepted for compatibility";
    "oci" None, "URL" false "run the package of a registry: oci://HOST/PATH; a word oci://HOST/PATH:TAG does the same";
    "git" None, "URL" false "run the package of a Git repository";
    "tag" Some('t'), "TAG" false "with --oci or --git: this tag (default: the greatest version)";
    "commit" Some('c'), "COMMIT" false "with --git: this commit";
    "branch" Some('b'), "BRANCH" false "with --git: this branch";
    "package" None, "NAME" false "with --git: the package of that name in the repository";
    "path" None, "PATH" false "refused: name the folder itself";
    "help" Some('h'), "" false "print this";
};

pub(crate) fn main(words: &[String]) -> ExitCode {
    let given = match read(FLAGS, words) {
        Ok(given) => given,
        Err(message) => return Wrong::from(message).tell("run"),
    };
    if given.has("help") {
        print!("{}", usage());
        return ExitCode::SUCCESS;
    }
    let job = match Job::new(&given) {
        Ok(job) => job,
        Err(wrong) => return wrong.tell("run"),
    };
    if given.has("watch") {
        return crate::watch::watch(&job);
    }
    let compiler = Compiler::new(Disk);
    let (code, _) = job.run(&compiler, &job.world());
    if code == ExitCode::SUCCESS && job.request.debug && given.has("overrides") {
        return match crate::edit::write_back(&job.request, &job.request.overrides) {
            Ok(()) => code,
            Err(message) => {
                eprintln!("error: {message}");
                ExitCode::from(EXIT_WRONG)
            }
        };
    }
    // The process ends: the operating system gives the memory back.
    std::mem::forget(compiler);
    code
}

fn usage() -> String {
    format!(
        "Evaluates KCL files and prints the result.\n\nExamples:\n  kcl run main.k\n  kcl run base.k prod.k -D env=prod -o \
         out.yaml\n  cat main.k | kcl run -\n  kcl run oci://registry.example.org/team/shop:0.3.1\n  kcl run --git \
         https://git.example.org/shop.git --tag v1.4.0\n\nUsage: kcl run [FILE|FOLDER|-]… [flags]\n\n{}\nData goes to standard output, \
         everything else to standard error. Exit codes: 0, 1 wrong input, 70 a bug of ours.\n",
        help(FLAGS)
    )
}

/// One evaluation as the command line describes it.
pub(crate) struct Job {
    request: Request,
    format: Format,
    output: Option<PathBuf>,
    errors: ErrorFormat,
    why: Option<String>,
    allow_files: bool,
    plugins: Vec<(String, String)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Yaml,
    Json,
    Other,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorFormat {
    Full,
    Short,
    Json,
}

impl Job {
    fn new(given: &Given) -> Result<Job, Wrong> {
        if given.has("path") {
            let help = "name the folder itself: kcl run FOLDER";
            return Err(Wrong::with_help(
                "--path is for packages in archives, which a run does not open",
                help,
            ));
        }
        let remote = crate::remote::fetched(given)?;
        let work_dir = std::env::current_dir().map_err(|e| format!("the working folder is gone: {e}"))?;
        let mut request = Request { work_dir: work_dir.clone(), ..Request::default() };
        let mut settings = kcl::Settings::default();
        let files = given.all("setting");
        let default = work_dir.join("kcl.yaml");
        let found: Vec<PathBuf> = match files.is_empty() {
            true => default.is_file().then_some(default).into_iter().collect(),
            false => files.iter().map(|f| work_dir.join(f)).collect(),
        };
        for (i, path) in found.iter().enumerate() {
            let shown = files.get(i).map_or_else(|| "kcl.yaml".to_owned(), |f| (*f).to_owned());
            let text = std::fs::read_to_string(path).map_err(|e| unreadable_settings(&shown, &e))?;
            let folder = path.parent().unwrap_or(&work_dir);
            settings.add(&text, &shown, folder, &mut request).map_err(|error| {
                Wrong::with_help(error.message, SettingsError::HELP).coded(SettingsError::CODE)
            })?;
        }
        match &remote {
            None => apply_entries(given, &work_dir, &mut request)?,
            Some(remote) => request.entries = vec![Entry::Path(remote.folder.display().to_string())],
        }
        apply_profile(&mut request)?;
        apply_flags(given, &work_dir, &mut request)?;
        request.vendor = kcl::package_folder();
        if let Some(remote) = remote {
            request.externals.extend(remote.externals.iter().cloned());
            remote.keep_inside(&request)?;
        }
        let plugins = pairs(given, "plugin")?;
        request.plugins = plugins.iter().map(|(name, _)| name.clone()).collect();
        let format = match given.last("format") {
            None | Some("yaml") => Format::Yaml,
            Some("json") => Format::Json,
            Some("toml" | "xml") => Format::Other,
            Some(other) => {
                return Err(format!("`{other}` is not a format: use yaml, json, toml or xml").into());
            }
        };
        match format {
            Format::Yaml => request.formats = Formats { yaml: true, ..Formats::NONE },
            Format::Json => request.formats = Formats { json_pretty: true, ..Formats::NONE },
            Format::Other => {
                let toml = given.last("format") == Some("toml");
                request.formats = Formats { toml, xml: !toml, ..Formats::NONE };
            }
        }
        request.one_shot = !given.has("watch");
        Ok(Job {
            request,
            format,
            output: given.last("output").map(PathBuf::from).or(settings.output),
            errors: error_format(given)?,
            why: given.last("why").map(str::to_owned),
            allow_files: given.has("allow-files"),
            plugins,
        })
    }

    /// Runs once; prints the result or the errors. Also returns what it read.
    pub(crate) fn run(&self, compiler: &Compiler<'_>, world: &Plugins) -> (ExitCode, Reads) {
        let mut outcome = compiler.run(&self.request, world);
        let reads = std::mem::take(&mut outcome.reads);
        (self.tell(outcome), reads)
    }

    /// Whether what a run read is still so.
    pub(crate) fn still_valid(&self, compiler: &Compiler<'_>, reads: &Reads, world: &Plugins) -> bool {
        compiler.still_valid(reads, &self.request, world)
    }

    /// What the program may touch.
    pub(crate) fn world(&self) -> Plugins {
        let mut world = DiskOutside::new(&self.request.work_dir);
        world.allow_all_files = self.allow_files;
        Plugins::new(world, &self.plugins)
    }

    fn tell(&self, mut outcome: RunResult) -> ExitCode {
        if !outcome.log.is_empty() {
            print!("{}", outcome.log);
        }
        if !outcome.is_ok() {
            return self.fail(&outcome);
        }
        if let Some(path) = &self.why {
            return match &outcome.why {
                Some(why) if why.get(path).is_some() => {
                    print!("{}", why.render(path, &self.request.work_dir));
                    ExitCode::SUCCESS
                }
                Some(why) => {
                    eprint!("error: {}", why.render(path, &self.request.work_dir));
                    ExitCode::from(EXIT_WRONG)
                }
                None => ExitCode::from(EXIT_BUG),
            };
        }
        self.print(&mut outcome)
    }

    fn print(&self, outcome: &mut RunResult) -> ExitCode {
        let mut text = match self.format {
            Format::Yaml => std::mem::take(&mut outcome.yaml),
            Format::Json => std::mem::take(&mut outcome.json_pretty),
            Format::Other => std::mem::take(&mut outcome.other),
        };
        if !text.is_empty() {
            text.push('\n');
        }
        let written = match &self.output {
            Some(path) => base_file::replace(path, text.as_bytes(), base_file::How::Plain),
            None => std::io::stdout().write_all(text.as_bytes()),
        };
        match written {
            Ok(()) => ExitCode::SUCCESS,
            // Whoever reads us may stop early (`| head`): that is success.
            Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
            Err(e) => {
                let to = self.output.as_ref().map_or("standard output".into(), |p| p.display().to_string());
                eprintln!("error: cannot write to {to}: {e}\nhelp: -o takes a file in a folder that exists");
                ExitCode::from(EXIT_WRONG)
            }
        }
    }

    fn fail(&self, outcome: &RunResult) -> ExitCode {
        let mut sources = outcome.sources.clone();
        if let Ok(folder) = std::env::current_dir() {
            sources.show_from(folder.display().to_string());
        }
        eprint!("{}", render(&outcome.diagnostics, &sources, self.errors));
        let bug = outcome.diagnostics.iter().any(|d| d.id == "internal-error");
        ExitCode::from(if bug { EXIT_BUG } else { EXIT_WRONG })
    }
}

/// The form of errors: the flag, else the variable `KCL_ERROR_FORMAT`.
pub(crate) fn error_format(given: &Given) -> Result<ErrorFormat, String> {
    let variable = std::env::var("KCL_ERROR_FORMAT").ok();
    match given.last("error-format").or(variable.as_deref()) {
        None | Some("" | "full" | "pretty") => Ok(ErrorFormat::Full),
        Some("short") => Ok(ErrorFormat::Short),
        Some("json") => Ok(ErrorFormat::Json),
        Some(other) => Err(format!("`{other}` is not an error format: use full, short or json")),
    }
}

/// Flags and words that ask for a package from somewhere else.
/// So many mistakes are told; the others are counted.
const TOLD: usize = 20;

/// Errors for standard error.
pub(crate) fn render(diagnostics: &[Diagnostic], sources: &SourceMap, format: ErrorFormat) -> String {
    let plain = std::env::var_os("NO_COLOR").is_some() || !std::io::stderr().is_terminal();
    render_in(diagnostics, sources, format, if plain { Color::Never } else { Color::Always })
}

/// Errors for a place that takes colours or not.
pub(crate) fn render_in(
    diagnostics: &[Diagnostic],
    sources: &SourceMap,
    format: ErrorFormat,
    color: Color,
) -> String {
    let told = &diagnostics[..diagnostics.len().min(TOLD)];
    match format {
        ErrorFormat::Short => {
            let mut out: String = told.iter().map(|d| render_short(d, sources) + "\n").collect();
            if told.len() < diagnostics.len() {
                out.push_str(&format!("{} more errors\n", diagnostics.len() - told.len()));
            }
            out
        }
        ErrorFormat::Json => {
            let all: Vec<_> = diagnostics.iter().map(|d| to_json(d, sources)).collect();
            format!("{}\n", serde_json::Value::Array(all))
        }
        ErrorFormat::Full => {
            let mut out: String = told.iter().map(|d| render_full(d, sources, color) + "\n").collect();
            if let Some(first) = diagnostics.first() {
                // The checker stops counting where a text is nothing but mistakes.
                let endless = diagnostics.last().is_some_and(|last| last.id == "too-many-errors");
                let n = diagnostics.len() - usize::from(endless);
                let more = if endless { "more than " } else { "" };
                let s = if n == 1 { "" } else { "s" };
                let shown = if n > TOLD { format!(", of which {TOLD} are shown") } else { String::new() };
                out.push_str(&format!(
                    "{more}{n} error{s}{shown}. More: `kcl explain {}`\n",
                    first.code.code
                ));
            }
            out
        }
    }
}

fn apply_flags(given: &Given, stand: &Path, request: &mut Request) -> Result<(), Wrong> {
    for argument in given.all("argument") {
        request.arguments.push(kcl::argument(argument).map_err(|m| wrong_argument(&m, argument))?);
    }
    if given.has("overrides") {
        request.overrides = given.all("overrides").iter().map(|s| (*s).to_owned()).collect();
    }
    if given.has("path-selector") {
        request.selectors = given.all("path-selector").iter().map(|s| (*s).to_owned()).collect();
    }
    let elsewhere = request.work_dir != stand;
    let path = |path: String| if elsewhere { stand.join(path) } else { PathBuf::from(path) };
    request.externals.extend(pairs(given, "external")?.into_iter().map(|(name, p)| (name, path(p))));
    request.output.disable_none |= given.has("disable-none");
    request.output.sort_keys |= given.has("sort-keys");
    request.output.show_hidden |= given.has("show-hidden");
    request.strict_range |= given.has("strict-range-check");
    request.debug |= given.has("debug");
    request.track_origins = given.has("why");
    limits(given, &mut request.limits)?;
    request.edition = match given.last("edition") {
        None => None,
        Some("0.12" | "0.12.4") => Some(kcl::Edition::Reference),
        Some("0.13") => Some(kcl::Edition::V0_13),
        Some(other) => return Err(format!("`{other}` is not an edition: use 0.12 or 0.13").into()),
    };
    Ok(())
}

fn unreadable_settings(shown: &str, error: &std::io::Error) -> Wrong {
    let wrong = match error.kind() {
        std::io::ErrorKind::NotFound => Wrong::with_help(
            format!("Failed to load '{shown}', no such file or directory"),
            "-Y takes settings files (kcl.yaml); the files to run stand before it or after `--`",
        ),
        _ => Wrong::with_help(
            format!("Failed to load '{shown}', {error}"),
            "-Y takes settings files (kcl.yaml)",
        ),
    };
    wrong.coded(SettingsError::CODE)
}

fn wrong_argument(message: &str, argument: &str) -> Wrong {
    let help = match argument.matches('=').count() {
        0 | 1 => "write -D key=value",
        _ => "a value with `=` in it goes into a settings file: kcl_options: [{key: .., value: ..}]",
    };
    Wrong::with_help(format!("{message}: `-D {argument}`"), help)
}

/// Paths on the command line start where one stands, whatever folder a settings file speaks of.
fn apply_entries(given: &Given, stand: &Path, request: &mut Request) -> Result<(), Wrong> {
    if !given.rest.is_empty() {
        request.entries.clear();
    }
    for word in &given.rest {
        if word == "-" {
            let mut text = String::new();
            std::io::stdin()
                .read_to_string(&mut text)
                .map_err(|e| format!("cannot read standard input: {e}"))?;
            request.entries.push(Entry::Source { path: "stdin.k".into(), text });
        } else {
            let elsewhere = request.work_dir != stand && !word.starts_with("${");
            let path = if elsewhere { stand.join(word).display().to_string() } else { word.clone() };
            request.entries.push(Entry::Path(path));
        }
    }
    if request.entries.is_empty() {
        // Nothing said: the package in this folder.
        request.entries.push(Entry::Path(".".into()));
    }
    Ok(())
}

/// A folder alone is run as its `kcl.mod` says under `[profile]`.
pub(crate) fn apply_profile(request: &mut Request) -> Result<(), Wrong> {
    let [Entry::Path(only)] = request.entries.as_slice() else { return Ok(()) };
    let folder = request.work_dir.join(only);
    let Ok(text) = std::fs::read_to_string(folder.join("kcl.mod")) else { return Ok(()) };
    if !text.contains("profile") {
        return Ok(());
    }
    let profile = kcl::Manifest::parse(&text)?.profile;
    if profile.entries.is_empty() {
        return Ok(());
    }
    // The module is the one whose profile it is, wherever it is run from.
    let inside = |entry: &String| match entry.strip_prefix("${KCL_MOD}") {
        Some(rest) => format!("{}{rest}", folder.display()),
        None if entry.starts_with("${") => entry.clone(),
        None => folder.join(entry).display().to_string(),
    };
    request.entries = profile.entries.iter().map(|e| Entry::Path(inside(e))).collect();
    request.output.disable_none |= profile.disable_none;
    request.output.sort_keys |= profile.sort_keys;
    request.selectors.extend(profile.selectors);
    request.overrides.extend(profile.overrides);
    for argument in &profile.arguments {
        request.arguments.push(kcl::argument(argument).map_err(|m| format!("kcl.mod: {m}: {argument}"))?);
    }
    Ok(())
}

pub(crate) fn pairs(given: &Given, flag: &str) -> Result<Vec<(String, String)>, String> {
    let split = |text: &&str| match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => {
            Ok((name.to_owned(), value.to_owned()))
        }
        _ => Err(format!("--{flag} {text}: write NAME=VALUE")),
    };
    given.all(flag).iter().map(split).collect()
}

/// The budgets that a call sets: errors name these flags.
pub(crate) fn limits(given: &Given, limits: &mut kcl::Limits) -> Result<(), String> {
    limits.steps = number(given, "max-steps", limits.steps)?;
    limits.cells = number(given, "max-memory", limits.cells)?;
    let depth = number(given, "max-depth", u64::from(limits.depth))?;
    limits.depth = u32::try_from(depth).unwrap_or(u32::MAX).min(limits.depth.max(DEEPEST));
    Ok(())
}

/// Nobody may nest deeper: stacks are made for it.
const DEEPEST: u32 = 8_000;

fn number(given: &Given, flag: &str, default: u64) -> Result<u64, String> {
    match given.last(flag) {
        None => Ok(default),
        Some(text) => text.parse().map_err(|_| format!("--{flag} {text}: write a whole number")),
    }
}
