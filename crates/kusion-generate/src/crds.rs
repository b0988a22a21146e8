//! Raw CustomResourceDefinitions of a project: every YAML document below `crd/` is a resource of each of its stacks.

use kcl::Files;
use kusion_model::{DigestKey, FieldPath, Platforms, Resource, SourceRef, Spec};

use crate::documents::read_documents;
use crate::error::FileProblem;
use crate::locate::StackFolder;

/// Adds them behind the program's resources; one that the program gives in the same words is not added again.
pub(crate) fn append(
    files: &dyn Files,
    stack: &StackFolder,
    platforms: &Platforms,
    key: &DigestKey,
    spec: &mut Spec,
) -> Result<(), FileProblem> {
    let folder = stack.project_dir.join("crd");
    let mut names = files.list(&folder);
    names.retain(|name| name.ends_with(".yaml") || name.ends_with(".yml"));
    names.sort();
    for name in names {
        let path = folder.join(name);
        let shown = stack.shown(&path);
        let text = files.read(&path).map_err(|e| FileProblem::new(e).place(shown.clone()))?;
        let documents = read_documents(&text).map_err(|e| {
            FileProblem::new("the file is not YAML").cause(e.message).place(format!("{shown}:{}", e.line))
        })?;
        for document in documents {
            let mut resource = Resource::from_document(document, platforms, key)
                .map_err(|e| FileProblem::new(e.to_string()).place(shown.clone()))?;
            match spec.resources.iter().find(|known| known.key() == resource.key()) {
                Some(known) if known.attributes == resource.attributes => continue,
                Some(known) => return Err(twice(known, &shown)),
                None => {}
            }
            let place = SourceRef { file: shown.as_str().into(), line: 1, col: 1 };
            resource.source.insert(FieldPath::root(), place);
            spec.resources.push(resource);
        }
    }
    Ok(())
}

fn twice(known: &Resource, shown: &str) -> FileProblem {
    let other =
        known.place_of(&FieldPath::root()).map_or_else(|| "the program".to_owned(), ToString::to_string);
    FileProblem::new(format!("{} is defined twice, and not in the same words", known.id))
        .cause(format!("once in {shown}, once in {other}"))
        .place(shown)
        .next("keep one of them")
}
