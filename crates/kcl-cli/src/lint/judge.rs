//! One unit: load, check, judge, mend.

use std::collections::{HashMap, HashSet};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use base_diag::{Color, Diagnostic, FileId, Place, SourceMap};
use kcl::{Analysis, Compiler, Entry, Request};
use kcl_lint::{Config, Finding, Input, Level};

use super::item::{Form, Item};
use super::units::{Unit, absolute, is_test};
use super::{Format, Wish};
use crate::files;

/// Rounds of fixes: one may uncover the next.
const ROUNDS: usize = 10;

/// What became of a unit.
#[derive(Default)]
pub(super) struct Done {
    pub(super) items: Vec<Item>,
    /// Files that were or would be changed: the path and, if asked for, the difference.
    pub(super) changed: Vec<(String, String)>,
    pub(super) mended: usize,
    /// What went wrong around the files: the path and the reason.
    pub(super) errors: Vec<(String, String)>,
    pub(super) files: usize,
    pub(super) is_bug: bool,
}

impl Done {
    pub(super) fn bug(unit: &Unit) -> Done {
        let path = unit.owned.first().map(|(_, shown)| shown.clone()).unwrap_or_default();
        let errors =
            vec![(path, "internal error: the linter stopped unexpectedly; please report it".to_owned())];
        Done { errors, is_bug: true, ..Done::default() }
    }
}

/// The configurations of modules, read once each.
#[derive(Default)]
pub(super) struct Configs(Mutex<HashMap<PathBuf, Result<Arc<Config>, String>>>);

impl Configs {
    fn of(&self, root: &Path) -> Result<Arc<Config>, String> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let read = || {
            let file = root.join("kcl.mod");
            let text = match file.exists() {
                true => files::read(&file).and_then(files::text_of)?,
                false => String::new(),
            };
            Config::parse(&text).map(Arc::new).map_err(|why| format!("is not understood: {why}"))
        };
        known.entry(root.to_path_buf()).or_insert_with(read).clone()
    }
}

/// The `kcl.mod` of a module as one names it from here.
fn shown_module(root: &Path) -> String {
    let file = root.join("kcl.mod");
    let here = std::env::current_dir().map(|here| absolute(&here)).unwrap_or_default();
    file.strip_prefix(here).unwrap_or(&file).display().to_string()
}

/// Private names that the files of a module read of a package, by the module's root; looked for when somebody asks.
#[derive(Default)]
pub(super) struct Privates(Mutex<HashMap<PathBuf, Arc<HashSet<String>>>>);

impl Privates {
    fn of(&self, root: &Path) -> Arc<HashSet<String>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(known.entry(root.to_path_buf()).or_insert_with(|| Arc::new(private_reads(root))))
    }
}

/// Every `._name` in the files of a module.
fn private_reads(root: &Path) -> HashSet<String> {
    let mut found = HashSet::new();
    for file in files::find(&[format!("{}/...", root.display())]).files {
        let Ok(text) = files::read(&file).and_then(files::text_of) else { continue };
        for (at, _) in text.match_indices("._") {
            let rest = &text[at + 1..];
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            found.insert(rest[..end].to_owned());
        }
    }
    found
}

/// Judges a unit, and mends it if that is wanted.
pub(super) fn judge(
    compiler: &Compiler<'_>,
    unit: &Unit,
    (configs, privates): (&Configs, &Privates),
    wish: &Wish,
) -> Done {
    let mut done = Done { files: unit.owned.len(), ..Done::default() };
    let Some(mut request) = request(unit, &mut done) else { return done };
    let mut texts: HashMap<PathBuf, Mended> = HashMap::new();
    for round in 0..=ROUNDS {
        let mut analysis = compiler.analyse(&request);
        let config = match configs.of(&analysis.root) {
            Ok(config) => config,
            Err(message) => {
                done.errors.push((shown_module(&analysis.root), message));
                return done;
            }
        };
        let findings = findings(&analysis, unit, &config, privates);
        let fixes = match wish.fix && round < ROUNDS && analysis.diagnostics.is_empty() {
            true => mend(&analysis, unit, &findings, wish, &mut texts),
            false => false,
        };
        if fixes {
            request.entries = entries(&analysis, &texts);
            if wish.diff && round == 0 {
                // The files stay as they are, and so do the places in them.
                let left: Vec<Finding> = findings.into_iter().filter(|f| !is_mended(f, wish)).collect();
                tell(&mut analysis, unit, &left, wish, &mut done);
            }
            continue;
        }
        if !wish.diff || round == 0 {
            tell(&mut analysis, unit, &findings, wish, &mut done);
        }
        break;
    }
    write(unit, &texts, wish, &mut done);
    done
}

