//! Where a command works: the stack's folder, its state, and what the flags say about both.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base_diag::nearest;
use base_secret::Redactor;
use kcl::{Disk, EMBEDDED_KONFIG};
use kusion::{Called, Target};
use kusion_generate::{
    FileProblem, GenerateError, Generated, Generator, Inputs, StackFolder, locate, read_workspace,
};
use kusion_model::{Spec, Subject, Timestamp};
use kusion_store::{Liveness, Owner, State, Store, local_liveness, local_owner, wait};

use crate::input::backend;
use crate::input::flags::{Arg, Given, LEFT_OUT, flag, quoted};
use crate::input::hush::Hush;
use crate::input::locks::lock;
use crate::input::meter::{Meter, Metered, told};
use crate::views::failure::{Exit, Failure};
use crate::views::output::tell;
use crate::views::style::Style;

/// Flags of every command that works on a stack.
pub(crate) fn stack() -> Vec<Arg> {
    let mut flags = vec![
        flag(
            "workdir",
            Some('w'),
            "DIR",
            "the stack's folder, or `project/stack`; the same as the word STACK",
        ),
        flag("workspace", None, "NAME", "only `default` for now"),
        flag("argument", Some('D'), "K=V", "an option of the program; may be repeated"),
        flag("home", None, "DIR", "where state is kept (default ~/.kusion)"),
        flag(
            "key",
            None,
            "HOW",
            "what locks the state: file, file:PATH, passphrase, age:FILE, vault-transit:MOUNT/KEY, aws-kms:KEY, command:PROGRAM",
        ),
    ];
    flags.extend(backend::flags());
    flags
}

/// A stack with its state.
pub(crate) struct ChosenStack {
    pub(crate) folder: StackFolder,
    pub(crate) target: Target,
    pub(crate) arguments: Vec<(String, String)>,
    /// What the state has cost so far.
    pub(crate) meter: Arc<Meter>,
}

/// What a command wants with a stack.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Intent {
    /// To look at it: nothing is written, not even a key.
    Look,
    /// To record something under its key, which is made at first use.
    Record,
}

/// Finds the stack that the words mean, to look at it.
pub(crate) fn open(given: &Given) -> Result<ChosenStack, Failure> {
    open_for(given, Intent::Look)
}

/// Finds the stack that the words mean.
pub(crate) fn open_for(given: &Given, intent: Intent) -> Result<ChosenStack, Failure> {
    let words: Vec<String> = given.rest.iter().cloned().chain(given.last("workdir")).collect();
    if words.len() > 1 {
        return Err(Failure::usage(format!("one stack at a time, not {}", words.join(" and ")))
            .next("call it once for each"));
    }
    open_named_for(given, words.first().map(String::as_str), intent)
}

/// Finds a stack by name, to look at it; other words belong to the command.
pub(crate) fn open_named(given: &Given, word: Option<&str>) -> Result<ChosenStack, Failure> {
    open_named_for(given, word, Intent::Look)
}

/// Finds a stack by name; other words belong to the command.
pub(crate) fn open_named_for(
    given: &Given,
    word: Option<&str>,
    intent: Intent,
) -> Result<ChosenStack, Failure> {
    let here = here()?;
    let folder = locate(&Disk, &here, word).map_err(Failure::from)?;
    folder.notes.iter().for_each(|text| note(text));
    let workspace = given.last("workspace").unwrap_or_else(|| "default".to_owned());
    if workspace != "default" {
        return Err(Failure::usage(format!("there is no workspace `{workspace}`"))
            .next("only `default` exists for now"));
    }
    let meter = Arc::new(Meter::default());
    let below = backend::choose(given, Some(&folder), &folder.stack_dir)?.open(given)?;
    let stores = Store::new(Arc::new(Metered { below, meter: Arc::clone(&meter) })).with_lock(lock(given)?);
    let stores = backend::retained(given, stores)?;
    let (shared, notes) = read_workspace(&Disk, &home_at(given, &folder.stack_dir)?, &workspace)?;
    notes.iter().for_each(|text| note(text));
    let target = match intent {
        Intent::Look => wait(Target::look(&stores, &folder, &workspace)),
        Intent::Record => wait(Target::open(&stores, &folder, &workspace)),
    };
    let mut target = target?.with_workspace(shared);
    target.called = called(given, &folder, &here, word);
    kusion::hide_variables(&target.secret_stores, None);
    let arguments = given.all("argument").iter().map(|text| argument(text)).collect::<Result<_, _>>()?;
    Ok(ChosenStack { folder, target, arguments, meter })
}

