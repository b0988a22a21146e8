//! `cargo xtask import-proof [--short] [--wheel] [FILE…]`: real documents through `kcl import`.
//!
//! The OpenAPI documents of Kubernetes and the CRDs of projects around it are imported. What is made compiles without a word, accepts the
//! samples that the projects ship (one that the real server refuses is none), and refuses every mutated manifest that the real server
//! refuses for its type or structure. With FILEs only these are imported and compiled. `--short` is the stage of CI: some projects,
//! no server. `--wheel` compiles the models with the released wheel, too.

mod manifests;
mod mutate;
mod server;
mod sources;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use manifests::Manifest;
pub(crate) use manifests::json as json_of;
use server::{Server, Verdict};
pub(crate) use sources::walk;
use sources::{PROJECTS, Project, import};

use crate::ChoreResult;
use crate::build::{built, target};
use crate::oracle::root;

/// So many refused mutants are wanted.
const WANTED: usize = 300;
/// Samples of one kind that are mutated.
const MUTATED_SAMPLES: usize = 3;

struct Proof {
    kcl: PathBuf,
    home: PathBuf,
    wheel: bool,
    server: Option<Server>,
    /// What went wrong.
    wrong: Vec<String>,
    /// Mutants that the server refuses for their structure, by row: how many, and how many are refused by the models, too.
    refused: BTreeMap<&'static str, (usize, usize)>,
}

pub(crate) fn main(words: &[String]) -> ChoreResult {
    let home = target().join("import-proof");
    make(&home)?;
    let has = |word: &str| words.iter().any(|given| given == word);
    let (short, wheel) = (has("--short"), has("--wheel"));
    let files: Vec<PathBuf> =
        words.iter().filter(|word| !word.starts_with("--")).map(PathBuf::from).collect();
    let kcl = built()?.join("kcl");
    let (wrong, refused) = (Vec::new(), BTreeMap::new());
    let mut proof = Proof { kcl, home, wheel, server: None, wrong, refused };
    if !files.is_empty() {
        let models = proof.home.join("models");
        proof.models("auto", &files, &models)?;
        return proof.end(0);
    }
    if !short {
        proof.server = Server::start()?;
        proof.documents_of_the_server()?;
    }
    for project in PROJECTS.iter().filter(|project| project.short || !short) {
        // What one project cannot be asked does not hide what the others say.
        let begun = Instant::now();
        println!("{}", project.module);
        if let Err(why) = proof.project(project) {
            proof.wrong.push(format!("{}: {why}", project.module));
        }
        println!("  in {:.1?}", begun.elapsed());
    }
    let wanted = if proof.server.is_some() { WANTED } else { 0 };
    proof.end(wanted)
}

impl Proof {
    /// The OpenAPI documents of the running server, both versions.
    fn documents_of_the_server(&mut self) -> Result<(), String> {
        let Some(server) = &mut self.server else { return Ok(()) };
        let folder = self.home.join("server");
        make(&folder)?;
        let mut files = vec![folder.join("v2.json")];
        std::fs::write(&files[0], server.get("/openapi/v2")?).map_err(|e| e.to_string())?;
        let index: serde_json::Value =
            serde_json::from_slice(&server.get("/openapi/v3")?).map_err(|e| e.to_string())?;
        let paths = index.get("paths").and_then(serde_json::Value::as_object).cloned().unwrap_or_default();
        for (name, entry) in &paths {
            let Some(url) = entry.get("serverRelativeURL").and_then(serde_json::Value::as_str) else {
                continue;
            };
            let file = folder.join(format!("v3-{}.json", name.replace('/', "-")));
            std::fs::write(&file, server.get(url)?).map_err(|e| e.to_string())?;
            // Discovery has no schemas of objects.
            if name.starts_with("api") && name.matches('/').count() > 0 && name.contains("/v") {
                files.push(file);
            }
        }
        println!("the server's own documents: OpenAPI 2, and {} of OpenAPI 3", files.len() - 1);
        for (at, file) in files.iter().enumerate() {
            let models = self.home.join(format!("server-models-{at}"));
            self.models("openapi", std::slice::from_ref(file), &models)?;
        }
        Ok(())
    }

    /// Imports files into a new folder and compiles every package of it.
    fn models(&mut self, mode: &str, files: &[PathBuf], models: &Path) -> Result<(), String> {
        let begun = Instant::now();
        import(&self.kcl, mode, files, models)?;
        let took = begun.elapsed();
        let mut made = Vec::new();
        walk(models, &mut made)?;
        made.retain(|file| file.extension().is_some_and(|ending| ending == "k"));
        let lines: usize = made
            .iter()
            .map(|file| std::fs::read_to_string(file).map_or(0, |text| text.lines().count()))
            .sum();
        let mut folders: Vec<&Path> = made.iter().filter_map(|file| file.parent()).collect();
        folders.sort_unstable();
        folders.dedup();
        let compiler = kcl::Compiler::new(kcl::Disk);
        for folder in &folders {
            let request = kcl::Request {
                work_dir: models.into(),
                ..kcl::Request::paths([folder.display().to_string()])
            };
            let checked = compiler.checked(&request);
            if let Some(first) = checked.diagnostics.first() {
                self.wrong.push(format!("{}: {}", folder.display(), first.message()));
            }
        }
        if self.wheel {
            run(Command::new("python3").arg(root().join("xtask/documents/compile.py")).arg(models))?;
        }
        let name = models.file_name().unwrap_or_default().to_string_lossy();
        println!(
            "{name}: {lines} lines in {} files, {} packages, written in {took:.2?}",
            made.len(),
            folders.len()
        );
        Ok(())
    }

