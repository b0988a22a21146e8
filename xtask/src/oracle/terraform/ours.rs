//! Our side: the duties of a host, on the same state and configuration.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tf_host::{DataSource, Launch, PlanAsk, Provider, Resource, errors};
use tf_schema::state::{Instance, Mode, State};
use tf_schema::{
    Action, Facts, Ignore, Loose, Schema, action, check_applied, check_plan, configure, ignore_changes,
    proposed_new, proposed_read, replace_paths, sensitive_paths,
};
use tf_value::json::Json;
use tf_value::{Path, Step, Type, Value};

use super::prior;
use super::references::{each_reference, loosen};
use crate::terraform_mirror::{PROVIDERS, executable};

pub(super) struct Ours {
    providers: BTreeMap<String, Provider>,
}

/// What is planned for one object.
pub(super) struct Change {
    /// In tofu's words; none for a data source that was read at once, which no plan lists.
    pub actions: Vec<&'static str>,
    pub after: Value,
    pub sensitive: Vec<Path>,
    pub replace: Vec<Path>,
    pub of: Kind,
}

/// What an object is one of.
pub(super) enum Kind {
    Resource(Arc<Resource>),
    Data(Arc<DataSource>),
}

impl Kind {
    fn schema(&self) -> &Schema {
        match self {
            Kind::Resource(of) => &of.schema,
            Kind::Data(of) => &of.schema,
        }
    }

    pub(super) fn ty(&self) -> &Type {
        match self {
            Kind::Resource(of) => &of.ty,
            Kind::Data(of) => &of.ty,
        }
    }
}

pub(super) type Changes = BTreeMap<String, Change>;

impl Ours {
    pub(super) async fn start() -> Result<Self, String> {
        let mut providers = BTreeMap::new();
        for (_, name, _) in PROVIDERS {
            let program = executable(name)?;
            let provider =
                Provider::start(&Launch::new(name, &program), None).await.map_err(|e| e.to_string())?;
            let schema = &provider.schemas().provider().0;
            let config = configure(&schema.block, &Loose::Map(Vec::new()))
                .map_err(|problems| format!("{problems:?}"))?;
            refuse(&provider.configure(&config).await.map_err(|e| e.to_string())?)?;
            providers.insert(name.to_owned(), provider);
        }
        Ok(Self { providers })
    }

    pub(super) async fn end(self) {
        for provider in self.providers.values() {
            provider.end().await;
        }
    }

    fn provider(&self, ty: &str) -> Result<&Provider, String> {
        let name = ty.split('_').next().unwrap_or_default();
        self.providers.get(name).ok_or_else(|| format!("no provider for {ty}"))
    }

    pub(super) fn find(&self, ty: &str) -> Result<(&Provider, Arc<Resource>), String> {
        let provider = self.provider(ty)?;
        Ok((provider, provider.resource(ty).map_err(|error| error.to_string())?))
    }

    /// Plans every object of a configuration, and the deletion of those that are not in it any more.
    pub(super) async fn plan(&self, step: &Json, before: &State) -> Result<Changes, String> {
        let wanted = wanted(step);
        let mut changes = Changes::new();
        for resource in before.resources.iter().filter(|resource| resource.mode == Mode::Managed) {
            let address = format!("{}.{}", resource.ty, resource.name);
            if !wanted.contains_key(&address) && prior::moved(step, "from", &address).is_none() {
                let (_, of) = self.find(&resource.ty)?;
                let change = Change {
                    actions: vec!["delete"],
                    after: Value::Null,
                    sensitive: vec![],
                    replace: vec![],
                    of: Kind::Resource(of),
                };
                changes.insert(address, change);
            }
        }
        // Those whose references are planned come first.
        let mut waiting: Vec<&String> = wanted.keys().collect();
        while !waiting.is_empty() {
            let before_round = waiting.len();
            let mut later = Vec::new();
            for address in waiting {
                let (ty, body) = wanted[address];
                let mut missing = false;
                each_reference(body, &mut |to| missing |= !changes.contains_key(to));
                if missing {
                    later.push(address);
                    continue;
                }
                let change = match address.starts_with("data.") {
                    true => self.plan_data(ty, body, &changes).await,
                    false => self.plan_one(address, ty, body, before, &changes, step).await,
                };
                changes.insert(address.clone(), change.map_err(|error| format!("{address}: {error}"))?);
            }
            if later.len() == before_round {
                return Err("a reference leads nowhere or in a circle".into());
            }
            waiting = later;
        }
        Ok(changes)
    }