/// How the stack is named again from here. `project/stack` means a stack of the project that somebody stands in; from elsewhere it
/// may mean another folder, so the word stays that was typed.
fn called(given: &Given, folder: &StackFolder, here: &Path, word: Option<&str>) -> Called {
    let name = format!("{}/{}", folder.project.name, folder.stack.name);
    let word = match word {
        Some(word) if !here.starts_with(&folder.project_dir) => {
            let below = Path::new(word).strip_prefix(here).ok().and_then(Path::to_str);
            below.filter(|below| !below.is_empty()).unwrap_or(word)
        }
        _ => &name,
    };
    Called {
        word: quoted(word) + &given.again(&["home", "backend", "key"]),
        options: given.again(&["argument"]),
        flags: given.again(&["kubeconfig", "context", "as", "as-group"]),
    }
}

/// Tells a person something that is no failure.
pub(crate) fn note(text: &str) {
    tell(&format!("{} {text}\n", Style::stderr().yellow("note:")));
}

/// Tells which stacks cannot be read; the others are shown all the same.
pub(crate) fn tell_broken(broken: &[FileProblem]) {
    for problem in broken {
        let place = problem.place.as_ref().map(|place| format!(" ({place})")).unwrap_or_default();
        note(&format!("a stack is left out, it cannot be read: {problem}{place}"));
    }
}

/// The folder the user stands in.
pub(crate) fn here() -> Result<PathBuf, Failure> {
    std::env::current_dir()
        .map_err(|e| Failure::usage("the current folder cannot be read").cause(e.to_string()))
}

/// The folder of all state: what is named, else the nearest `.kusion` around a folder, else that of the user.
pub(crate) fn home_at(given: &Given, from: &Path) -> Result<PathBuf, Failure> {
    if let Some(home) = given.last("home") {
        let home = PathBuf::from(home);
        return Ok(if home.is_absolute() { home } else { here()?.join(home) });
    }
    if let Some(local) = from.ancestors().map(|at| at.join(".kusion")).find(|home| home.is_dir()) {
        return Ok(local);
    }
    match std::env::var_os("HOME").filter(|home| !home.is_empty()) {
        Some(home) => Ok(Path::new(&home).join(".kusion")),
        None => {
            Err(Failure::usage("there is no place for state").cause("neither KUSION_HOME nor HOME is set"))
        }
    }
}

/// The store of a stack, or that of no stack in particular.
pub(crate) fn stores(given: &Given, folder: Option<&StackFolder>, from: &Path) -> Result<Store, Failure> {
    let backend = told(backend::choose(given, folder, from)?.open(given)?);
    Ok(Store::new(backend).with_lock(lock(given)?))
}

fn argument(text: &str) -> Result<(String, String), Failure> {
    match text.split_once('=') {
        Some((name, LEFT_OUT)) => Err(Failure::usage(format!("the value of -D {name} is missing"))
            .cause(format!("{LEFT_OUT} stands for it where a command is shown, because it may be a password"))
            .next(format!("-D {name}=VALUE"))),
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(Failure::usage("-D needs a name and a value").next("-D NAME=VALUE")),
    }
}

impl ChosenStack {
    /// A source file as a person in the project calls it.
    pub(crate) fn shown(&self, file: &str) -> String {
        let shown = self.folder.shown(Path::new(file));
        shown.strip_prefix(EMBEDDED_KONFIG).map_or(shown.clone(), |rest| format!("konfig{rest}"))
    }

    /// Evaluates the stack and tells nobody anything.
    pub(crate) fn evaluate(&self, cluster: &str, origins: bool) -> Result<Generated, GenerateError> {
        let inputs = Inputs {
            workspace: self.target.scope.workspace.clone(),
            cluster: cluster.to_owned(),
            component: None,
            arguments: self.arguments.clone(),
            origins,
            packages: kcl::package_folder(),
            cancel: None,
        };
        Generator::new(&Disk).generate(&self.folder, &inputs, &kusion::platforms(), &self.target.key)
    }

