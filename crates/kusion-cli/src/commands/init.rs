//! `kusion init`: a project from a template, ready to preview.

use base_diag::nearest;
use base_file::How;
use std::path::Path;

use kcl::embedded_konfig;
use serde_json::json;

use crate::input::chosen::here;
use crate::input::flags::{Arg, Given, flag};
use crate::views::failure::Failure;
use crate::views::output::{Format, format_of, print, print_json};

pub(crate) fn flags() -> Vec<Arg> {
    vec![
        flag(
            "template",
            Some('t'),
            "NAME",
            "server (default), job or plain; `kusion init templates` lists them",
        ),
        flag("project-name", None, "NAME", "the project's name (default: the folder's)"),
        flag("vendor", None, "", "write a copy of the models into the project, to change them"),
        flag("force", None, "", "also into a folder that is not empty; files of the same name are replaced"),
        flag("output", Some('o'), "FORMAT", "text or json"),
    ]
}

struct Template {
    name: &'static str,
    help: &'static str,
    files: &'static [(&'static str, &'static str)],
}

const TEMPLATES: &[Template] = &[
    Template {
        name: "server",
        help: "a long-running application with a service; dev and prod",
        files: &[
            (
                "base/base.k",
                "import konfig.models.frontend\n\n# What every environment shares.\nappConfiguration: frontend.Server {\n    name = \"NAME\"\n    image = \"nginx:1.29\"\n    mainContainer: {ports: [{port = 80}]}\n    services: [{ports: [{port = 80}]}]\n}\n",
            ),
            ("dev/stack.yaml", "name: dev\n"),
            (
                "dev/main.k",
                "import konfig.models.frontend\n\n# What is special in dev.\nappConfiguration: frontend.Server {\n    replicas = 1\n}\n",
            ),
            ("prod/stack.yaml", "name: prod\n"),
            (
                "prod/main.k",
                "import konfig.models.frontend\n\n# What is special in prod.\nappConfiguration: frontend.Server {\n    replicas = 3\n}\n",
            ),
        ],
    },
    Template {
        name: "job",
        help: "something that runs once and ends",
        files: &[
            (
                "base/base.k",
                "import konfig.models.frontend\n\njob: frontend.Job {\n    name = \"NAME\"\n    image = \"perl:5.34\"\n}\n",
            ),
            ("dev/stack.yaml", "name: dev\n"),
            ("dev/main.k", "import konfig.models.frontend\n\njob: frontend.Job {\n}\n"),
        ],
    },
    Template {
        name: "plain",
        help: "Kubernetes objects in KCL, without models",
        files: &[
            ("dev/stack.yaml", "name: dev\n"),
            (
                "dev/main.k",
                "_namespace = option(\"app\") + \"-\" + option(\"env\")\n\nresources = [\n    {\n        apiVersion = \"v1\"\n        kind = \"Namespace\"\n        metadata.name = _namespace\n    }\n    {\n        apiVersion = \"v1\"\n        kind = \"ConfigMap\"\n        metadata = {name = \"settings\", namespace = _namespace}\n        data = {greeting = \"hello\"}\n    }\n]\n",
            ),
        ],
    },
];

pub(crate) fn main(given: &Given) -> Result<(), Failure> {
    if given.rest.first().is_some_and(|word| word == "templates") {
        return templates(given);
    }
    let folder = match given.rest.as_slice() {
        [] => here()?,
        [folder] => here()?.join(folder),
        _ => return Err(Failure::usage("one folder at most").next("kusion init NAME")),
    };
    let wanted = given.last("template").unwrap_or_else(|| "server".to_owned());
    let template = TEMPLATES.iter().find(|template| template.name == wanted).ok_or_else(|| {
        let failure = Failure::usage(format!("there is no template `{wanted}`"));
        match nearest(TEMPLATES.iter().map(|template| template.name), &wanted) {
            Some(near) => failure.next(format!("did you mean `{near}`?")),
            None => failure.next("kusion init templates"),
        }
    })?;
    let of_folder = || folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = given.last("project-name").unwrap_or_else(of_folder);
    check(&name, &folder, given.has("force"))?;
    let mut files = vec![("project.yaml".to_owned(), format!("name: {name}\n"))];
    files.extend(template.files.iter().map(|(file, text)| ((*file).to_owned(), text.replace("NAME", &name))));
    if given.has("vendor") {
        files.extend(vendored(template));
    }
    write(&folder, files)?;
    let shown = given.rest.first().cloned().unwrap_or_else(|| ".".to_owned());
    if format_of(given)? == Format::Json {
        let files: Vec<&str> = template.files.iter().map(|(file, _)| *file).collect();
        return print_json(
            &json!({"schema": "kusion.io/init/v1", "project": name, "folder": folder, "files": files}),
        );
    }
    print(&format!(
        "Created project `{name}` in {shown}\n\n  cd {shown}\n  kusion generate dev     what it means\n  kusion preview dev      what it would change\n  kusion apply dev        change it\n"
    ))
}

fn templates(given: &Given) -> Result<(), Failure> {
    if format_of(given)? == Format::Json {
        let rows: Vec<_> = TEMPLATES
            .iter()
            .map(|template| json!({"name": template.name, "description": template.help}))
            .collect();
        return print_json(&json!({"schema": "kusion.io/templates/v1", "templates": rows}));
    }
    TEMPLATES.iter().try_for_each(|template| print(&format!("{:<8} {}\n", template.name, template.help)))
}

fn check(name: &str, folder: &Path, force: bool) -> Result<(), Failure> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || !name.chars().all(fits) || name.starts_with('-') || name.ends_with('-') {
        return Err(Failure::usage(format!("`{name}` is no name for a project"))
            .cause("names become namespaces and labels: small letters, digits and `-`")
            .next("kusion init FOLDER --project-name NAME"));
    }
    let full = std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
    if full && !force {
        return Err(Failure::usage("the folder is not empty")
            .place(folder.display().to_string())
            .next("choose another, or --force"));
    }
    Ok(())
}

/// The models beside the stacks, and settings by which every stack uses that copy.
fn vendored(template: &Template) -> Vec<(String, String)> {
    let models = embedded_konfig().map(|(file, text)| (format!("konfig/{file}"), text.to_owned()));
    let mut files: Vec<(String, String)> = models.collect();
    let stacks = template.files.iter().filter_map(|(file, _)| file.strip_suffix("/stack.yaml"));
    for stack in stacks.filter(|_| template.name != "plain") {
        let text = "kcl_cli_configs:\n  file:\n  - ../base/base.k\n  - main.k\n  - ${konfig:KCL_MOD}/render.k\n  package_maps:\n    konfig: ../konfig\n";
        files.push((format!("{stack}/kcl.yaml"), text.to_owned()));
    }
    files
}

/// All files of the project, or none.
fn write(folder: &Path, files: Vec<(String, String)>) -> Result<(), Failure> {
    let files: Vec<_> = files.into_iter().map(|(name, text)| (folder.join(name), text)).collect();
    base_file::write_all(&files, How::Plain).map_err(|trouble| {
        Failure::usage("the project cannot be written")
            .cause(trouble.error.to_string())
            .place(trouble.path.display().to_string())
    })
}
