//! `kcl mod`, `kcl registry`, `kcl clean`: packages that a module needs, and the module as a package for others.

mod change;
mod publish;
mod registry;
mod show;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use kcl_fetch::{Options, Resolution, Store, Trouble, Watch};

use crate::flags::{Flag, Given, flags, help, read};
use crate::wrong::Wrong;

pub(crate) use change::{last_part, split_tag};
pub(crate) use registry::{CLEAN_FLAGS, REGISTRY_FLAGS, clean, registry};

pub(crate) const FLAGS: &[Flag] = flags! {
    "git" None, "URL" "add: from a Git repository";
    "oci" None, "URL" "add: from an OCI registry, oci://HOST/PATH";
    "path" None, "DIR" "add: a folder beside this module";
    "tag" None, "TAG" "add: this tag of --git or --oci";
    "commit" None, "COMMIT" "add: this commit of --git";
    "branch" None, "BRANCH" "add: this branch of --git";
    "package" None, "NAME" "add: the package of that name in the repository";
    "rename" None, "NAME" "add: the name in imports";
    "version" None, "VERSION" "init: the version of the new module (default 0.1.0)";
    "target" None, "DIR" "pull, pkg: write there instead of here";
    "tar-path" None, "FILE" "push: upload this file of `kcl mod pkg` instead of the module here";
    "vendor" None, "" "pkg, push: with the packages in vendor/; metadata: copy them there, and tell those folders";
    "update" None, "" "metadata: look for newer ones first";
    "force" None, "" "push: replace a version that holds something else";
    "no-sum-check" None, "" "add, update: take a content that is not what kcl.mod.lock says, and lock it";
    "offline" None, "" "fetch nothing: everything must be in the package store";
    "locked" None, "" "fail if kcl.mod.lock would change";
    "help" Some('h'), "" "print this";
};