fn is_mended(finding: &Finding, wish: &Wish) -> bool {
    finding.fix.as_ref().is_some_and(|fix| fix.safe || wish.with_unsafe)
}

/// Reads the files of a package; those of a program are read by the compiler.
fn request(unit: &Unit, done: &mut Done) -> Option<Request> {
    let beside = unit.beside.iter().map(|file| (file, absolute(file), file.display().to_string()));
    let own = unit.files.iter().zip(&unit.owned);
    let own = own.map(|(file, (path, shown))| (file, path.clone(), shown.clone()));
    let mut texts: Vec<(String, String)> = Vec::new();
    for (file, path, shown) in beside.chain(own) {
        // Findings are told by the name of the file.
        let named = match path.to_str() {
            Some(_) => Ok(()),
            None => Err("has a name that is not UTF-8 text: give it another".to_owned()),
        };
        match named.and_then(|()| files::read(file)).and_then(files::text_of) {
            Ok(text) => texts.push((path.display().to_string(), text)),
            Err(message) => done.errors.push((shown, message)),
        }
    }
    let mut request = unit.request.clone();
    let mut helper = Vec::new();
    if unit.files.iter().any(|file| is_test(file)) {
        // What `kcl test` puts beside the files: the function `snapshot`.
        let tested = kcl_test::request(&request, &request.work_dir.display().to_string(), &texts);
        request.plugins = tested.plugins;
        helper.extend(tested.entries.into_iter().filter(|entry| matches!(entry, Entry::Source { .. })));
    }
    request.entries.extend(texts.into_iter().map(|(path, text)| Entry::Source { path, text }));
    request.entries.extend(helper);
    (!request.entries.is_empty()).then_some(request)
}

/// The files of the main package as they are after fixes.
fn entries(analysis: &Analysis, texts: &HashMap<PathBuf, Mended>) -> Vec<Entry> {
    let files = analysis.program.main_package().files.iter();
    let files = files.filter_map(|id| analysis.program.sources.get(*id));
    files
        .map(|file| {
            let text = texts.get(&absolute(Path::new(&file.path))).map(|mended| mended.text.clone());
            Entry::Source { path: file.path.clone(), text: text.unwrap_or_else(|| file.text.to_string()) }
        })
        .collect()
}

/// Whether a file is one that the unit reports about.
fn shown<'u>(unit: &'u Unit, sources: &SourceMap, file: FileId) -> Option<&'u (PathBuf, String)> {
    let path = &sources.get(file)?.path;
    let exact = unit.owned.iter().find(|(owned, _)| owned.as_os_str() == path.as_str());
    exact.or_else(|| {
        let path = absolute(Path::new(path));
        unit.owned.iter().find(|(owned, _)| *owned == path)
    })
}

fn findings(analysis: &Analysis, unit: &Unit, config: &Config, privates: &Privates) -> Vec<Finding> {
    let Some(index) = analysis.index.as_ref() else { return Vec::new() };
    let (program, package) = (&analysis.program, analysis.program.main);
    let (homes, errors) = (&analysis.homes, &analysis.diagnostics);
    let input = Input { program, package, index, homes, is_program: unit.is_program, errors };
    let mut found = kcl_lint::lint(&input, config);
    if !unit.is_program {
        found.retain(|finding| !is_read_elsewhere(finding, analysis, privates));
    }
    let mut wanted: HashMap<FileId, bool> = HashMap::new();
    found.retain(|finding| {
        *wanted.entry(finding.file).or_insert_with(|| {
            shown(unit, &program.sources, finding.file).is_some_and(|(path, _)| {
                let inside = path.strip_prefix(&analysis.root).unwrap_or(path);
                !config.excludes(&inside.to_string_lossy().replace('\\', "/"))
            })
        })
    });
    found
}

/// Whether a private variable that its own package does not read is named by another one of the module (`pkg._name`).
fn is_read_elsewhere(finding: &Finding, analysis: &Analysis, privates: &Privates) -> bool {
    if finding.rule.id != "unused-variable" {
        return false;
    }
    let range = finding.span.start as usize..finding.span.end as usize;
    let name = analysis.program.sources.get(finding.file).and_then(|file| file.text.get(range));
    name.is_some_and(|name| name.starts_with('_') && privates.of(&analysis.root).contains(name))
}

/// A file after fixes.
#[derive(Default)]
struct Mended {
    text: String,
    fixes: usize,
}

