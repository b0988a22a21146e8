//! `LoadPackage`: a program as data: trees, errors, symbols, imports, manifest.

use std::collections::BTreeMap;
use std::path::Path;

use base_diag::{Code, Diagnostic};
use kcl::Index;
use kcl_check::index::{DefKind, Level};
use kcl_mod::{Pin, Requirement, Source};
use kcl_syntax::program::ImportTarget;

use super::{compiler, parse_request, refuse_no_input, tree};
use crate::messages::{
    AppInfo, FileImports, ImportInfo, KclMod, KclModDependency, KclModGitSource, KclModLocalSource,
    KclModOciSource, KclModPackage, KclModProfile, KclType, LoadPackageArgs, LoadPackageResult, Scope,
    ScopeIndex, Symbol, SymbolIndex,
};
use crate::{Answer, Budget, Failure, texts};

/// Loads and checks a program and returns what is known of it. Without `resolve_ast` only what parsing tells.
///
/// # Errors
/// No input, or a manifest that cannot be read.
pub fn load_package(args: &LoadPackageArgs, budget: &Budget) -> Answer<LoadPackageResult> {
    let request = parse_request(&args.parse_args.clone().unwrap_or_default(), budget)?;
    let compiler = compiler(budget);
    let loaded = compiler.load(&request);
    let sources = &loaded.program.sources;
    refuse_no_input(&loaded.diagnostics, sources)?;
    let mut result = LoadPackageResult {
        program: tree::program(&loaded.program, &loaded.root).to_string(),
        paths: super::parse::paths(&loaded),
        parse_errors: texts::messages(&loaded.diagnostics, sources),
        kcl_mod: manifest(&loaded.root)?,
        ..LoadPackageResult::default()
    };
    if args.resolve_ast {
        let index = compiler.index(&request);
        let is_parsed = |d: &&Diagnostic| d.code.kind == Code::SYNTAX.kind || d.code == Code::MODULE;
        let typed = index.diagnostics.iter().filter(|d| !is_parsed(d));
        result.type_errors = texts::messages(typed, &index.program.sources);
        symbols(&index, &mut result);
        imports(&index, &mut result);
    }
    Ok(result)
}

/// The name of a symbol in the maps.
fn key(index: &SymbolIndex) -> String {
    format!("{{\"i\":{},\"g\":{},\"kind\":\"{}\"}}", index.i, index.g, index.kind)
}