    /// A data source is read at once, unless something that it depends on will change.
    async fn plan_data(&self, ty: &str, body: &Json, changes: &Changes) -> Result<Change, String> {
        let provider = self.provider(ty)?;
        let of = provider.data_source(ty).map_err(|error| error.to_string())?;
        let block = &of.schema.block;
        let mut marked = Vec::new();
        let loose = loosen(&arguments(body), changes, &mut Path::default(), &mut marked)?;
        let config = configure(block, &loose).map_err(|problems| problems[0].to_string())?;
        refuse(&provider.validate_data(&of, &config).await.map_err(|e| e.to_string())?)?;
        let mut pending = !config.is_wholly_known();
        each_reference(body, &mut |to| {
            let changing = |change: &Change| !change.actions.is_empty() && change.actions != ["no-op"];
            pending |= changes.get(to).is_some_and(changing);
        });
        let (actions, after) = if pending {
            (vec!["read"], proposed_read(block, &config))
        } else {
            let read = provider.read_data(&of, &config, None).await.map_err(|e| e.to_string())?;
            refuse(&read.said)?;
            (Vec::new(), read.state.unwrap_or_default())
        };
        let mut sensitive = sensitive_paths(block, &after);
        sensitive.extend(marked);
        Ok(Change { actions, after, sensitive, replace: Vec::new(), of: Kind::Data(of) })
    }

    async fn plan_one(
        &self,
        address: &str,
        ty: &str,
        body: &Json,
        before: &State,
        changes: &Changes,
        step: &Json,
    ) -> Result<Change, String> {
        let (provider, of) = self.find(ty)?;
        let block = &of.schema.block;
        let mut marked = Vec::new();
        let loose = loosen(&arguments(body), changes, &mut Path::default(), &mut marked)?;
        marked.iter_mut().for_each(|path| *path = as_stored(path, &of.ty));
        let original = configure(block, &loose).map_err(|problems| problems[0].to_string())?;
        refuse(&provider.validate(&of, &original).await.map_err(|e| e.to_string())?)?;
        let stored = prior::stored(step, before, address);
        let prior::Prior { state: mut prior, mut private } =
            self.prior(provider, &of, step, before, address).await?;
        let forced = names(step, "replace").any(|other| other == address);
        let tainted = stored.is_some_and(|stored| stored.tainted) && !prior.is_null();
        if tainted {
            (prior, private) = (Value::Null, Vec::new());
        }
        let config = ignore_changes(&of.schema, &prior, &original, &ignored(body, &of.ty)?)
            .map_err(|problem| problem.to_string())?;
        let proposed = proposed_new(block, &prior, &config);
        let ask = PlanAsk {
            prior: &prior,
            proposed: &proposed,
            config: &config,
            private: &private,
            identity: None,
            meta: None,
        };
        let planned = provider.plan(&of, ask).await.map_err(|error| error.to_string())?;
        refuse(&planned.said)?;
        let mut after = planned.state.unwrap_or_default();
        if let Some(problem) = check_plan(block, &prior, &config, &after).first().filter(|_| !planned.legacy)
        {
            return Err(format!("invalid plan: {problem}"));
        }
        let replace =
            replace_paths(block, &prior, &after, &planned.requires_replace).map_err(|p| p.to_string())?;
        // What comes from another type has no marks that could be compared.
        let other_type = prior::moved_type(step, address).is_some_and(|from| from != of.name);
        let sensitive_changed = stored.filter(|_| !other_type).is_some_and(|stored| {
            let mut now = sensitive_paths(block, &after);
            now.extend(marked.iter().cloned());
            marked.iter().any(|path| !stored.sensitive.contains(path))
                || stored.sensitive.iter().any(|path| !now.contains(path))
        });
        let facts = Facts { forced, tainted, sensitive_changed };
        let decided = action(block, &prior, &after, &replace, facts);
        if let Action::Replace(_) = decided
            && !tainted
        {
            let proposed = proposed_new(block, &Value::Null, &original);
            let ask = PlanAsk {
                prior: &Value::Null,
                proposed: &proposed,
                config: &original,
                private: &planned.private,
                identity: None,
                meta: None,
            };
            let second = provider.plan(&of, ask).await.map_err(|error| error.to_string())?;
            refuse(&second.said)?;
            after = second.state.unwrap_or_default();
        }
        let mut sensitive = sensitive_paths(block, &after);
        sensitive.extend(marked);
        let keeps = lifecycle(body, "prevent_destroy");
        if keeps && matches!(decided, Action::Replace(_)) {
            return Err("it must not be destroyed".into());
        }
        let actions = words(&decided, created_first(step).contains(address));
        Ok(Change { actions, after, sensitive, replace, of: Kind::Resource(of) })
    }

    /// Whether what was stored completes what ours planned.
    pub(super) fn completed(&self, planned: &Changes, after: &State) -> Result<Vec<String>, String> {
        let mut wrong = Vec::new();
        let made = |change: &&Change| !change.after.is_null() && matches!(change.of, Kind::Resource(_));
        for (address, change) in planned.iter().filter(|(_, change)| made(change)) {
            let Some(stored) = instance(after, address) else {
                wrong.push(format!("{address} is not stored"));
                continue;
            };
            let value = stored.value(change.of.ty()).map_err(|error| format!("{address}: {error}"))?;
            for problem in check_applied(&change.of.schema().block, &change.after, &value) {
                wrong.push(format!("{address}.{problem}"));
            }
        }
        Ok(wrong)
    }
}

