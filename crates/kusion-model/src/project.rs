//! The files that name things: `project.yaml`, `stack.yaml`, `component.yaml`.
//!
//! In: the JSON value of a file (reading YAML happens elsewhere). Out: typed data. [`MetaFile`] says which keys a file has, so
//! that a reader can refuse others with a "did you mean". Both namespace mappings of the product live here: stack → namespace
//! (components share its quota) and component → namespace (the stack is a label).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Attr, BackendSetting, FieldPath, ImportedPolicy, Reference, ResourceId, StoreConfig, Template};

/// A file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetaError {
    #[error("{file} is not readable: {message}")]
    Unreadable { file: &'static str, message: String },
    #[error("{file} has no `name`")]
    NoName { file: &'static str },
    #[error("`{name}` in {file} is not a usable name: use letters, digits, `-`, `_` and `.`")]
    BadName { file: &'static str, name: String },
    #[error("output `{text}` in stack.yaml is not readable: {message}")]
    Output { text: String, message: String },
}

/// `project.yaml`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Project {
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    #[serde(default)]
    pub extensions: Vec<Value>,
    #[serde(default)]
    pub namespaces: Option<NamespaceMapping>,
    /// Where the state is kept.
    #[serde(default)]
    pub backend: Option<BackendSetting>,
    /// Where `ref://` values come from.
    #[serde(default)]
    pub secret_store: Option<StoreConfig>,
    /// Other stores, for `ref://…?store=NAME`.
    #[serde(default)]
    pub secret_stores: BTreeMap<String, StoreConfig>,
}

/// `stack.yaml`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stack {
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    #[serde(default)]
    pub extensions: Vec<Value>,
    #[serde(default)]
    pub namespaces: Option<NamespaceMapping>,
    /// The kubeconfig context of this stack.
    #[serde(default)]
    pub context: Option<String>,
    #[serde(default)]
    pub kube_config: Option<String>,
    #[serde(default)]
    pub conflicts: Vec<ConflictRule>,
    /// Stacks whose objects this one may take over: `project/stack`, with or without a workspace, or `*`.
    #[serde(default)]
    pub take_over: Vec<String>,
    /// What happens to imported objects that leave this stack.
    #[serde(default)]
    pub imported: ImportedPolicy,
    /// What other stacks may refer to, as written; read with [`Stack::read_outputs`].
    #[serde(default)]
    pub outputs: Vec<Value>,
    /// Where the state is kept, if not where the project says.
    #[serde(default)]
    pub backend: Option<BackendSetting>,
    /// Where `ref://` values come from, if not from where the project says.
    #[serde(default)]
    pub secret_store: Option<StoreConfig>,
    /// Other stores, for `ref://…?store=NAME`.
    #[serde(default)]
    pub secret_stores: BTreeMap<String, StoreConfig>,
}

/// The file of a workspace, `workspaces/NAME.yaml` in Kusion's home: what stacks share that are applied to it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceFile {
    /// Where the state is kept, if neither stack nor project says.
    #[serde(default)]
    pub backend: Option<BackendSetting>,
    /// Where `ref://` values come from, if neither stack nor project says.
    #[serde(default)]
    pub secret_store: Option<StoreConfig>,
    /// Other stores, for `ref://…?store=NAME`.
    #[serde(default)]
    pub secret_stores: BTreeMap<String, StoreConfig>,
}

/// `component.yaml`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Component {
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
}

/// What a namespace stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NamespaceMapping {
    /// One namespace per stack: `<project>-<stack>`.
    #[default]
    Stack,
    /// One namespace per component: `<project>-<component>`; the stack is a label.
    Component,
}

/// What to do when another manager owns a field that we set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConflictPolicy {
    Refuse,
    TakeOver,
    Leave,
}

/// One entry of `conflicts:` in stack.yaml; the first that matches counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConflictRule {
    /// A kind, or `*`.
    pub kind: String,
    /// A field; covers everything under it.
    pub path: FieldPath,
    pub policy: ConflictPolicy,
}

impl ConflictRule {
    /// Returns whether the rule speaks about this field of this kind.
    #[must_use]
    pub fn covers(&self, kind: &str, path: &FieldPath) -> bool {
        (self.kind == "*" || self.kind.eq_ignore_ascii_case(kind)) && self.path.covers(path)
    }
}

/// An entry of `outputs:` that says what kind of value it is.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TypedOutput {
    of: String,
    #[serde(default, rename = "type")]
    kind: OutputType,
}

/// What kind of value an output is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutputType {
    #[default]
    Any,
    String,
    Number,
    Bool,
    List,
    Map,
}