/// Name, words after it, one line of help, what it does.
type Sub = (&'static str, &'static str, &'static str, fn(&Call) -> Result<(), Wrong>);

const SUBS: &[Sub] = &[
    ("init", "[NAME]", "make a module: kcl.mod, kcl.mod.lock, main.k", change::init),
    ("add", "NAME[:VERSION]", "name a package in kcl.mod, fetch and lock it", change::add),
    ("remove", "NAME…", "take packages out of kcl.mod", change::remove),
    ("update", "[NAME…]", "fetch anew what tags, branches and the newest versions are now", change::update),
    ("vendor", "", "copy all packages into vendor/", change::vendor),
    ("verify", "", "compare the package store and vendor/ with the lock", show::verify),
    ("tree", "", "who needs whom, as a tree", show::tree),
    ("graph", "", "who needs whom, a line each", show::graph),
    ("metadata", "", "names and folders of all packages, as JSON", show::metadata),
    (
        "pull",
        "NAME[:VERSION]",
        "copy a package into this folder; also oci://HOST/PATH[:TAG], --git",
        publish::pull,
    ),
    ("push", "[oci://HOST/PATH]", "upload this module under its version", publish::push),
    ("pkg", "", "pack this module into NAME_VERSION.tar", publish::pkg),
];

/// A call of one of them.
pub(crate) struct Call {
    given: Given,
    words: Vec<String>,
}

pub(crate) fn main(words: &[String]) -> ExitCode {
    let given = match read(FLAGS, words) {
        Ok(given) => given,
        Err(message) => return Wrong::from(message).tell("mod"),
    };
    if given.has("help") || given.rest.first().is_some_and(|word| word == "help") {
        print!("{}", usage());
        return ExitCode::SUCCESS;
    }
    let Some((name, words)) = given.rest.split_first() else {
        return Wrong::from("say what to do: kcl mod init, add, update, …".to_owned()).tell("mod");
    };
    let Some((_, _, _, run)) = SUBS.iter().find(|sub| sub.0 == name) else {
        let near = base_diag::nearest(SUBS.iter().map(|sub| sub.0), name);
        let help = near.map_or_else(
            || "`kcl mod --help` lists them".to_owned(),
            |n| format!("did you mean `kcl mod {n}`?"),
        );
        return Wrong::with_help(format!("there is no `kcl mod {name}`"), help).tell("mod");
    };
    let words = words.to_vec();
    match run(&Call { given, words }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(wrong) => wrong.tell("mod"),
    }
}

fn usage() -> String {
    let mut out = String::from(
        "Packages: what a module needs, and the module as a package for others.\n\nExamples:\n  kcl mod init shop\n  kcl mod add \
         k8s:1.31.2\n  kcl mod add --git https://git.example.org/lib.git --tag v1.4.0\n  kcl mod add --path ../models\n  kcl mod \
         vendor && kcl run --vendor\n  kcl mod push oci://registry.example.org/team/shop\n\nUsage: kcl mod COMMAND [flags]\n\n",
    );
    for (name, words, text, _) in SUBS {
        out.push_str(&format!("  {:<22} {text}\n", format!("{name} {words}")));
    }
    out.push_str(&format!(
        "\n{}\nPackages are kept in $KCL_PKG_PATH (default: .kcl/kpm in the home folder), by the sums of their contents; \
         kcl.mod.lock says\nwhich. The default registry is $KPM_REG/$KPM_REPO (ghcr.io/kcl-lang). Exit codes: 0, 1 wrong input \
         or a package that cannot\nbe had, 70 a bug of ours.\n",
        help(FLAGS)
    ));
    out
}

impl Call {
    /// Refuses words that a command does not take.
    fn no_words(&self) -> Result<(), Wrong> {
        match self.words.first() {
            Some(word) => Err(Wrong::from(format!("`{word}` is one word too many"))),
            None => Ok(()),
        }
    }

    fn options(&self) -> Result<Options, Wrong> {
        Ok(Options {
            offline: self.given.has("offline"),
            locked: self.given.has("locked"),
            no_sum_check: self.given.has("no-sum-check"),
            default_registry: kcl_fetch::default_registry(),
            mirrors: mirrors()?,
            watch: watch(),
            ..Options::default()
        })
    }

    fn resolve(&self, options: &Options) -> Result<(PathBuf, Resolution), Wrong> {
        let root = module_root()?;
        let resolution = resolved(&root, options)?;
        Ok((root, resolution))
    }
}

/// Resolves a module, and tells what its author may not expect.
fn resolved(root: &Path, options: &Options) -> Result<Resolution, Wrong> {
    let resolution = kcl_fetch::resolve(root, &store()?, options)?;
    for surprise in &resolution.surprises {
        eprintln!("warning: {surprise}");
    }
    Ok(resolution)
}

/// Keeps other `kcl mod` from changing a module between our reading and writing of its files. The lock is one of the package store:
/// who edits files of the module does not wait for our downloads. Where nothing can be locked, nobody waits.
fn held(root: &Path) -> Option<std::fs::File> {
    let root = root.canonicalize().ok()?;
    store().ok()?.lock(&format!("module {}", root.display())).ok()
}

/// Resolves a manifest that stands in no folder: nothing of the module around us is meant.
pub(crate) fn resolve_alone(manifest: String) -> Result<Resolution, Wrong> {
    let store = store()?;
    // A folder without a lock.
    let nowhere = store.root().join("run");
    let options = Options {
        manifest: Some(manifest),
        default_registry: kcl_fetch::default_registry(),
        mirrors: mirrors()?,
        watch: watch(),
        ..Options::default()
    };
    Ok(kcl_fetch::resolve(&nowhere, &store, &options)?)
}

impl From<Trouble> for Wrong {
    fn from(trouble: Trouble) -> Wrong {
        match trouble.next {
            Some(next) => Wrong::with_help(trouble.what, next),
            None => Wrong::from(trouble.what),
        }
    }
}

/// Copies of registries: `KCL_MIRRORS=ghcr.io=mirror.example.org/ghcr,…`.
pub(crate) fn mirrors() -> Result<Vec<(String, String)>, Wrong> {
    let text = std::env::var("KCL_MIRRORS").unwrap_or_default();
    let rows = text.split(',').filter(|row| !row.trim().is_empty());
    let row = |row: &str| {
        let (from, to) = row.trim().split_once('=')?;
        (!from.is_empty() && !to.is_empty()).then(|| (from.to_owned(), to.trim_end_matches('/').to_owned()))
    };
    let wrong =
        || Wrong::with_help("KCL_MIRRORS cannot be read", "write REGISTRY=HOST/PATH, commas between them");
    rows.map(|text| row(text).ok_or_else(wrong)).collect()
}

/// Shows somebody at a terminal how downloads get on.
pub(crate) fn watch() -> Watch {
    const STEP: u64 = 1 << 20;
    if !std::io::stderr().is_terminal() {
        return Watch::default();
    }
    let shown = std::sync::atomic::AtomicU64::new(0);
    Watch::new(move |what, bytes| {
        // One line that changes; small packages come without it.
        let now = bytes / STEP;
        if now > 0 && shown.swap(now, std::sync::atomic::Ordering::Relaxed) != now {
            eprint!("\r{what}: {now} MiB\x1b[K\r");
        }
    })
}

pub(crate) fn store() -> Result<Store, Wrong> {
    let folder = kcl::package_folder();
    folder
        .map(Store::new)
        .ok_or_else(|| Wrong::with_help("there is no home folder to keep packages in", "set KCL_PKG_PATH"))
}

/// The nearest folder upwards that has a kcl.mod.
fn module_root() -> Result<PathBuf, Wrong> {
    let here = std::env::current_dir().map_err(|e| format!("cannot tell the folder here: {e}"))?;
    let root = here.ancestors().find(|folder| folder.join("kcl.mod").is_file()).map(Path::to_path_buf);
    root.ok_or_else(|| Wrong::with_help("there is no kcl.mod here or above", "`kcl mod init` makes a module"))
}

/// Writes the lock if it is another one now.
fn write_lock(root: &Path, resolution: &Resolution) -> Result<bool, Wrong> {
    let path = root.join("kcl.mod.lock");
    let text = resolution.lock.write();
    if std::fs::read_to_string(&path).is_ok_and(|old| old == text) {
        return Ok(false);
    }
    kcl_fetch::replace(&path, text.as_bytes())?;
    Ok(true)
}
