//! The resources: read as YAML, given to the program as options, written as YAML.

use base_yaml::{
    Data, JsonWriter, Limits, MapEntry, Node, YamlWriter, join_documents, parse_documents, parse_json,
    write_node,
};

/// What comes in.
pub(super) struct Resources {
    /// The ResourceList; a stream of manifests has been put into one.
    list: Node,
    /// Whether the output is manifests.
    plain: bool,
    params: Vec<MapEntry>,
}

const LIMITS: Limits = Limits { depth: 128, nodes: 4_000_000, strict_keys: true, long_integers: false };

impl Resources {
    /// Reads a ResourceList.
    pub(super) fn of_list(text: &str) -> Result<Resources, String> {
        let mut documents =
            parse_documents(text, &LIMITS).map_err(|error| format!("the input is no YAML: {error}"))?;
        let list = match documents.len() {
            1 => documents.remove(0),
            n => {
                return Err(format!(
                    "the input has {n} documents: a KRM function gets one ResourceList (--manifests takes a stream)"
                ));
            }
        };
        if text_of(list.get("kind")) != Some("ResourceList") {
            return Err(
                "the input is no ResourceList: its kind says so (--manifests takes a stream of manifests)"
                    .to_owned(),
            );
        }
        if !matches!(list.get("items").map(|items| &items.value), None | Some(Data::Null | Data::List(_))) {
            return Err("`items` of the ResourceList is no list".to_owned());
        }
        let mut resources = Resources { list, plain: false, params: Vec::new() };
        resources.params = resources.config_params();
        Ok(resources)
    }

    /// Reads a stream of manifests.
    pub(super) fn of_manifests(text: &str) -> Result<Resources, String> {
        let documents =
            parse_documents(text, &LIMITS).map_err(|error| format!("the input is no YAML: {error}"))?;
        let items: Vec<Node> =
            documents.into_iter().filter(|document| document.value != Data::Null).collect();
        let entries = vec![
            entry("apiVersion", node(Data::Str("config.kubernetes.io/v1".into()))),
            entry("kind", node(Data::Str("ResourceList".into()))),
            entry("items", node(Data::List(items))),
        ];
        Ok(Resources { list: node(Data::Map(entries)), plain: true, params: Vec::new() })
    }

    /// `spec.source` of the functionConfig, or `data.source` of a ConfigMap.
    pub(super) fn source(&self) -> Option<String> {
        let config = self.list.get("functionConfig")?;
        let found = config.get("spec").or_else(|| config.get("data"))?.get("source");
        text_of(found).filter(|text| !text.trim().is_empty()).map(str::to_owned)
    }

    /// `spec.params` of the functionConfig; of a ConfigMap everything but the source.
    fn config_params(&self) -> Vec<MapEntry> {
        let Some(config) = self.list.get("functionConfig") else { return Vec::new() };
        let params = config.get("spec").and_then(|spec| spec.get("params")).or_else(|| config.get("data"));
        match params.map(|params| &params.value) {
            Some(Data::Map(entries)) => {
                entries.iter().filter(|entry| entry.key != "source").cloned().collect()
            }
            _ => Vec::new(),
        }
    }

    /// Sets a parameter; what the command line says wins.
    pub(super) fn set_param(&mut self, name: &str, json: &str) {
        let value = parse_json(json, &LIMITS).unwrap_or_else(|_| node(Data::Str(json.into())));
        self.params.retain(|entry| entry.key != name);
        self.params.push(entry(name, value));
    }

    /// The options of the program.
    pub(super) fn arguments(&self) -> Vec<(String, String)> {
        let none = node(Data::List(Vec::new()));
        let items = self.list.get("items").filter(|items| items.value != Data::Null).unwrap_or(&none);
        let params = node(Data::Map(self.params.clone()));
        [("items", items), ("params", &params), ("resource_list", &self.list)]
            .map(|(name, value)| (name.to_owned(), json(value)))
            .into()
    }

