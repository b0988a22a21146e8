//! From files in memory to Specs.

use std::path::Path;

use kcl::MemoryFiles;
use kusion_model::{DigestKey, FieldPath};

use crate::{GenerateError, Generated, Inputs, generate, locate};

const KEY: DigestKey = DigestKey([7; 32]);

fn made(files: &[(&str, &str)]) -> Result<Generated, GenerateError> {
    let mut memory = MemoryFiles::default();
    memory.add("/w/shop/project.yaml", "name: shop\n");
    memory.add("/w/shop/dev/stack.yaml", "name: dev\n");
    for (name, text) in files {
        memory.add(Path::new("/w/shop").join(name), *text);
    }
    let stack = locate(&memory, Path::new("/w/shop/dev"), None).unwrap();
    let inputs = Inputs { workspace: "default".into(), origins: true, ..Inputs::default() };
    generate(&memory, &stack, &inputs, &KEY)
}

fn ids(generated: &Generated) -> Vec<&str> {
    generated.spec.resources.iter().map(|resource| resource.id.as_str()).collect()
}

#[test]
fn variables_that_are_manifests_count_and_helpers_do_not() {
    let text = "helper = {a = 1}\nspace = {apiVersion = \"v1\", kind = \"Namespace\", metadata.name = option(\"app\")}\nrest = [{apiVersion = \"v1\", kind = \"ConfigMap\", metadata.name = option(\"env\")}]\n";
    assert_eq!(ids(&made(&[("dev/main.k", text)]).unwrap()), ["v1:Namespace:shop", "v1:ConfigMap:dev"]);
}

#[test]
fn a_field_knows_its_line_through_the_models() {
    let base = "import konfig.models.frontend\n\nappConfiguration: frontend.Server {\n    name = \"web\"\n    image = \"web:1\"\n}\n";
    let main = "import konfig.models.frontend\n\nappConfiguration: frontend.Server {\n    replicas = 3\n}\n";
    let generated = made(&[("base/base.k", base), ("dev/main.k", main)]).unwrap();
    let deployment = generated.spec.resources.iter().find(|r| r.id.as_str().contains("Deployment")).unwrap();
    let place = |path: &str| deployment.place_of(&FieldPath::parse(path).unwrap()).unwrap().to_string();
    assert_eq!(place("spec.replicas"), "dev/main.k:4");
    assert_eq!(place("spec.template.spec.containers[0].image"), "base/base.k:5");
}

#[test]
fn definitions_of_the_project_are_resources_of_the_stack() {
    let crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: gadgets.example.org}\n";
    let generated = made(&[("dev/main.k", "resources = []\n"), ("crd/gadget.yaml", crd)]).unwrap();
    assert_eq!(ids(&generated), ["apiextensions.k8s.io/v1:CustomResourceDefinition:gadgets\\.example\\.org"]);
    assert_eq!(
        generated.spec.resources[0].place_of(&FieldPath::root()).unwrap().to_string(),
        "crd/gadget.yaml:1"
    );
}

#[test]
fn output_that_is_no_spec_says_what_a_spec_is() {
    let Err(GenerateError::Files(problem)) = made(&[("dev/main.k", "a = 1\nb = 2\n")]) else { panic!() };
    assert!(problem.what.contains("a mapping with the keys a, b"), "{}", problem.what);
    assert!(problem.cause.is_some() && problem.next.is_some());
}

#[test]
fn applications_share_the_stacks_namespace_or_have_one_each() {
    let app = |name: &str| {
        format!(
            "import konfig.models.frontend\n\n{name}: frontend.Server {{\n    name = \"{name}\"\n    image = \"{name}:1\"\n}}\n"
        )
    };
    let (web, api) = (app("web"), app("api"));
    let files =
        [("dev/web.k", web.as_str()), ("dev/api/component.yaml", "name: api\n"), ("dev/api/api.k", &api)];
    let generated = made(&files).unwrap();
    let workloads = ["apps/v1:Deployment:shop-dev:web", "apps/v1:Deployment:shop-dev:api"];
    assert!(workloads.iter().all(|id| ids(&generated).contains(id)), "{:?}", ids(&generated));
    let mut files = files.to_vec();
    files.push(("dev/stack.yaml", "name: dev\nnamespaces: component\n"));
    let generated = made(&files).unwrap();
    let expected = [
        "v1:Namespace:shop-api",
        "apps/v1:Deployment:shop-api:api",
        "v1:Namespace:shop-web",
        "apps/v1:Deployment:shop-web:web",
    ];
    assert!(expected.iter().all(|id| ids(&generated).contains(id)), "{:?}", ids(&generated));
    let space = generated.spec.resources.iter().find(|r| r.id.as_str() == "v1:Namespace:shop-web").unwrap();
    let labels = &space.attributes["metadata"]["labels"];
    assert_eq!(labels["kusion.io/stack"], "dev");
    assert_eq!(labels["app.kubernetes.io/component"], "web");
}
