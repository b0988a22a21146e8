//! `UpdateDependencies` and `ListDepFiles`: what a module needs, and which files a program consists of.

use std::path::Path;

use kcl::Entry;
use kcl_fetch::{Options, Store, Trouble};

use super::{compiler, folder, refuse_no_input, request};
use crate::messages::{
    ExternalPkg, ListDepFilesArgs, ListDepFilesResult, UpdateDependenciesArgs, UpdateDependenciesResult,
};
use crate::{Answer, Budget, Failure};

/// Resolves the dependencies of a module, fetches what is not there, and returns where each package is. With `vendor`, copies
/// are made in the module's `vendor` folder.
///
/// # Errors
/// A manifest that cannot be read, or a package that cannot be had.
pub fn update_dependencies(args: &UpdateDependenciesArgs, _: &Budget) -> Answer<UpdateDependenciesResult> {
    let root = folder(&args.manifest_path)?;
    let root = if root.ends_with("kcl.mod") {
        root.parent().map(Path::to_path_buf).unwrap_or_default()
    } else {
        root
    };
    let store = kcl::package_folder().map(Store::new);
    let store = store
        .ok_or_else(|| Failure::wrong("there is no home folder to keep packages in: set KCL_PKG_PATH"))?;
    let options = Options { default_registry: kcl_fetch::default_registry(), ..Options::default() };
    let resolution = kcl_fetch::resolve(&root, &store, &options).map_err(told)?;
    let copies = match args.vendor {
        true => kcl_fetch::vendor(&root, &store, &resolution).map_err(told)?,
        false => Vec::new(),
    };
    let external = |kept: &kcl_fetch::Kept| {
        let copy = copies.iter().find(|(name, _)| *name == kept.locked.name);
        let place = copy.map_or(&kept.folder, |(_, folder)| folder);
        ExternalPkg { pkg_name: kept.locked.name.clone(), pkg_path: place.display().to_string() }
    };
    Ok(UpdateDependenciesResult { external_pkgs: resolution.packages.iter().map(external).collect() })
}

fn told(trouble: Trouble) -> Failure {
    Failure::wrong(trouble.to_string())
}

/// Lists the files of the program in a folder: its own, and with `include_all` those of the packages that it imports.
///
/// # Errors
/// No files there.
pub fn list_dep_files(args: &ListDepFilesArgs, budget: &Budget) -> Answer<ListDepFilesResult> {
    let work_dir = folder(&args.work_dir)?;
    let mut request = request(work_dir.clone(), &[], budget);
    request.entries = vec![Entry::Path(".".into())];
    let loaded = compiler(budget).load(&request);
    refuse_no_input(&loaded.diagnostics, &loaded.program.sources)?;
    let main = loaded.program.main;
    let mut files = Vec::new();
    for (at, package) in loaded.program.packages.iter().enumerate() {
        if !args.include_all && at != main.0 as usize {
            continue;
        }
        for source in package.files.iter().filter_map(|id| loaded.program.sources.get(*id)) {
            let path = Path::new(&source.path);
            let inside = path.strip_prefix(&loaded.root).ok().filter(|_| !args.use_abs_path);
            files.push(inside.unwrap_or(path).display().to_string());
        }
    }
    let inside = work_dir.strip_prefix(&loaded.root).map(|path| path.display().to_string());
    let pkgpath = inside.unwrap_or_default().replace(['/', '\\'], ".");
    Ok(ListDepFilesResult { pkgroot: loaded.root.display().to_string(), pkgpath, files })
}