    /// What goes out, given the documents that the program made: `items` of one replaces the items, the others are added.
    pub(super) fn with_output(mut self, documents: Vec<kcl::Data>) -> Result<String, String> {
        let (mut replaced, mut made, mut added) = (false, Vec::new(), Vec::new());
        let mut told: Option<Vec<Node>> = None;
        for document in documents.into_iter().map(node_of) {
            match document.get("items").map(|items| &items.value) {
                Some(Data::List(items)) if document.get("kind").is_none() => {
                    replaced = true;
                    made.extend_from_slice(items);
                    if let Some(results) = document.get("results") {
                        told.get_or_insert_default().extend_from_slice(checked_results(results)?);
                    }
                }
                Some(_) if document.get("apiVersion").is_none() && document.get("kind").is_none() => {
                    return Err("`items` of the program is no list of resources: items = [..]".to_owned());
                }
                _ if matches!(&document.value, Data::Map(entries) if entries.is_empty()) => {}
                _ => added.push(document),
            }
        }
        if let Some(results) = told {
            self.set("results", node(Data::List(results)));
        }
        made.extend(added);
        check(&made)?;
        let mut items = match self.list.get("items").map(|items| items.value.clone()) {
            Some(Data::List(items)) if !replaced => items,
            _ => Vec::new(),
        };
        items.extend(made);
        Ok(self.written(items))
    }

    fn written(&mut self, items: Vec<Node>) -> String {
        if self.plain {
            let documents: Vec<String> = items.iter().map(yaml).collect();
            return if documents.is_empty() { String::new() } else { join_documents(&documents) + "\n" };
        }
        self.set("items", node(Data::List(items)));
        yaml(&self.list) + "\n"
    }

    fn set(&mut self, key: &str, value: Node) {
        if let Data::Map(entries) = &mut self.list.value {
            match entries.iter_mut().find(|entry| entry.key == key) {
                Some(found) => found.value = value,
                None => entries.push(entry(key, value)),
            }
        }
    }
}

/// What a program says about the resources: a list of objects with messages, for whoever called the function.
fn checked_results(results: &Node) -> Result<&[Node], String> {
    let is_result = |result: &Node| text_of(result.get("message")).is_some();
    match &results.value {
        Data::List(all) if all.iter().all(is_result) => Ok(all),
        _ => Err("`results` of the program is no list of results: results = [{message = \"..\", severity = \"warning\"}]".to_owned()),
    }
}

/// Every item must say what it is: kustomize and Helm would fail later, and less clearly.
fn check(items: &[Node]) -> Result<(), String> {
    for (number, item) in items.iter().enumerate() {
        for key in ["apiVersion", "kind"] {
            if text_of(item.get(key)).is_none_or(str::is_empty) {
                return Err(format!(
                    "item {number} of the result is no resource: it has no `{key}` (the program sets `items`, or prints resources)"
                ));
            }
        }
    }
    Ok(())
}

fn text_of(node: Option<&Node>) -> Option<&str> {
    match node.map(|node| &node.value) {
        Some(Data::Str(text)) => Some(text.as_str()),
        _ => None,
    }
}

/// What a program made, as what is written.
fn node_of(data: kcl::Data) -> Node {
    node(match data {
        kcl::Data::Null => Data::Null,
        kcl::Data::Bool(value) => Data::Bool(value),
        kcl::Data::Int(value) => Data::Int(value),
        kcl::Data::Float(value) => Data::Float(value),
        kcl::Data::Text(text) => Data::Str(text.to_string()),
        kcl::Data::List(items) => Data::List(items.into_iter().map(node_of).collect()),
        kcl::Data::Map(entries) => {
            Data::Map(entries.into_iter().map(|(key, value)| entry(&key, node_of(value))).collect())
        }
    })
}

fn node(value: Data) -> Node {
    Node { value, span: base_yaml::Span::default() }
}

fn entry(key: &str, value: Node) -> MapEntry {
    MapEntry { key: key.into(), key_span: base_yaml::Span::default(), value }
}

fn json(node: &Node) -> String {
    let mut writer = JsonWriter::new();
    write_node(&mut writer, node);
    writer.into_string()
}

fn yaml(node: &Node) -> String {
    let mut writer = YamlWriter::new();
    write_node(&mut writer, node);
    writer.into_document().trim_end_matches('\n').to_owned()
}
