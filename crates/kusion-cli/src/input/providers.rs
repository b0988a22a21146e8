//! What the environment says about installing providers, and telling a person how it goes.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use kusion::{LockFile, Providers};
use kusion_runtime_tf::{Locate, Source};
use tf_install::{
    Address, CliConfig, Constraints, Installer, Limits, Net, OPENTOFU, Options, Platform, Progress,
    Strictness, Surroundings,
};

use crate::input::chosen::{here, home_at};
use crate::input::cluster::seconds;
use crate::input::flags::{Arg, Given, flag};
use crate::input::planned::warn;
use crate::views::failure::Failure;
use crate::views::output::tell;

pub(crate) fn flags() -> Vec<Arg> {
    vec![
        flag("offline", None, "", "use what is on this machine, ask nobody"),
        flag("upgrade", None, "", "choose versions anew instead of those of the lock file"),
        flag(
            "platform",
            None,
            "OS_ARCH",
            "another platform than this machine's, as in linux_arm64; may be repeated",
        ),
    ]
}

/// What limits providers, in commands that ask them.
pub(crate) fn limits() -> Vec<Arg> {
    vec![
        flag(
            "provider-timeout",
            None,
            "TIME",
            "how long a provider may take to answer, except for an apply (default 5m; 30m to read)",
        ),
        flag("provider-message-limit", None, "MIB", "the longest answer of a provider (default 256)"),
    ]
}

fn limits_of(given: &Given) -> Result<kusion_runtime_tf::Limits, Failure> {
    let message = given.last("provider-message-limit").map(|text| {
        let size = text.parse::<usize>().ok().filter(|size| (1..=2048).contains(size));
        size.map(|size| size << 20).ok_or_else(|| {
            Failure::usage(format!("--provider-message-limit {text} is no size"))
                .next("a number of MiB, from 1 to 2048")
        })
    });
    Ok(kusion_runtime_tf::Limits {
        patience: seconds(given, "provider-timeout")?,
        message: message.transpose()?,
    })
}

/// The platforms that are asked for; this machine's if none is.
pub(crate) fn platforms(given: &Given) -> Result<Vec<Platform>, Failure> {
    let named = given.all("platform");
    if named.is_empty() {
        return Ok(vec![Platform::here()]);
    }
    named.into_iter().map(|text| Platform::parse(text).map_err(Failure::usage)).collect()
}

/// The folder of providers below a home.
pub(crate) fn cache_folder(given: &Given, from: &Path) -> Result<PathBuf, Failure> {
    Ok(home_at(given, from)?.join("providers"))
}

/// An installer for a platform, as the user's files and variables say.
pub(crate) fn installer(given: &Given, from: &Path, platform: Platform) -> Result<Installer, Failure> {
    made_for(cache_folder(given, from)?, platform, given.has("offline"), given.has("upgrade"))
}

fn made_for(cache: PathBuf, platform: Platform, offline: bool, upgrade: bool) -> Result<Installer, Failure> {
    let variable = |name: &str| std::env::var(name).ok();
    let around = Surroundings { variable: &variable, folder: here()? };
    let config = CliConfig::load(&around).map_err(|e| {
        Failure::usage("the CLI configuration cannot be read").cause(e).next("see docs/providers.md")
    })?;
    config.warnings.iter().for_each(|text| warn(text));
    let is_set = |name: &str| variable(name).is_some_and(|value| value == "true" || value == "1");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    Ok(Installer::new(Options {
        config,
        cache,
        platform,
        offline,
        upgrade,
        net: Net { answer: Duration::from_secs(20), name: Some("kusion".to_owned()), ..Net::default() },
        strictness: Strictness {
            signed: is_set("OPENTOFU_ENFORCE_GPG_VALIDATION"),
            fresh: is_set("OPENTOFU_ENFORCE_GPG_EXPIRATION"),
            now,
        },
        limits: Limits::default(),
    }))
}

/// The providers of a project that are on this machine. Nothing is read before one is needed, and nothing is fetched.
struct OnThisMachine {
    project: PathBuf,
    cache: PathBuf,
}

impl Locate for OnThisMachine {
    fn locate(&self, source: &Source) -> Result<PathBuf, String> {
        let told = |failure: Failure| failure.cause.unwrap_or(failure.what);
        let address = Address::parse(&source.address, OPENTOFU)?;
        let constraints = Constraints::parse(source.version.as_deref().unwrap_or(">= 0"))?;
        let installer = made_for(self.cache.clone(), Platform::here(), true, false).map_err(told)?;
        let lock = LockFile::open(&self.project).map_err(told)?.lock;
        match installer.find(&address, &constraints, &lock) {
            Ok(Some(found)) => Ok(found.executable),
            // Only what names a version can be installed.
            Ok(None) if source.version.is_none() => Err(format!(
                "nothing says which version of provider {address} is meant: write provider = \"{address}/VERSION\" among the \
                 `extensions` of the resource"
            )),
            Ok(None) => {
                Err(format!("provider {address} {constraints} is not installed: kusion provider install"))
            }
            Err(trouble) => {
                let next = trouble.next.as_ref().map(|next| format!("; {next}")).unwrap_or_default();
                Err(format!("{trouble}{next}"))
            }
        }
    }
}

/// Where an engine finds the providers of a project; they run in the folder of the stack.
pub(crate) fn providers(given: &Given, project: &Path, stack: &Path) -> Result<Providers, Failure> {
    let cache = cache_folder(given, project)?;
    let schemas = Some(cache.join("schemas"));
    let locate = Arc::new(OnThisMachine { project: project.to_owned(), cache });
    let limits = limits_of(given)?;
    // Wherever the command was called: relative paths in a configuration mean the same files.
    Ok(Providers { locate, schemas, limits, folder: Some(stack.to_owned()) })
}

/// Tells how an installation goes: a line for each step, and one every few seconds of a download.
pub(crate) struct Teller {
    last: Cell<Instant>,
}

impl Teller {
    pub(crate) fn new() -> Teller {
        Teller { last: Cell::new(Instant::now()) }
    }

    pub(crate) fn hear(&self, progress: &Progress) {
        match progress {
            Progress::Asking { .. } | Progress::Unpacking { .. } => {}
            Progress::Fetching { address, version, place } => {
                tell(&format!("fetching {address} {version} from {place}\n"));
            }
            Progress::Downloaded { done, total } => {
                if self.last.get().elapsed() > Duration::from_secs(3) {
                    self.last.set(Instant::now());
                    let of = total.map(|total| format!(" of {}", total >> 20)).unwrap_or_default();
                    tell(&format!("  {}{of} MiB\n", done >> 20));
                }
            }
            Progress::Warning(text) => warn(text),
        }
    }
}
