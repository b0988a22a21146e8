//! What the extensions of a resource say: which provider, which type, how it lives.

use base_diag::nearest;
use kusion_model::{FieldPath, ResourceId, ResourceKey, Segment};
use kusion_runtime::{ErrorKind, RuntimeError};
use serde_json::{Map, Value};
use tf_schema::Ignore;
use tf_value::{Path, Step, Type};

/// The provider that is part of the host itself.
pub const BUILTIN: &str = "terraform.io/builtin/terraform";
/// The extension that names an object which exists already.
pub const IMPORT_ID: &str = "kusionstack.io/import-id";
/// The extension that names a configuration of a provider, for tools that ask for a name.
pub(crate) const PROVIDER_ALIAS: &str = "providerAlias";
/// Where providers come from that name no host.
pub const DEFAULT_HOST: &str = "registry.opentofu.org";

/// What a resource says that must not go.
pub(crate) const FORBIDS_DELETE: &str = "extension `lifecycle`: `preventDestroy` forbids to delete it; \
     apply without that first";
/// The extensions that mean something.
const KNOWN: [&str; 9] = [
    "provider",
    "resourceType",
    "providerMeta",
    PROVIDER_ALIAS,
    "mode",
    "lifecycle",
    "movedFrom",
    IMPORT_ID,
    "cluster",
];
const LIFECYCLE: [&str; 3] = ["createBeforeDestroy", "preventDestroy", "ignoreChanges"];

/// A provider: where it comes from, and which version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Source {
    /// `host/namespace/name`.
    pub address: String,
    /// A version or a constraint; none takes what is there.
    pub version: Option<String>,
}

/// What is wanted of changes beside their values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lifecycle {
    /// The new object comes before the old one goes.
    pub(crate) create_first: bool,
    /// It must not go, and not be replaced.
    pub(crate) keep: bool,
    ignore: Vec<String>,
    ignore_all: bool,
}

/// What becomes of a resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    /// It is made, changed and deleted.
    #[default]
    Managed,
    /// It is only looked at.
    Data,
    /// It is there while it is used.
    Ephemeral,
}

impl Role {
    pub(crate) fn read(extensions: &Map<String, Value>) -> Result<Self, RuntimeError> {
        match extensions.get("mode").and_then(Value::as_str).unwrap_or_default() {
            "" | "managed" => Ok(Role::Managed),
            "data" => Ok(Role::Data),
            "ephemeral" => Ok(Role::Ephemeral),
            other => Err(invalid(format!(
                "extension `mode` is `{other}`; `managed`, `data` or `ephemeral` is known"
            ))),
        }
    }
}

/// The extensions of a resource, read.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) source: Source,
    pub(crate) type_name: String,
    pub(crate) role: Role,
    pub(crate) import_id: Option<String>,
    pub(crate) lifecycle: Lifecycle,
    /// The configuration of the provider, where it stands in the extensions.
    pub(crate) meta: Option<Value>,
    /// What other tools call that configuration.
    pub(crate) alias: Option<String>,
}

pub(crate) fn invalid(message: impl Into<String>) -> RuntimeError {
    RuntimeError::new(ErrorKind::Invalid, message)
}

/// What the host itself finds wrong with a configuration.
pub(crate) fn refused(message: impl Into<String>) -> RuntimeError {
    invalid(message).of_nobody()
}

impl Settings {
    pub(crate) fn read(key: &ResourceKey, extensions: &Map<String, Value>) -> Result<Self, RuntimeError> {
        let parts = key.id.parts();
        let [namespace, provider, type_name, _name] = &parts[..] else {
            return Err(invalid(format!(
                "id `{}` has {} parts; that of a Terraform resource is `namespace:provider:type:name`",
                key.id,
                parts.len()
            )));
        };
        moved_from(extensions)?;
        let text = |key: &str| extensions.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        let source = match text("provider") {
            Some(provider) => Source::parse(provider).map_err(invalid)?,
            None if type_name == "terraform_data" => Source { address: BUILTIN.to_owned(), version: None },
            None => Source { address: format!("{DEFAULT_HOST}/{namespace}/{provider}"), version: None },
        };
        Ok(Settings {
            source,
            type_name: text("resourceType").unwrap_or(type_name).to_owned(),
            role: Role::read(extensions)?,
            import_id: text(IMPORT_ID).map(str::to_owned),
            lifecycle: Lifecycle::read(extensions.get("lifecycle"))?,
            alias: alias(extensions)?,
            meta: extensions.get("providerMeta").filter(|meta| !meta.is_null()).cloned(),
        })
    }
}

/// Refuses an extension that is nearly one that means something: it would protect, order or ignore nothing. Others may mean
/// something to somebody else.
pub(crate) fn check_names(extensions: &Map<String, Value>) -> Result<(), RuntimeError> {
    let slip = extensions.keys().filter(|name| !KNOWN.contains(&name.as_str())).find_map(|name| {
        let folded = name.to_lowercase();
        let same = KNOWN.into_iter().find(|known| known.to_lowercase() == folded);
        Some((name, same.or_else(|| nearest(KNOWN.into_iter(), name))?))
    });
    match slip {
        Some((name, near)) => Err(invalid(format!("extension `{name}` is unknown: did you mean `{near}`?"))),
        None => Ok(()),
    }
}

