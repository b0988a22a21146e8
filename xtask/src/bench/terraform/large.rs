//! The second start of a large provider: its schemas come from the cache.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use tf_host::{Launch, Provider, SchemaCache};
use tf_schema::{Loose, configure};

use crate::ChoreResult;
use crate::bench::measure::process_clock;

/// Where an executable of the largest provider lies, if it is not in the usual place.
const VARIABLE: &str = "KUSION_LARGE_PROVIDER";
const USUAL: &str = "/opt/tf-plugins/registry.terraform.io/hashicorp/aws";

/// Two starts, each in a process of its own; the second must cost us next to nothing.
pub(super) fn row() -> Result<bool, String> {
    let Some(program) = find() else {
        println!("large provider: skipped, there is none; ${VARIABLE} may name one");
        return Ok(true);
    };
    let cache = std::env::temp_dir().join(format!("large-bench-{}", std::process::id()));
    let here = std::env::current_exe().map_err(|e| e.to_string())?;
    let start = || {
        let mut command = Command::new(&here);
        command.args(["bench", "terraform", "large"]).env(VARIABLE, &program).env("LARGE_CACHE", &cache);
        let output = command.output().map_err(|e| e.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        match numbers[..] {
            [types, own, wall] => Ok((types, own, wall)),
            _ => Err(format!("{text}{}", String::from_utf8_lossy(&output.stderr))),
        }
    };
    let (types, first, first_wall) = start()?;
    let mut second: Vec<(f64, f64)> = Vec::new();
    for _ in 0..5 {
        let (_, own, wall) = start()?;
        second.push((own, wall));
    }
    let _ = std::fs::remove_dir_all(&cache);
    second.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (own, wall) = second[second.len() / 2];
    println!("{}: {types} types", program.display());
    println!("  first start: {first:.0} ms of our own, {first_wall:.0} ms with the provider's");
    println!(
        "  second start: {own:.0} ms of our own, {wall:.0} ms with the provider's, one resource validated"
    );
    Ok(super::ratio("  second start, ms of our own", own, 50.0))
}

fn find() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(VARIABLE) {
        return Some(named.into());
    }
    let mut folders = vec![PathBuf::from(USUAL)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).ok()?.flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if entry.file_name().to_string_lossy().starts_with("terraform-provider-") {
                return Some(path);
            }
        }
    }
    None
}

/// The child's side: a start, and one resource of the provider validated. Prints types, our CPU and the wall time in ms.
pub(super) fn child() -> ChoreResult {
    let program = std::env::var(VARIABLE).map_err(|e| e.to_string())?;
    let cache = SchemaCache::new(std::env::var("LARGE_CACHE").map_err(|e| e.to_string())?.into());
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|e| e.to_string())?;
    let (cpu, began) = (process_clock(), Instant::now());
    let n_types = runtime.block_on(start(Path::new(&program), &cache))?;
    println!("{n_types} {} {}", (process_clock() - cpu) * 1e3, began.elapsed().as_secs_f64() * 1e3);
    Ok(ExitCode::SUCCESS)
}

async fn start(program: &Path, cache: &SchemaCache) -> Result<usize, String> {
    let provider =
        Provider::start(&Launch::new("large", program), Some(cache)).await.map_err(|e| e.to_string())?;
    let schemas = provider.schemas();
    let n_types = schemas.resource_names().count() + schemas.data_names().count();
    let names = schemas.resource_names();
    let name = names.filter(|name| name.ends_with("_instance")).min_by_key(|name| name.len());
    let name =
        name.or_else(|| schemas.resource_names().next()).ok_or("a provider without resources")?.to_owned();
    let of = provider.resource(&name).map_err(|e| e.to_string())?;
    // What is missing is told by the provider: that it answers is what counts.
    if let Ok(config) = configure(&of.schema.block, &Loose::Map(Vec::new())) {
        provider.validate(&of, &config).await.map_err(|e| e.to_string())?;
    }
    provider.end().await;
    Ok(n_types)
}