/// Applies fixes to the texts of a round; returns whether there were any.
fn mend(
    analysis: &Analysis,
    unit: &Unit,
    findings: &[Finding],
    wish: &Wish,
    texts: &mut HashMap<PathBuf, Mended>,
) -> bool {
    let mut any = false;
    for id in &analysis.program.main_package().files {
        let Some((path, _)) = shown(unit, &analysis.program.sources, *id) else { continue };
        let Some(file) = analysis.program.sources.get(*id) else { continue };
        let here: Vec<&Finding> = findings.iter().filter(|finding| finding.file == *id).collect();
        let applied = mended(&file.text, &here, wish.with_unsafe);
        if applied.mended > 0 {
            any = true;
            let file = texts.entry(path.clone()).or_default();
            *file = Mended { text: applied.text, fixes: file.fixes + applied.mended };
        }
    }
    any
}

/// All fixes at once; where they break the text (which would be a bug of ours), those that do not, one by one.
fn mended(text: &str, findings: &[&Finding], with_unsafe: bool) -> kcl_lint::Applied {
    let parses = |applied: &kcl_lint::Applied| {
        let mut tree = kcl_syntax::ast::Tree::default();
        kcl_syntax::parse_file(&mut tree, &applied.text, FileId(0)).is_empty()
    };
    let apply = |chosen: &[&Finding]| kcl_lint::apply(text, chosen.iter().copied(), with_unsafe);
    let all = apply(findings);
    if parses(&all) {
        return all;
    }
    let mut good: Vec<&Finding> = Vec::new();
    for finding in findings {
        good.push(finding);
        if !parses(&apply(&good)) {
            good.pop();
        }
    }
    apply(&good)
}

fn tell(analysis: &mut Analysis, unit: &Unit, findings: &[Finding], wish: &Wish, done: &mut Done) {
    let plain = std::env::var_os("NO_COLOR").is_some() || !std::io::stdout().is_terminal();
    let form = match wish.format {
        Format::Full if plain => Form::Full(Color::Never),
        Format::Full => Form::Full(Color::Always),
        Format::Short => Form::Short,
        _ => Form::None,
    };
    if let Ok(here) = std::env::current_dir() {
        analysis.program.sources.show_from(absolute(&here).display().to_string());
    }
    let sources = &analysis.program.sources;
    let told = |diagnostic: Diagnostic| kcl_test::snapshots::without_helper(diagnostic, sources);
    let diagnostics: Vec<Diagnostic> =
        std::mem::take(&mut analysis.diagnostics).into_iter().map(told).collect();
    let is_ours = |diagnostic: &&Diagnostic| match diagnostic.place() {
        Place::Span(file, _) | Place::Line(file, _) => shown(unit, sources, file).is_some(),
        Place::None => true,
    };
    let errors = diagnostics.iter().filter(is_ours);
    let from = done.items.len();
    done.items.extend(errors.map(|diagnostic| Item::new(diagnostic, Level::Error, sources, form)));
    done.items.extend(findings.iter().map(|finding| Item::found(finding, sources, form)));
    hide_secrets(findings, sources, &mut done.items[from..]);
}

/// The report of a secret goes to logs that many read: source lines are shown without it, at the same width.
fn hide_secrets(findings: &[Finding], sources: &SourceMap, items: &mut [Item]) {
    for finding in findings.iter().filter(|finding| finding.rule.id == "secret-in-source") {
        let range = finding.span.start as usize..finding.span.end as usize;
        let text = sources.get(finding.file).and_then(|file| file.text.get(range)).unwrap_or_default();
        for secret in
            text.lines().map(|line| line.trim_matches(['"', '\'', ' '])).filter(|line| line.len() >= 4)
        {
            let stars = "*".repeat(secret.chars().count());
            items.iter_mut().for_each(|item| item.text = item.text.replace(secret, &stars));
        }
    }
}

/// Writes what was mended, or shows it.
fn write(unit: &Unit, texts: &HashMap<PathBuf, Mended>, wish: &Wish, done: &mut Done) {
    for (path, shown) in &unit.owned {
        let Some(Mended { text, fixes }) = texts.get(path) else { continue };
        let old = match files::read(path).and_then(files::text_of) {
            Ok(old) => old,
            Err(message) => {
                done.errors.push((shown.clone(), message));
                continue;
            }
        };
        if wish.diff {
            done.changed.push((shown.clone(), kcl_fmt::diff::unified(shown, shown, &old, text)));
        } else if let Err(message) = files::replace(path, text) {
            done.errors.push((shown.clone(), message));
            continue;
        } else {
            done.changed.push((shown.clone(), String::new()));
        }
        done.mended += fixes;
    }
}