impl OutputType {
    /// Returns whether a value is of this kind.
    #[must_use]
    pub fn takes(self, value: &Attr) -> bool {
        match self {
            OutputType::Any => true,
            OutputType::String => matches!(value, Attr::Text(_)),
            OutputType::Number => matches!(value, Attr::Number(_)),
            OutputType::Bool => matches!(value, Attr::Bool(_)),
            OutputType::List => matches!(value, Attr::List(_) | Attr::Set(_)),
            OutputType::Map => matches!(value, Attr::Map(_)),
        }
    }

    /// Its name in stack.yaml.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            OutputType::Any => "any",
            OutputType::String => "string",
            OutputType::Number => "number",
            OutputType::Bool => "bool",
            OutputType::List => "list",
            OutputType::Map => "map",
        }
    }
}

/// An entry of `outputs:`: a whole resource, or one field of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackOutput {
    pub id: ResourceId,
    /// Empty for the whole resource.
    pub path: FieldPath,
    /// What it must be.
    pub kind: OutputType,
}

impl StackOutput {
    /// Reads an entry of `outputs:`.
    pub fn parse(text: &str) -> Result<Self, MetaError> {
        read_output(text)
    }

    /// Finds what a reference from another stack points to among recorded outputs; secrets are not handed on.
    #[must_use]
    pub fn look_up<'v>(outputs: &'v BTreeMap<String, Attr>, reference: &Reference) -> Option<&'v Attr> {
        let found = outputs.iter().find_map(|(text, value)| {
            let output = read_output(text).ok().filter(|output| output.allows(reference))?;
            FieldPath(reference.path.0[output.path.0.len()..].to_vec()).get(value)
        });
        found.filter(|value| !value.is_secret())
    }

    /// Names what a reference points to, as an entry of `outputs:` would.
    #[must_use]
    pub fn of_reference(reference: &Reference) -> Self {
        StackOutput { id: reference.id.clone(), path: reference.path.clone(), kind: OutputType::Any }
    }

    /// Returns whether everything that another one names is named by this one, too.
    #[must_use]
    pub fn covers(&self, other: &StackOutput) -> bool {
        self.id == other.id && self.path.covers(&other.path)
    }

    /// Returns whether a reference from another stack is covered.
    #[must_use]
    pub fn allows(&self, reference: &Reference) -> bool {
        self.id == reference.id && self.path.covers(&reference.path)
    }
}

impl std::fmt::Display for StackOutput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.path.to_string() {
            path if path.is_empty() => write!(f, "{}", self.id),
            path if path.starts_with('[') => write!(f, "{}{path}", self.id),
            path => write!(f, "{}.{path}", self.id),
        }
    }
}

/// One of the files that name things.
pub trait MetaFile: Default + Serialize {
    /// What it is called.
    const FILE: &'static str;
    /// Keys that it may have, and that nothing reads: upstream's, of all its eras.
    const UNUSED: &'static [&'static str];

    /// Reads the value of such a file.
    ///
    /// # Errors
    /// What is wrong with it.
    fn from_value(value: Value) -> Result<Self, MetaError>;

    /// Returns the keys that are used.
    fn keys() -> Vec<String> {
        let fields = serde_json::to_value(Self::default()).unwrap_or_default();
        let names = fields.as_object().into_iter().flat_map(|map| map.keys().cloned());
        names.filter(|name| !Self::UNUSED.contains(&name.as_str())).collect()
    }
}

impl MetaFile for Project {
    const FILE: &'static str = "project.yaml";
    const UNUSED: &'static [&'static str] =
        &["labels", "extensions", "tenant", "generator", "secret_stores", "prometheus"];

    fn from_value(value: Value) -> Result<Self, MetaError> {
        let project: Project = read(value, Self::FILE)?;
        check_name(&project.name, Self::FILE)?;
        Ok(project)
    }
}

impl MetaFile for Stack {
    const FILE: &'static str = "stack.yaml";
    const UNUSED: &'static [&'static str] = &["labels", "extensions", "workspace"];

    fn from_value(value: Value) -> Result<Self, MetaError> {
        let stack: Stack = read(value, Self::FILE)?;
        check_name(&stack.name, Self::FILE)?;
        stack.read_outputs()?;
        Ok(stack)
    }
}

impl MetaFile for WorkspaceFile {
    const FILE: &'static str = "the file of the workspace";
    const UNUSED: &'static [&'static str] = &["name", "modules", "context", "runtimes", "backends"];

    fn from_value(value: Value) -> Result<Self, MetaError> {
        read(value, Self::FILE)
    }
}

impl MetaFile for Component {
    const FILE: &'static str = "component.yaml";
    const UNUSED: &'static [&'static str] = &["labels"];

    fn from_value(value: Value) -> Result<Self, MetaError> {
        let component: Component = read(value, Self::FILE)?;
        check_name(&component.name, Self::FILE)?;
        Ok(component)
    }
}