/// What tofu calls an action.
fn words(action: &Action, first: bool) -> Vec<&'static str> {
    match action {
        Action::NoOp => vec!["no-op"],
        Action::Create => vec!["create"],
        Action::Update => vec!["update"],
        Action::Replace(_) if first => vec!["create", "delete"],
        Action::Replace(_) => vec!["delete", "create"],
    }
}

fn lifecycle(body: &Json, wish: &str) -> bool {
    body.get("lifecycle").and_then(|it| it.get(wish)) == Some(&Json::Bool(true))
}

/// What is created before it is destroyed: what says so, and everything that such an object depends on.
fn created_first(step: &Json) -> BTreeSet<String> {
    let wanted = wanted(step);
    let says = |(_, (_, body)): &(&String, &(&str, &Json))| lifecycle(body, "create_before_destroy");
    let mut open: Vec<String> = wanted.iter().filter(says).map(|(address, _)| address.clone()).collect();
    let mut found = BTreeSet::new();
    while let Some(address) = open.pop() {
        if let Some((_, body)) = wanted.get(&address)
            && found.insert(address)
        {
            each_reference(body, &mut |to| open.push(to.to_owned()));
        }
    }
    found
}

pub(super) fn refuse(said: &[tf_host::Diagnostic]) -> Result<(), String> {
    errors(said).map_or(Ok(()), Err)
}

pub(super) fn instance<'s>(state: &'s State, address: &str) -> Option<&'s Instance> {
    let found = state
        .resources
        .iter()
        .find(|it| it.mode == Mode::Managed && format!("{}.{}", it.ty, it.name) == address);
    found?.instances.iter().find(|instance| instance.deposed.is_none())
}

/// Everything that a configuration names: address → type and body.
fn wanted(step: &Json) -> BTreeMap<String, (&str, &Json)> {
    let mut wanted = BTreeMap::new();
    for (section, prefix) in [("resource", ""), ("data", "data.")] {
        for (ty, named) in step.get(section).and_then(Json::as_object).unwrap_or_default() {
            for (name, body) in named.as_object().unwrap_or_default() {
                wanted.insert(format!("{prefix}{ty}.{name}"), (ty.as_str(), body));
            }
        }
    }
    wanted
}

/// A list of texts in a configuration.
pub(super) fn names<'s>(step: &'s Json, section: &str) -> impl Iterator<Item = &'s str> {
    step.get(section).and_then(Json::as_array).unwrap_or_default().iter().filter_map(Json::as_str)
}

/// A path of a configuration as tofu stores it: a mark inside a set is one of the set, and only maps have keys. What has
/// no type is written as an object.
fn as_stored(path: &Path, ty: &Type) -> Path {
    let (mut kept, mut at) = (Path::default(), ty);
    for step in path.steps() {
        let (step, next) = match (at, step) {
            (Type::Set(_), _) => return kept,
            (Type::Object(object), Step::Attribute(name) | Step::Key(name)) => {
                (Step::Attribute(name.clone()), object.attributes.get(name).unwrap_or(&Type::Dynamic))
            }
            (Type::List(of) | Type::Map(of), step) => (step.clone(), &**of),
            (_, Step::Key(name)) => (Step::Attribute(name.clone()), &Type::Dynamic),
            (_, step) => (step.clone(), &Type::Dynamic),
        };
        kept.push(step);
        at = next;
    }
    kept
}

/// What goes to the provider.
fn arguments(body: &Json) -> Json {
    let members = body.as_object().unwrap_or_default().iter();
    Json::Object(members.filter(|(name, _)| name != "lifecycle" && name != "depends_on").cloned().collect())
}

fn ignored(body: &Json, ty: &Type) -> Result<Ignore, String> {
    let wish = body.get("lifecycle").and_then(|it| it.get("ignore_changes"));
    let place = |json: &Json| place(json.as_str().unwrap_or_default(), ty);
    Ok(match wish {
        Some(Json::String(all)) if all == "all" => Ignore::All,
        Some(Json::Array(names)) => Ignore::Paths(names.iter().map(place).collect::<Result<_, _>>()?),
        _ => Ignore::Paths(Vec::new()),
    })
}

/// A place in an object: `keepers["a"]`, `list_block[0].name`.
fn place(text: &str, ty: &Type) -> Result<Path, String> {
    let (mut path, mut at) = (Path::default(), ty);
    for word in text.split(['.', '[']) {
        let word = word.trim_end_matches(']').trim_matches('"');
        let (step, next) = match (at, word.parse::<u64>()) {
            (Type::Object(object), _) => {
                let of = object.attributes.get(word).ok_or_else(|| format!("there is no `{word}`"))?;
                (Step::Attribute(word.into()), of)
            }
            (Type::Map(of), _) => (Step::Key(word.into()), &**of),
            (Type::List(of), Ok(index)) => (Step::Index(index), &**of),
            (Type::Dynamic, Ok(index)) => (Step::Index(index), at),
            (Type::Dynamic, Err(_)) => (Step::Attribute(word.into()), at),
            _ => return Err(format!("`{text}` is no place that can be ignored")),
        };
        path.push(step);
        at = next;
    }
    Ok(path)
}