/// Reads the name of a provider's configuration.
pub(crate) fn alias(extensions: &Map<String, Value>) -> Result<Option<String>, RuntimeError> {
    let Some(value) = extensions.get(PROVIDER_ALIAS).filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    let is_name = |text: &&str| {
        text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
    };
    let name = value.as_str().filter(is_name).map(str::to_owned);
    name.map(Some)
        .ok_or_else(|| invalid(format!("extension `{PROVIDER_ALIAS}` is a name: letters, digits, _ and -")))
}

/// Reads the ids that a resource had before: a text or a list of them.
pub(crate) fn moved_from(extensions: &Map<String, Value>) -> Result<Vec<ResourceId>, RuntimeError> {
    let wrong = || invalid("extension `movedFrom` is an id, or a list of ids");
    let texts = match extensions.get("movedFrom") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(all)) => all.iter().collect(),
        Some(one) => vec![one],
    };
    let read = |text: &Value| ResourceId::parse(text.as_str().ok_or_else(wrong)?).map_err(|_| wrong());
    texts.into_iter().map(read).collect()
}

impl Source {
    /// Reads `host/namespace/name/version`; host and version may be missing.
    ///
    /// # Errors
    /// A text of another shape.
    pub fn parse(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.split('/').collect();
        let has_host = parts
            .first()
            .is_some_and(|first| first.contains('.') || *first == "localhost" || first.contains(':'));
        let (host, rest) = if has_host { (parts[0], &parts[1..]) } else { (DEFAULT_HOST, &parts[..]) };
        let (namespace, name, version) = match rest {
            [namespace, name] => (namespace, name, None),
            [namespace, name, version] => (namespace, name, Some((*version).to_owned())),
            _ => return Err(format!("provider `{text}` is not `host/namespace/name/version`")),
        };
        if namespace.is_empty() || name.is_empty() {
            return Err(format!("provider `{text}` is not `host/namespace/name/version`"));
        }
        let version = version.filter(|version| !version.is_empty());
        Ok(Source { address: format!("{host}/{namespace}/{name}"), version })
    }

    /// Whether it is part of the host.
    #[must_use]
    pub fn is_builtin(&self) -> bool {
        self.address == BUILTIN
    }
}

impl Lifecycle {
    pub(crate) fn read(value: Option<&Value>) -> Result<Self, RuntimeError> {
        let mut lifecycle = Lifecycle::default();
        let Some(value) = value else { return Ok(lifecycle) };
        let wrong = |what: &str| invalid(format!("extension `lifecycle`: {what}"));
        for (key, value) in value.as_object().ok_or_else(|| wrong("a mapping is expected"))? {
            let flag = || value.as_bool().ok_or_else(|| wrong(&format!("`{key}` is true or false")));
            match key.as_str() {
                "createBeforeDestroy" => lifecycle.create_first = flag()?,
                "preventDestroy" => lifecycle.keep = flag()?,
                "ignoreChanges" if value == "all" => lifecycle.ignore_all = true,
                "ignoreChanges" => {
                    let all = value.as_array().and_then(|all| {
                        all.iter().map(|one| one.as_str().map(str::to_owned)).collect::<Option<Vec<String>>>()
                    });
                    lifecycle.ignore =
                        all.ok_or_else(|| wrong("`ignoreChanges` is `all` or a list of fields"))?;
                }
                other => {
                    let near = nearest(LIFECYCLE.into_iter(), other);
                    let known = near.map_or_else(
                        || format!("known are `{}`", LIFECYCLE.join("`, `")),
                        |near| format!("did you mean `{near}`?"),
                    );
                    return Err(wrong(&format!("`{other}` is unknown: {known}")));
                }
            }
        }
        Ok(lifecycle)
    }

    /// What is ignored, by the type of the object.
    pub(crate) fn ignored(&self, ty: &Type) -> Result<Option<Ignore>, RuntimeError> {
        if self.ignore_all {
            return Ok(Some(Ignore::All));
        }
        if self.ignore.is_empty() {
            return Ok(None);
        }
        let path = |text: &String| {
            let path = FieldPath::parse(text).map_err(|e| invalid(format!("extension `lifecycle`: {e}")))?;
            typed_path(&path, ty).ok_or_else(|| {
                invalid(format!("extension `lifecycle`: `ignoreChanges` names `{text}`, which is no field"))
            })
        };
        Ok(Some(Ignore::Paths(self.ignore.iter().map(path).collect::<Result<_, _>>()?)))
    }
}

