//! `terraform_data`: the one resource that is part of the host. It keeps what it is given, and gives it out when it is made.

use std::sync::{Arc, LazyLock};

use kusion_runtime::RuntimeError;
use tf_host::{
    Applied, ApplyAsk, Diagnostic, Imported, ImportedObject, PlanAsk, Planned, Read, ReadAsk, Resource,
};
use tf_schema::{Attribute, Block, Schema};
use tf_value::{Dynamic, Map, Path, Refinement, Type, Value};

use crate::settings::invalid;

static DATA: LazyLock<Arc<Resource>> = LazyLock::new(|| {
    let optional = Attribute { optional: true, ..Attribute::plain(Type::Dynamic) };
    let attributes = [
        ("id", Attribute { computed: true, ..Attribute::plain(Type::String) }),
        ("input", optional.clone()),
        ("output", Attribute { computed: true, ..Attribute::plain(Type::Dynamic) }),
        ("triggers_replace", optional),
    ];
    let attributes = attributes.map(|(name, one)| (name.to_owned(), one)).into();
    let schema = Schema::trusted(0, Block { attributes, ..Block::default() });
    let ty = schema.ty().clone();
    Arc::new(Resource { name: "terraform_data".to_owned(), schema, ty, identity: None })
});

pub(crate) fn resource(name: &str) -> Result<Arc<Resource>, RuntimeError> {
    match name {
        "terraform_data" => Ok(Arc::clone(&DATA)),
        other => Err(invalid(format!("the provider that is built in has no type `{other}`"))),
    }
}

pub(crate) fn upgrade(of: &Resource, json: &str) -> Result<(Option<Value>, Vec<Diagnostic>), RuntimeError> {
    let state = tf_value::json::decode(json.as_bytes(), &of.ty).map_err(|e| invalid(e.to_string()))?;
    Ok((Some(state), Vec::new()))
}

pub(crate) fn read(ask: ReadAsk<'_>) -> Read {
    Read {
        state: Some(ask.state.clone()),
        private: Vec::new(),
        identity: None,
        deferred: None,
        said: Vec::new(),
    }
}

pub(crate) fn import(of: &Resource, id: &str) -> Imported {
    let names = of.schema.block.attributes.keys();
    let state =
        Value::map(names.map(|name| (name.clone(), if name == "id" { id.into() } else { Value::Null })));
    let (type_name, state) = (of.name.clone(), Some(state));
    let objects = vec![ImportedObject { type_name, state, private: Vec::new(), identity: None }];
    Imported { objects, deferred: None, said: Vec::new() }
}

fn member<'v>(object: &'v Value, name: &str) -> &'v Value {
    static NULL: Value = Value::Null;
    object.get(name).unwrap_or(&NULL)
}

/// What the output will be: of the type of the input, and known when it is made.
fn output_of(input: &Value, was_null: bool) -> Value {
    match input {
        Value::Null if was_null => Value::Null,
        Value::Dynamic(dynamic) => {
            Value::Dynamic(Box::new(Dynamic { ty: dynamic.ty.clone(), value: Value::unknown() }))
        }
        _ => Value::unknown(),
    }
}

pub(crate) fn plan(ask: PlanAsk<'_>) -> Planned {
    let done = |state: Value, requires_replace: Vec<Path>| Planned {
        state: Some(state),
        requires_replace,
        private: Vec::new(),
        legacy: false,
        identity: None,
        deferred: None,
        said: Vec::new(),
    };
    let Value::Map(proposed) = ask.proposed else { return done(Value::Null, Vec::new()) };
    let mut planned: Map = proposed.clone();
    let input = member(ask.proposed, "input").clone();
    let fresh = |planned: &mut Map| {
        planned.insert("id".into(), Refinement { not_null: true, ..Refinement::default() }.unknown());
        planned.insert("output".into(), output_of(&input, true));
    };
    if ask.prior.is_null() {
        fresh(&mut planned);
        return done(Value::Map(planned), Vec::new());
    }
    if member(ask.prior, "triggers_replace") != member(ask.proposed, "triggers_replace") {
        fresh(&mut planned);
        return done(Value::Map(planned), vec![Path::default().attribute("triggers_replace")]);
    }
    if member(ask.prior, "input") != &input {
        planned.insert("output".into(), output_of(&input, false));
    }
    done(Value::Map(planned), Vec::new())
}

pub(crate) fn apply(ask: ApplyAsk<'_>) -> Applied {
    let done = |state| Applied {
        state: Some(state),
        private: Vec::new(),
        legacy: false,
        identity: None,
        said: Vec::new(),
    };
    let Value::Map(planned) = ask.planned else { return done(Value::Null) };
    let mut made = planned.clone();
    if member(ask.planned, "id").is_unknown() {
        made.insert("id".into(), Value::string(&uuid::Uuid::new_v4().to_string()));
    }
    if !member(ask.planned, "output").is_wholly_known() {
        made.insert("output".into(), member(ask.planned, "input").clone());
    }
    done(Value::Map(made))
}