    fn project(&mut self, project: &Project) -> Result<(), String> {
        let documents = project.files(&self.home, "documents", project.documents)?;
        let models = self.home.join(format!("models-{}", project.name()));
        self.models(project.mode, &documents, &models)?;
        let kinds = manifests::kinds(&models)?;
        let mut packages: Vec<String> = kinds.values().cloned().collect();
        packages.sort();
        packages.dedup();
        let mut samples = manifests::read(&project.files(&self.home, "samples", project.samples)?);
        samples.retain(|sample| sample.kind().is_some_and(|kind| kinds.contains_key(&kind)));
        if let Some(server) = &mut self.server
            && project.mode == "crd"
        {
            server.install(&documents)?;
        }
        let verdicts = manifests::vet(&self.kcl, &models, &packages, &samples)?;
        let (mut accepted, mut not_samples) = (Vec::new(), 0);
        for (sample, complaint) in samples.iter().zip(verdicts) {
            let Some(complaint) = complaint else {
                accepted.push(sample.clone());
                continue;
            };
            if sources::WRONG.iter().any(|(file, _)| sample.from.contains(file)) {
                not_samples += 1;
                continue;
            }
            let judged = self.server.as_mut().map(|server| server.judge(sample)).transpose()?.flatten();
            match judged {
                Some(Verdict::Structure(_) | Verdict::Other) => not_samples += 1,
                _ => self.wrong.push(format!("{} is refused: {complaint}", sample.from)),
            }
        }
        println!(
            "  {} samples of {} accepted, {not_samples} are no samples (listed with reasons, or refused by the server)",
            accepted.len(),
            samples.len()
        );
        self.mutants(&models, &packages, &accepted)
    }

    /// Mutates samples; what the server refuses for its structure must be refused by the models.
    fn mutants(&mut self, models: &Path, packages: &[String], samples: &[Manifest]) -> Result<(), String> {
        let Some(server) = &mut self.server else { return Ok(()) };
        let mut by_kind: BTreeMap<(String, String), usize> = BTreeMap::new();
        let mut asked = Vec::new();
        for sample in samples {
            let Some(kind) = sample.kind() else { continue };
            let count = by_kind.entry(kind).or_default();
            *count += 1;
            // A sample that the server refuses as it is proves nothing when it is changed.
            if *count <= MUTATED_SAMPLES && matches!(server.judge(sample)?, Some(Verdict::Accepted)) {
                asked.extend(mutate::mutants(sample));
            }
        }
        let mut wanted = Vec::new();
        for mutant in asked {
            if let Some(Verdict::Structure(why)) = server.judge(&mutant.manifest)? {
                wanted.push((mutant, why));
            }
        }
        let manifests: Vec<Manifest> = wanted.iter().map(|(mutant, _)| mutant.manifest.clone()).collect();
        let verdicts = manifests::vet(&self.kcl, models, packages, &manifests)?;
        let accepted = verdicts.iter().filter(|complaint| complaint.is_none()).count();
        for ((mutant, why), complaint) in wanted.iter().zip(verdicts) {
            let row = self.refused.entry(mutant.row).or_default();
            row.0 += 1;
            match complaint {
                Some(_) => row.1 += 1,
                None => self.wrong.push(format!(
                    "{} with {} at {} is accepted; the server says: {why}",
                    mutant.manifest.from, mutant.row, mutant.place
                )),
            }
        }
        println!(
            "  {} mutants refused by the server for their structure, {} of them by the models",
            wanted.len(),
            wanted.len() - accepted
        );
        Ok(())
    }

    fn end(self, wanted: usize) -> ChoreResult {
        let (theirs, ours) =
            self.refused.values().fold((0, 0), |sum, (theirs, ours)| (sum.0 + theirs, sum.1 + ours));
        for (row, (theirs, ours)) in &self.refused {
            println!("  {row:<24} the server refuses {theirs:>4}, the models {ours:>4}");
        }
        if wanted > 0 {
            println!("mutants: the server refuses {theirs}, the models {ours} of them");
        }
        for wrong in &self.wrong {
            println!("WRONG: {wrong}");
        }
        match self.wrong.len() {
            0 if theirs >= wanted => Ok(ExitCode::SUCCESS),
            0 => Err(format!("only {theirs} mutants, {wanted} are wanted")),
            n => Err(format!("{n} things are wrong")),
        }
    }
}

/// The OpenAPI document of Kubernetes, for whoever wants to import it.
pub(crate) fn kubernetes_document() -> Result<PathBuf, String> {
    let home = target().join("import-proof");
    make(&home)?;
    let project = PROJECTS.first().ok_or("there is no project")?;
    let files = project.files(&home, "documents", project.documents)?;
    files.into_iter().next().ok_or_else(|| format!("{} has no document", project.module))
}

fn make(folder: &Path) -> Result<(), String> {
    std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))
}

fn run(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|e| format!("{command:?}: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} failed")) }
}
