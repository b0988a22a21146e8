//! `LoadSettingsFiles`: what settings files say together.

use std::path::Path;

use kcl::{Entry, Request, Settings};

use super::folder;
use crate::messages::{CliConfig, KeyValuePair, LoadSettingsFilesArgs, LoadSettingsFilesResult};
use crate::{Answer, Budget, Failure};

/// Reads settings files, later ones over earlier ones.
///
/// # Errors
/// A file that cannot be read or is no settings file, or one that names a source file that is not there.
pub fn load_settings_files(args: &LoadSettingsFilesArgs, _: &Budget) -> Answer<LoadSettingsFilesResult> {
    let work_dir = folder(&args.work_dir)?;
    let (mut settings, mut request) = (Settings::default(), Request::default());
    for file in &args.files {
        let text = std::fs::read_to_string(work_dir.join(file)).map_err(|error| unreadable(file, &error))?;
        settings.add(&text, file, &work_dir, &mut request).map_err(|error| Failure::wrong(error.message))?;
    }
    request.work_dir = work_dir;
    let files = listed(&request)?;
    Ok(LoadSettingsFilesResult {
        kcl_cli_configs: Some(CliConfig {
            files,
            output: settings.output.map(|path| path.display().to_string()).unwrap_or_default(),
            overrides: request.overrides,
            path_selector: request.selectors,
            strict_range_check: request.strict_range,
            disable_none: request.output.disable_none,
            verbose: settings.verbose,
            debug: request.debug,
            sort_keys: request.output.sort_keys,
            show_hidden: request.output.show_hidden,
            include_schema_type_path: request.output.schema_type_path,
            fast_eval: settings.fast_eval,
        }),
        kcl_options: request.arguments.into_iter().map(|(key, value)| option(key, value)).collect(),
    })
}

fn unreadable(file: &str, error: &std::io::Error) -> Failure {
    let why = match error.kind() {
        std::io::ErrorKind::NotFound => "no such file or directory".to_owned(),
        _ => error.to_string(),
    };
    Failure::wrong(format!("Failed to load '{file}', {why}"))
}

/// The source files, each of which must be there.
fn listed(request: &Request) -> Answer<Vec<String>> {
    let mut files = Vec::new();
    for entry in &request.entries {
        let Entry::Path(name) = entry else { continue };
        let path = request.work_dir.join(name);
        if !name.starts_with("${") && !Path::new(&path).exists() {
            return Err(Failure::wrong(format!(
                "Cannot find the kcl file, please check the file path {name}"
            )));
        }
        files.push(if name.starts_with("${") { name.clone() } else { path.display().to_string() });
    }
    Ok(files)
}

/// The value of an option as compact JSON.
fn option(key: String, value: String) -> KeyValuePair {
    let compact = serde_json::from_str::<serde_json::Value>(&value).map(|json| json.to_string());
    KeyValuePair { key, value: compact.unwrap_or(value) }
}
