//! From files in memory to Specs.

use std::path::Path;
use std::sync::Arc;

use kcl::MemoryFiles;
use kusion_model::{DigestKey, FieldPath, Platforms};
use kusion_runtime_k8s::KubePlatform;

use crate::{GenerateError, Generated, Generator, Inputs, locate};

const KEY: DigestKey = DigestKey::new([7; 32]);

fn platforms() -> Platforms {
    Platforms::new(vec![Arc::new(KubePlatform)])
}

fn made(files: &[(&str, &str)]) -> Result<Generated, GenerateError> {
    let mut memory = MemoryFiles::default();
    memory.add("/w/shop/project.yaml", "name: shop\n");
    memory.add("/w/shop/dev/stack.yaml", "name: dev\n");
    for (name, text) in files {
        memory.add(Path::new("/w/shop").join(name), *text);
    }
    let stack = locate(&memory, Path::new("/w/shop/dev"), None).unwrap();
    let inputs = Inputs { workspace: "default".into(), origins: true, ..Inputs::default() };
    Generator::new(&memory).generate(&stack, &inputs, &platforms(), &KEY)
}

fn ids(generated: &Generated) -> Vec<&str> {
    generated.spec.resources.iter().map(|resource| resource.id.as_str()).collect()
}

fn problem(files: &[(&str, &str)]) -> crate::FileProblem {
    match made(files) {
        Err(GenerateError::Files(problem)) => *problem,
        Err(other) => panic!("{other}"),
        Ok(generated) => panic!("{:?}", ids(&generated)),
    }
}

const APP: &str =
    "import konfig.models.frontend\n\napp: frontend.Server {\n    name = \"web\"\n    image = \"web:1\"\n}\n";
const HPA: &str =
    "{apiVersion = \"autoscaling/v2\", kind = \"HorizontalPodAutoscaler\", metadata.name = \"web\"}";

#[test]
fn plain_objects_stand_beside_the_models() {
    for beside in [
        format!("resources = [{HPA}]\n"),
        format!("hpa = {HPA}\n"),
        format!("more = {{a = {{b = {HPA}}}}}\n"),
    ] {
        let text = format!("{APP}{beside}");
        let generated = made(&[("dev/main.k", &text)]).unwrap();
        let all = ids(&generated).join(" ");
        assert!(all.contains("Deployment") && all.contains("HorizontalPodAutoscaler"), "{beside}: {all}");
        let hpa = generated.spec.resources.last().unwrap();
        assert_eq!(hpa.place_of(&FieldPath::keys(["kind"])).unwrap().to_string(), "dev/main.k:7");
    }
}

#[test]
fn a_stream_beside_the_models_is_refused_with_its_line() {
    let text = format!("import manifests\n{APP}manifests.yaml_stream([{HPA}])\n");
    let problem = problem(&[("dev/main.k", &text)]);
    assert!(problem.what.contains("objects of the models would be lost"), "{problem:?}");
    assert_eq!(problem.place.as_deref(), Some("dev/main.k:8"));
    let stream = format!("import manifests\nmanifests.yaml_stream([{HPA}])\n");
    assert_eq!(ids(&made(&[("dev/main.k", &stream)]).unwrap()).len(), 1);
}

#[test]
fn a_manifest_that_is_none_is_told_with_its_line() {
    let good = "{apiVersion = \"v1\", kind = \"ConfigMap\", metadata.name = \"a\"}";
    let bad = "{apiVersion = \"v1\", kind = \"ConfigMap\"}";
    for text in [format!("a = {good}\n\nb = {bad}\n"), format!("resources = [\n    {good}\n    {bad}\n]\n")] {
        let problem = problem(&[("dev/main.k", &text)]);
        assert!(problem.what.contains("`metadata.name`"), "{problem:?}");
        assert_eq!(problem.place.as_deref(), Some("dev/main.k:3"), "{text}");
    }
}

#[test]
fn what_would_be_lost_is_named_with_its_line() {
    for (text, what, line) in [
        (format!("resources = [{HPA}]\nlabels = {{a = \"b\"}}\n"), "`labels` is", 2),
        (format!("{APP}\nhelper = {{a = 1}}\n"), "`helper` is", 8),
        ("resources = [\n    {apiVerson = \"v1\", kind = \"Pod\"}\n]\n".to_owned(), "`resources[0]` is", 2),
    ] {
        let problem = problem(&[("dev/main.k", &text)]);
        assert!(problem.what.starts_with(what), "{problem:?}");
        assert_eq!(problem.place, Some(format!("dev/main.k:{line}")));
    }
    let text = format!("{APP}\napiVersion = \"v1\"\nkind = \"Pod\"\nmetadata = {{name = \"x\"}}\n");
    problem(&[("dev/main.k", &text)]);
}

#[test]
fn an_argument_that_nobody_reads_is_told() {
    let mut memory = MemoryFiles::default();
    memory.add("/w/shop/project.yaml", "name: shop\n");
    memory.add("/w/shop/dev/stack.yaml", "name: dev\n");
    memory.add("/w/shop/dev/main.k", "resources = []\n_a = option(\"replicas\")\n");
    let stack = locate(&memory, Path::new("/w/shop/dev"), None).unwrap();
    let arguments = vec![("replicas".to_owned(), "1".to_owned()), ("replcas".to_owned(), "2".to_owned())];
    let generated = Generator::new(&memory)
        .generate(&stack, &Inputs { arguments, ..Inputs::default() }, &platforms(), &KEY)
        .unwrap();
    assert_eq!(generated.unused, ["replcas"]);
}