/// A path of the engine as one of the provider: whether a key is an attribute or the key of a map is said by the type.
fn typed_path(path: &FieldPath, ty: &Type) -> Option<Path> {
    let (mut steps, mut at) = (Vec::new(), ty.clone());
    for segment in &path.0 {
        let (step, next) = match (segment, &at) {
            (Segment::Key(name), Type::Object(object)) => {
                (Step::Attribute(name.as_str().into()), object.attributes.get(name.as_str())?.clone())
            }
            (Segment::Key(name) | Segment::Item(name), Type::Map(of)) => {
                (Step::Key(name.as_str().into()), Type::clone(of))
            }
            (Segment::Index(index), Type::List(of)) => (Step::Index(*index as u64), Type::clone(of)),
            // What has no type of its own is looked into as it is.
            (Segment::Key(name), Type::Dynamic) => (Step::Attribute(name.as_str().into()), Type::Dynamic),
            (Segment::Index(index), Type::Dynamic) => (Step::Index(*index as u64), Type::Dynamic),
            _ => return None,
        };
        steps.push(step);
        at = next;
    }
    (!steps.is_empty()).then(|| Path::from(steps))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(id: &str, extensions: Value) -> Result<Settings, RuntimeError> {
        let key = ResourceKey::new(ResourceId::parse(id).unwrap());
        Settings::read(&key, extensions.as_object().unwrap())
    }

    #[test]
    fn the_form_of_upstream_is_read() {
        let settings = read(
            "hashicorp:random:random_password:pw",
            json!({"provider": "registry.terraform.io/hashicorp/random/3.9.0", "resourceType": "random_password",
                "providerMeta": {"a": 1}, "kusionstack.io/import-id": "x"}),
        )
        .unwrap();
        assert_eq!(settings.source.address, "registry.terraform.io/hashicorp/random");
        assert_eq!(settings.source.version.as_deref(), Some("3.9.0"));
        assert_eq!((settings.type_name.as_str(), settings.role), ("random_password", Role::Managed));
        assert_eq!(settings.import_id.as_deref(), Some("x"));
    }

    #[test]
    fn what_is_left_out_follows_from_the_id() {
        let settings = read("hashicorp:random:random_pet:p", json!({})).unwrap();
        assert_eq!(
            settings.source,
            Source { address: "registry.opentofu.org/hashicorp/random".into(), version: None }
        );
        assert!(read("builtin:terraform:terraform_data:d", json!({})).unwrap().source.is_builtin());
    }

    #[test]
    fn wrong_extensions_are_named() {
        for (extensions, says) in [
            (json!({"provider": "x"}), "`host/namespace/name/version`"),
            (json!({"mode": "other"}), "`mode` is `other`"),
            (json!({"lifecycle": {"createFirst": true}}), "`createFirst` is unknown: known are"),
            (json!({"lifecycle": {"preventDestory": true}}), "did you mean `preventDestroy`?"),
            (json!({"lifecycle": {"ignoreChanges": 1}}), "`ignoreChanges`"),
            (json!({"providerAlias": "us east"}), "`providerAlias` is a name"),
        ] {
            let error = read("hashicorp:random:random_pet:p", extensions).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
        assert!(read("v1:Namespace:x", json!({})).unwrap_err().to_string().contains("3 parts"));
    }

    #[test]
    fn a_slip_in_a_name_is_no_other_extension() {
        let check = |extensions: Value| check_names(extensions.as_object().unwrap());
        for (slip, near) in [
            ("lifecyle", "lifecycle"),
            ("LifeCycle", "lifecycle"),
            ("providermeta", "providerMeta"),
            ("moveFrom", "movedFrom"),
            ("kusionstack.io/importid", "kusionstack.io/import-id"),
        ] {
            let error = check(json!({slip: {}})).unwrap_err().to_string();
            assert!(error.contains(&format!("`{slip}` is unknown: did you mean `{near}`?")), "{error}");
        }
        check(json!({"lifecycle": {}, "cluster": "west", "team": "shop", "acme.io/owner": 1})).unwrap();
    }

    #[test]
    fn ignored_fields_are_found_by_type() {
        let settings =
            read("h:r:t:n", json!({"lifecycle": {"ignoreChanges": ["keepers[\"a\"]", "length"]}})).unwrap();
        let ty = Type::object([("keepers", Type::map(Type::String)), ("length", Type::Number)]);
        let Some(Ignore::Paths(paths)) = settings.lifecycle.ignored(&ty).unwrap() else { panic!("paths") };
        assert_eq!(paths[0].to_string(), "keepers[\"a\"]");
        assert!(settings.lifecycle.ignored(&Type::object([("x", Type::String)])).is_err());
        let inside = read("h:r:t:n", json!({"lifecycle": {"ignoreChanges": ["any.list[0].k"]}})).unwrap();
        let ty = Type::object([("any", Type::Dynamic)]);
        let Some(Ignore::Paths(paths)) = inside.lifecycle.ignored(&ty).unwrap() else { panic!("paths") };
        assert_eq!(paths[0].to_string(), "any.list[0].k");
    }
}