impl Stack {
    /// Returns what other stacks may refer to: ids, or references in the plain or quoted form without `$kusion_path`.
    pub fn read_outputs(&self) -> Result<Vec<StackOutput>, MetaError> {
        let read = |entry: &Value| match entry {
            Value::String(text) => read_output(text),
            entry => {
                let typed: TypedOutput = serde_json::from_value(entry.clone()).map_err(|e| {
                    let message = format!("{e}; write an id, or {{of: ID.FIELD, type: string}}");
                    MetaError::Output { text: entry.to_string(), message }
                })?;
                Ok(StackOutput { kind: typed.kind, ..read_output(&typed.of)? })
            }
        };
        self.outputs.iter().map(read).collect()
    }
}

fn read_output(text: &str) -> Result<StackOutput, MetaError> {
    let bare =
        text.strip_prefix("$kusion_path").map(|rest| rest.strip_prefix('.').unwrap_or(rest)).unwrap_or(text);
    let dot = if bare.starts_with('[') { "" } else { "." };
    match Template::parse(&format!("$kusion_path{dot}{bare}")) {
        Some(Ok(template)) if template.references().all(|r| r.stack.is_none()) => {
            let reference = template.references().next();
            let kind = OutputType::Any;
            reference.map(|r| StackOutput { id: r.id.clone(), path: r.path.clone(), kind })
        }
        _ => ResourceId::parse(bare).ok().map(|id| {
            let kind = OutputType::Any;
            StackOutput { id, path: FieldPath::root(), kind }
        }),
    }
    .ok_or_else(|| MetaError::Output {
        text: text.to_owned(),
        message: "expected a resource id, or an id and a field of it".to_owned(),
    })
}

fn read<T: for<'de> Deserialize<'de>>(value: Value, file: &'static str) -> Result<T, MetaError> {
    serde_json::from_value(value).map_err(|e| MetaError::Unreadable { file, message: e.to_string() })
}

fn check_name(name: &str, file: &'static str) -> Result<(), MetaError> {
    if name.is_empty() {
        return Err(MetaError::NoName { file });
    }
    let usable = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    // Names become folders of the state store: nothing that could climb out of one.
    if !name.chars().all(usable) || name.starts_with('.') || name.len() > 128 {
        return Err(MetaError::BadName { file, name: name.to_owned() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn stack_file_reads_rules_and_outputs() {
        let stack = Stack::from_value(json!({
            "name": "dev",
            "conflicts": [{"kind": "Deployment", "path": "spec.replicas", "policy": "leave"}],
            "outputs": ["v1:Service:shop-dev:web", {"of": "v1:Service:shop-dev:db.spec.clusterIP", "type": "string"}],
        }))
        .unwrap();
        assert!(stack.conflicts[0].covers("deployment", &FieldPath::keys(["spec", "replicas"])));
        assert!(!stack.conflicts[0].covers("StatefulSet", &FieldPath::keys(["spec", "replicas"])));
        assert!(
            Stack::keys().contains(&"kubeConfig".to_owned()) && !Stack::keys().contains(&"labels".to_owned())
        );
        let outputs = stack.read_outputs().unwrap();
        assert!(outputs[0].path.0.is_empty());
        assert_eq!(
            (outputs[1].path.to_string().as_str(), outputs[1].kind),
            ("spec.clusterIP", OutputType::String)
        );
        assert!(
            outputs[1].kind.takes(&Attr::text("10.0.0.1")) && !outputs[1].kind.takes(&Attr::from(json!(1)))
        );
        assert!(
            Stack::from_value(json!({"name": "dev", "outputs": [{"of": "v1:Service:a:b", "type": "text"}]}))
                .is_err()
        );
    }

    #[test]
    fn names_that_could_leave_the_state_folder_are_refused() {
        for name in ["..", "a/b", ".hidden", "a b"] {
            assert!(
                matches!(Project::from_value(json!({"name": name})), Err(MetaError::BadName { .. })),
                "{name}"
            );
        }
        assert_eq!(Project::from_value(json!({})), Err(MetaError::NoName { file: "project.yaml" }));
        assert!(Project::from_value(json!([1])).is_err());
    }

    #[test]
    fn output_allows_what_it_covers() {
        let output = read_output("v1:Service:a:b.spec").unwrap();
        let reference = |text| Template::parse(text).unwrap().unwrap().references().next().unwrap().clone();
        assert!(output.allows(&reference(r#"$kusion_path["p/s#v1:Service:a:b"].spec.clusterIP"#)));
        assert!(!output.allows(&reference(r#"$kusion_path["p/s#v1:Service:a:b"].metadata.name"#)));
        let recorded =
            BTreeMap::from([("v1:Service:a:b.spec".to_owned(), json!({"clusterIP": "10.0.0.1"}).into())]);
        let wanted = reference(r#"$kusion_path["p/s#v1:Service:a:b"].spec.clusterIP"#);
        assert_eq!(StackOutput::look_up(&recorded, &wanted), Some(&Attr::text("10.0.0.1")));
    }
}