#[test]
fn settings_and_manifests_are_read_strictly() {
    let main = ("dev/main.k", "resources = []\n");
    let wrong =
        problem(&[main, ("dev/kcl.yaml", "kcl_cli_configs:\n  file: [main.k]\n  disable_non: true\n")]);
    assert_eq!(wrong.what, "kcl.yaml has no key `disable_non`");
    assert_eq!(wrong.place.as_deref(), Some("dev/kcl.yaml:3"));
    assert!(wrong.next.unwrap().starts_with("did you mean `disable_none`?"));
    let broken = problem(&[main, ("kcl.mod", "[package]\nname = \"shop\n")]);
    assert_eq!(broken.what, "kcl.mod cannot be used");
    assert_eq!(broken.place.as_deref(), Some("kcl.mod:2"));
    let files = [
        main,
        ("kcl.mod", "[package]\nname = \"shop\"\n[own]\nx = 1\n"),
        ("dev/kcl.yaml", "kcl_cli_configs:\n  files: [main.k]\n"),
    ];
    assert!(made(&files).is_ok());
}

#[test]
fn applications_that_disagree_about_one_object_are_refused() {
    let app = |name: &str, color: &str| {
        format!(
            "{name}: frontend.Server {{\n    name = \"{name}\"\n    image = \"i\"\n    configMaps = [{{name = \"shared\", data = {{color = \"{color}\"}}}}]\n}}\n"
        )
    };
    let text = |b: &str| format!("import konfig.models.frontend\n\n{}{}", app("a", "red"), app("b", b));
    let Err(GenerateError::Program { diagnostics, .. }) = made(&[("dev/main.k", &text("blue"))]) else {
        panic!()
    };
    assert!(
        diagnostics[0].message().contains("v1:ConfigMap:shop-dev:shared"),
        "{}",
        diagnostics[0].message()
    );
}

#[test]
fn variables_that_are_manifests_count_and_single_values_do_not() {
    let text = "helper = 1\nspace = {apiVersion = \"v1\", kind = \"Namespace\", metadata.name = option(\"app\")}\nrest = [{apiVersion = \"v1\", kind = \"ConfigMap\", metadata.name = option(\"env\")}]\n";
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
    let problem = problem(&[("dev/main.k", "a = 1\nb = 2\n")]);
    assert!(problem.cause.as_ref().unwrap().contains("a mapping with the keys a, b"), "{problem:?}");
    assert!(problem.next.is_some());
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

/// Files that count how often each is read.
struct Counting(MemoryFiles, std::sync::Mutex<std::collections::BTreeMap<std::path::PathBuf, u32>>);

impl kcl::Files for Counting {
    fn read(&self, path: &Path) -> Result<Arc<str>, String> {
        *self.1.lock().unwrap().entry(path.to_owned()).or_default() += 1;
        self.0.read(path)
    }

    fn is_file(&self, path: &Path) -> bool {
        self.0.is_file(path)
    }

    fn is_dir(&self, path: &Path) -> bool {
        self.0.is_dir(path)
    }

    fn list(&self, path: &Path) -> Vec<String> {
        self.0.list(path)
    }
}

#[test]
fn stacks_share_what_they_import_and_can_be_cancelled() {
    let mut memory = MemoryFiles::default();
    memory.add("/w/kcl.mod", "");
    memory.add("/w/base/base.k", "prefix = \"shop\"\n");
    memory.add("/w/shop/project.yaml", "name: shop\n");
    for stack in ["dev", "prod"] {
        memory.add(format!("/w/shop/{stack}/stack.yaml"), format!("name: {stack}\n"));
        let text = format!(
            "import base\nconfig = {{apiVersion = \"v1\", kind = \"ConfigMap\", metadata = {{name = base.prefix + \"-{stack}\"}}}}\n"
        );
        memory.add(format!("/w/shop/{stack}/main.k"), text);
    }
    let files = Counting(memory, Default::default());
    let generator = Generator::new(&files);
    let make = |stack: &str, inputs: &Inputs| {
        let stack = locate(&files, Path::new("/w/shop").join(stack).as_path(), None).unwrap();
        generator.generate(&stack, inputs, &platforms(), &KEY)
    };
    for stack in ["dev", "prod"] {
        let made = make(stack, &Inputs::default()).unwrap();
        assert!(ids(&made)[0].ends_with(&format!("shop-{stack}")), "{:?}", ids(&made));
    }
    assert_eq!(files.1.lock().unwrap()[Path::new("/w/base/base.k")], 1, "read once for both");
    let cancel = kcl::Cancel::default();
    cancel.cancel();
    match make("dev", &Inputs { cancel: Some(cancel), ..Inputs::default() }) {
        Err(GenerateError::Program { diagnostics, .. }) => {
            assert!(diagnostics[0].message().contains("cancelled"), "{diagnostics:?}");
        }
        Err(other) => panic!("{other}"),
        Ok(made) => panic!("{:?}", ids(&made)),
    }
}