    /// Evaluates the stack; mistakes are rendered here, because only here are their texts.
    pub(crate) fn generate(&self, cluster: &str, origins: bool) -> Result<Generated, Failure> {
        let hush = Hush::new(&self.arguments);
        let generated = self.evaluate(cluster, origins).map_err(|e| render(e, &hush))?;
        make_public(&generated.spec);
        kusion::hide_variables(&self.target.secret_stores, Some(&generated.spec));
        if !generated.log.is_empty() {
            tell(&hush.text(&generated.log));
        }
        for name in &generated.unused {
            let near = nearest(generated.options.iter().map(String::as_str), name);
            let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            note(&format!("-D {name} is not used: the program never asks for option(\"{name}\"){near}"));
        }
        Ok(generated)
    }
}

/// Reads the state of a stack; the redactor of this process knows the secrets in it from then on. A provider may have built other
/// values of them, which nobody calls sensitive.
///
/// # Errors
/// A state that cannot be read.
pub(crate) fn read_known(chosen: &ChosenStack) -> Result<State, Failure> {
    let state = wait(chosen.target.store.read())?;
    drop(state.records_with_secrets());
    for kept in state.records.values().filter_map(|record| record.kept.as_ref()) {
        drop(kusion_runtime_tf::secrets_kept(kept, &chosen.target.key));
    }
    Ok(state)
}

/// Tells the redactor what the configuration says in clear: replacing that would hide nothing and spoil ids and images.
fn make_public(spec: &Spec) {
    let Some(redactor) = Redactor::installed() else { return };
    let mut public = String::new();
    for resource in &spec.resources {
        let mut see = |text: &str| {
            public.push_str(text);
            public.push('\n');
        };
        see(resource.id.as_str());
        resource.attributes.for_each_text(&mut see);
    }
    redactor.add_public(&public);
}

fn render(error: GenerateError, hush: &Hush) -> Failure {
    match error {
        GenerateError::Files(mut problem) => {
            let texts = [Some(&mut problem.what), problem.cause.as_mut(), problem.next.as_mut()];
            texts.into_iter().flatten().for_each(|text| *text = hush.text(text));
            Failure::from(*problem)
        }
        GenerateError::Program { mut diagnostics, mut sources } => {
            if let Ok(folder) = std::env::current_dir() {
                sources.show_from(folder.display().to_string());
            }
            diagnostics.iter_mut().for_each(|diagnostic| hush.diagnostic(diagnostic));
            let colour = Style::stderr().has_colour();
            let color = if colour { base_diag::Color::Always } else { base_diag::Color::Never };
            for diagnostic in &diagnostics {
                tell(&base_diag::render_full(diagnostic, &sources, color));
            }
            let n = diagnostics.len();
            tell(&format!(
                "{n} error{} in the configuration; nothing was changed\n",
                if n == 1 { "" } else { "s" }
            ));
            Failure::told(Exit::Usage)
        }
    }
}

/// The time of this machine.
pub(crate) fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// Who acts.
pub(crate) fn subject() -> Subject {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let user =
        set("USER").or_else(|| set("LOGNAME")).or_else(account).unwrap_or_else(|| "unknown".to_owned());
    let file = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let host = file.map(|name| name.trim().to_owned()).or_else(|| set("HOSTNAME"));
    Subject { user, host: host.unwrap_or_else(|| "localhost".to_owned()), identity: None }
}

/// The name of the account this runs as, where the environment does not tell.
fn account() -> Option<String> {
    let uid = rustix::process::getuid().as_raw().to_string();
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    let row = users.lines().find(|line| line.split(':').nth(2) == Some(uid.as_str()))?;
    row.split(':').next().map(str::to_owned)
}

pub(crate) fn owner(command: &str) -> Owner {
    let subject = subject();
    local_owner(&subject.user, &subject.host, command)
}

pub(crate) fn liveness(owner: &Owner) -> Liveness {
    local_liveness(&subject().host, owner)
}