/// Names of packages, their schemas and attributes: declarations inside lambdas, loops and braces are no symbols.
fn symbols(index: &Index, result: &mut LoadPackageResult) {
    let mut next = 0;
    for (number, (package, names)) in index.program.packages.iter().zip(&index.packages).enumerate() {
        let own = SymbolIndex { i: number as u64, g: 0, kind: "Package".to_owned() };
        let mut defs = Vec::new();
        let mut schema: Option<(SymbolIndex, String)> = None;
        let members = names.defs().iter().filter(|def| matches!(def.level, Level::Package | Level::Schema));
        for def in members.filter(|def| def.kind != DefKind::Import) {
            let kind = match def.kind {
                DefKind::Schema | DefKind::Mixin | DefKind::Protocol => "Schema",
                DefKind::Rule => "Rule",
                DefKind::Attribute => "Attribute",
                DefKind::TypeAlias => "TypeAlias",
                _ => "Value",
            };
            let symbol = SymbolIndex { i: next, g: 0, kind: kind.to_owned() };
            next += 1;
            let global = def.level == Level::Package;
            let owner =
                if global { Some(own.clone()) } else { schema.as_ref().map(|(owner, _)| owner.clone()) };
            let full = match (&schema, global) {
                (Some((_, schema)), false) => format!("{schema}.{}", def.name),
                _ => format!("{}.{}", package.path, def.name),
            };
            if global {
                defs.push(symbol.clone());
                if matches!(kind, "Schema" | "Rule") {
                    schema = Some((symbol.clone(), full.clone()));
                }
            } else if let Some(owner) = owner.as_ref().and_then(|owner| result.symbols.get_mut(&key(owner))) {
                owner.attrs.push(symbol.clone());
            }
            let ty = names.part_type(def.span.start).map(|ty| names.text(ty)).unwrap_or_default();
            let ty = Some(KclType { r#type: ty, ..KclType::default() });
            let (name, def_at) = (def.name.to_string(), Some(symbol.clone()));
            result.symbols.insert(
                key(&symbol),
                Symbol { ty, name, owner, def: def_at, attrs: Vec::new(), is_global: global },
            );
            result.fully_qualified_name_map.insert(full, symbol);
        }
        let scope = ScopeIndex { i: number as u64, g: 0, kind: "Root".to_owned() };
        let place = format!("{{\"i\":{},\"g\":0,\"kind\":\"Root\"}}", scope.i);
        result
            .scopes
            .insert(place, Scope { kind: "Package".to_owned(), owner: Some(own), defs, ..Scope::default() });
        result.pkg_scope_map.insert(package.path.to_string(), scope);
    }
}

/// What each file imports, and the folders that files stand in.
fn imports(index: &Index, result: &mut LoadPackageResult) {
    let sources = &index.program.sources;
    let mut folders: BTreeMap<String, bool> = BTreeMap::new();
    for package in &index.program.packages {
        for (at, id) in package.files.iter().enumerate() {
            let (Some(source), Some(file)) = (sources.get(*id), package.tree.files.get(at)) else { continue };
            let mut found = FileImports::default();
            for link in package.imports.iter().filter(|link| file.body.contains(&link.stmt)) {
                let kcl_syntax::ast::Stmt::Import(import) = package.tree.stmt(link.stmt) else { continue };
                let ImportTarget::Package(target) = link.target else { continue };
                let first = index.program.package(target).files.first().and_then(|id| sources.get(*id));
                let resolved = first.map(|source| source.path.clone()).unwrap_or_default();
                found.imports.push(ImportInfo { path: import.raw_path(), resolved });
            }
            result.imports.insert(source.path.clone(), found);
            if let Some(folder) = Path::new(&source.path).parent() {
                folders.insert(folder.display().to_string(), folder.join("kcl.mod").is_file());
            }
        }
    }
    result.apps = folders.into_iter().map(|(path, has_kcl_mod)| AppInfo { path, has_kcl_mod }).collect();
}

/// What `kcl.mod` says.
fn manifest(root: &Path) -> Answer<Option<KclMod>> {
    let path = root.join("kcl.mod");
    if !path.is_file() {
        return Ok(None);
    }
    let text =
        std::fs::read_to_string(&path).map_err(|e| Failure::wrong(format!("{}: {e}", path.display())))?;
    let read = kcl::Manifest::parse(&text).map_err(Failure::wrong)?;
    let table = kcl_mod::read_table(&path.display().to_string(), &text).map_err(Failure::wrong)?;
    let list = |key: &str| -> Vec<String> {
        let items = table.get("package").and_then(|p| p.get(key)).and_then(toml::Value::as_array);
        items.into_iter().flatten().filter_map(toml::Value::as_str).map(str::to_owned).collect()
    };
    let edition = table.get("package").and_then(|p| p.get("edition")).and_then(toml::Value::as_str);
    let (requirements, _) = kcl_mod::requirements(&table);
    Ok(Some(KclMod {
        package: Some(KclModPackage {
            name: read.package.name,
            edition: edition.unwrap_or_default().to_owned(),
            version: read.package.version,
            description: read.package.description,
            include: list("include"),
            exclude: list("exclude"),
        }),
        profile: Some(KclModProfile {
            entries: read.profile.entries,
            disable_none: read.profile.disable_none,
            sort_keys: read.profile.sort_keys,
            selectors: read.profile.selectors,
            overrides: read.profile.overrides,
            options: read.profile.arguments,
        }),
        dependencies: requirements.into_iter().map(|need| (need.key.clone(), dependency(need))).collect(),
    }))
}

fn dependency(need: Requirement) -> KclModDependency {
    let version = need.version.clone().unwrap_or_default();
    let mut out = KclModDependency::default();
    match need.source {
        Source::Registry => out.version = version,
        Source::Oci(place) => out.oci = Some(KclModOciSource { oci: format!("oci://{place}"), tag: version }),
        Source::Path(path) => out.local = Some(KclModLocalSource { path }),
        Source::Git { url, pin, .. } => {
            let mut git = KclModGitSource { git: url, ..KclModGitSource::default() };
            match pin {
                Pin::Tag(tag) => git.tag = tag,
                Pin::Commit(commit) => git.commit = commit,
                Pin::Branch(branch) => git.branch = branch,
                Pin::Greatest => {}
            }
            out.git = Some(git);
        }
    }
    out
}
