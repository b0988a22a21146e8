//! What the command line means: which words are data, which are code.

use std::io::Read;
use std::path::{Path, PathBuf};

use kcl::{Entry, Request};
use kcl_vet::{Format, Source, Wish};

use super::{LoadError, Loaded};
use crate::files::{MAX_BYTES, too_large};
use crate::flags::Given;

/// Where data comes from.
pub(super) enum Input {
    Stdin,
    File(PathBuf),
}

impl Input {
    pub(super) fn shown(&self) -> String {
        match self {
            Input::Stdin => "<stdin>".to_owned(),
            Input::File(path) => path.display().to_string(),
        }
    }
}

/// One call.
pub(super) struct Inputs {
    pub(super) data: Vec<Input>,
    pub(super) code: Request,
    pub(super) wish: Wish,
    pub(super) format: Option<Format>,
    pub(super) json: bool,
    pub(super) errors: crate::run::ErrorFormat,
    pub(super) jobs: usize,
}

impl Inputs {
    pub(super) fn new(given: &Given) -> Result<Inputs, String> {
        let work_dir = std::env::current_dir().map_err(|e| format!("the working folder is gone: {e}"))?;
        let is_code = |word: &str| word != "-" && (word.ends_with(".k") || Path::new(word).is_dir());
        let (code, data): (Vec<&String>, Vec<&String>) = given.rest.iter().partition(|word| is_code(word));
        let named = given.all("data").into_iter().map(|path| Input::File(path.into()));
        let data: Vec<Input> = data.into_iter().map(|word| input(word)).chain(named).collect();
        if data.iter().filter(|input| matches!(input, Input::Stdin)).count() > 1 {
            return Err("`-` stands once: there is one standard input".to_owned());
        }
        let wish = Wish {
            attribute: given.last("attribute-name").unwrap_or("value").to_owned(),
            schema: given.last("schema").map(str::to_owned),
            packages: given.all("package").into_iter().map(str::to_owned).collect(),
            by_kind: given.has("by-kind"),
            fill: given.has("fill"),
        };
        if let Some((path, error)) = unreadable(&data) {
            return Err(format!("{} cannot be read: {error}", path.display()));
        }
        refuse_nothing(&data, &code, &wish)?;
        let mut request = Request { work_dir, ..Request::default() };
        request.entries = code.into_iter().cloned().map(Entry::Path).collect();
        let externals = crate::run::pairs(given, "external")?;
        request.externals = externals.into_iter().map(|(name, path)| (name, path.into())).collect();
        for argument in given.all("argument") {
            request.arguments.push(kcl::argument(argument).map_err(|m| format!("{m}: `-D {argument}`"))?);
        }
        request.vendor = kcl::package_folder();
        crate::run::limits(given, &mut request.limits)?;
        let format = match given.last("format") {
            None => None,
            Some(name) => {
                let format = Format::named(name);
                Some(format.ok_or_else(|| format!("`{name}` is not a format: use json, yaml or toml"))?)
            }
        };
        let (json, errors) = (given.has("json"), crate::run::error_format(given)?);
        Ok(Inputs { data, code: request, wish, format, json, errors, jobs: crate::parallel::jobs(given)? })
    }

    /// Reads one of the data files.
    pub(super) fn load(&self, at: usize) -> Loaded {
        let (bytes, format) = match &self.data[at] {
            Input::Stdin => {
                let bytes = crate::files::standard_input().map_err(LoadError::File)?;
                (bytes, self.format.unwrap_or(Format::Yaml))
            }
            Input::File(path) => {
                let named = path.extension().and_then(|e| e.to_str()).and_then(Format::named);
                (read_file(path).map_err(LoadError::File)?, self.format.or(named).unwrap_or(Format::Yaml))
            }
        };
        if bytes.len() as u64 > MAX_BYTES {
            return Err(LoadError::File(too_large()));
        }
        let text = crate::files::text_of(bytes).map_err(LoadError::File)?;
        // A mark of byte order is no data.
        let text = text.strip_prefix('\u{FEFF}').unwrap_or(&text);
        Source::new(self.data[at].shown(), text.into(), format).map_err(LoadError::Data)
    }
}

/// What cannot even be looked at may be data or code: say so before asking for the other.
fn unreadable(data: &[Input]) -> Option<(&Path, std::io::Error)> {
    data.iter().find_map(|input| match input {
        Input::Stdin => None,
        Input::File(path) => match std::fs::metadata(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Some((path.as_path(), error)),
            _ => None,
        },
    })
}

fn input(word: &str) -> Input {
    match word {
        "-" => Input::Stdin,
        path => Input::File(path.into()),
    }
}

fn read_file(path: &Path) -> Result<Vec<u8>, String> {
    let problem = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => "does not exist".to_owned(),
        _ => format!("cannot be read: {error}"),
    };
    let file = std::fs::File::open(path).map_err(problem)?;
    if file.metadata().map_err(problem)?.is_dir() {
        return Err("is a folder: name the files in it".to_owned());
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(problem)?;
    Ok(bytes)
}

fn refuse_nothing(data: &[Input], code: &[&String], wish: &Wish) -> Result<(), String> {
    if data.is_empty() {
        return Err("there is no data to check: kcl vet DATA CODE.k".to_owned());
    }
    if wish.schema.as_deref().is_some_and(|name| name.split('.').any(str::is_empty)) {
        return Err("-s is the name of a schema: Name or package.Name".to_owned());
    }
    let dotted = wish.schema.as_ref().is_some_and(|name| name.contains('.'));
    if code.is_empty() && wish.packages.is_empty() && !dotted {
        return Err("there is no schema to check against: kcl vet DATA CODE.k, or -s package.Name".to_owned());
    }
    if wish.fill && wish.attribute.starts_with('_') {
        return Err(format!(
            "--fill prints `{}`, and such names are hidden: choose another with -a",
            wish.attribute
        ));
    }
    Ok(())
}
