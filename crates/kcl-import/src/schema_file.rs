//! JSON Schema: the root and everything that it refers to become one file.

use base_yaml::Node;
use kcl_model::{Model, Package, Type};

use crate::inside::is_silent;
use crate::names::{schema_name, stem};
use crate::object::{entries, text};
use crate::refs::{Documents, SECTIONS, Spot};
use crate::schema::Reader;
use crate::{Imported, Input, write};

pub(crate) fn import(input: &Input<'_>) -> Result<Imported, String> {
    let mut documents = Documents::new(input)?;
    let root = documents.root().clone();
    let place = |documents: &Documents<'_>, spot: &Spot| (String::new(), name(documents, spot));
    let mut reader = Reader::new(&mut documents, &place);
    let mut spots: Vec<Spot> = Vec::new();
    let whole = Spot { document: 0, pointer: String::new() };
    // A document that only defines schemas is about all of them.
    let alias = match is_silent(&root) {
        true => None,
        false => {
            let ty = reader.spot(&whole)?;
            let alias = alias(&ty);
            if alias.is_some() && !reader.is_type(&root, &ty) {
                let name = name(reader.documents, &whole);
                reader.warnings.push(format!(
                    "{name} is a type, which has no checks: not all that it demands is checked"
                ));
            }
            alias
        }
    };
    for section in SECTIONS {
        for entry in entries(&root, section) {
            let key = entry.key.replace('~', "~0").replace('/', "~1");
            spots.push(Spot { document: 0, pointer: format!("/{section}/{key}") });
        }
    }
    for spot in &spots {
        reader.spot(spot)?;
    }
    reader.tell_rules();
    let alias = alias.map(|ty| {
        let name = name(reader.documents, &whole);
        let name = reader.names.entry(String::new()).or_default().unique(&name);
        format!("\ntype {name} = {ty}\n")
    });
    let mut schemas: Vec<_> = reader.packages.into_values().flatten().collect();
    let warnings = reader.warnings;
    if schemas.is_empty() && alias.is_none() {
        return Err(format!("{} describes no object with properties: there is no schema in it", input.name));
    }
    for schema in &mut schemas {
        schema.place = None;
    }
    let model = Model { packages: vec![Package { schemas, ..Package::default() }], ..Model::default() };
    let mut files = write::write(&model, &input.name)?;
    if let Some(alias) = alias {
        match files.first_mut() {
            Some((_, text)) => text.push_str(&alias),
            None => files.push(("main.k".to_owned(), format!("{}{alias}", write::header(&input.name)))),
        }
    }
    for (_, text) in &mut files {
        *text = write::formatted(text)?;
    }
    Ok(Imported { files, warnings })
}

/// The type of a root that is no schema, as KCL writes it; none if it says nothing.
fn alias(ty: &Type) -> Option<String> {
    let says = !matches!(ty, Type::Schema(_) | Type::Any);
    says.then(|| ty.text(&|schema| schema.name.clone()))
}

/// The last part of `$id` or of the pointer; the root has the name of its file.
fn name(documents: &Documents<'_>, spot: &Spot) -> String {
    let id = documents.node(spot).and_then(of_id);
    let last = spot.pointer.rsplit('/').next().filter(|last| !last.is_empty());
    match (last, id) {
        (Some(last), _) => schema_name(&last.replace("~1", "/").replace("~0", "~")),
        (None, Some(id)) => schema_name(&id),
        (None, None) => schema_name(stem(documents.name(spot.document))),
    }
}

/// The last segment of `$id`, without endings.
fn of_id(node: &Node) -> Option<String> {
    let id = text(node, "$id").or_else(|| text(node, "id"))?;
    let path = id.split(['#', '?']).next().unwrap_or_default().trim_end_matches('/');
    let last = path
        .rsplit('/')
        .next()
        .filter(|last| path.contains("://") && !last.is_empty() || !path.contains('/'))?;
    let host_only = path.split("://").nth(1).is_some_and(|rest| !rest.contains('/'));
    (!host_only && !last.is_empty()).then(|| stem(last).to_owned())
}
