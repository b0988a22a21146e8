//! What the generator knows about the program it is writing: types, names in scope, schemas, functions.

/// A type as far as the generator cares.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Ty {
    Int,
    Float,
    Str,
    Bool,
    List(Box<Ty>),
    Dict(Box<Ty>),
    /// Index into [`Declared::schemas`].
    Schema(usize),
}

impl Ty {
    pub(super) fn list(of: Ty) -> Ty {
        Ty::List(Box::new(of))
    }

    pub(super) fn dict(of: Ty) -> Ty {
        Ty::Dict(Box::new(of))
    }
}

/// A name that can be read.
#[derive(Clone, Debug)]
pub(super) struct Var {
    /// As written, with package prefix.
    pub(super) name: String,
    /// What it holds at run time.
    pub(super) ty: Ty,
    /// Whether the checker sees `any`.
    pub(super) any: bool,
    /// Known keys of a dict.
    pub(super) keys: Vec<(String, Ty)>,
}

/// An attribute of a schema.
#[derive(Clone, Debug)]
pub(super) struct Attr {
    pub(super) name: String,
    pub(super) ty: Ty,
    pub(super) optional: bool,
    pub(super) default: bool,
}

/// A schema statement.
#[derive(Clone, Debug, Default)]
pub(super) struct Schema {
    pub(super) name: String,
    pub(super) attrs: Vec<Attr>,
    pub(super) base: Option<usize>,
    pub(super) mixins: Vec<usize>,
    pub(super) params: Vec<Ty>,
    pub(super) index: Option<Ty>,
    pub(super) mixin: bool,
}

/// A lambda bound to a name.
#[derive(Clone, Debug)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) params: Vec<(String, Ty)>,
    /// How many parameters have no default.
    pub(super) required: usize,
    pub(super) result: Ty,
}

/// Everything that was declared so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Declared {
    pub(super) vars: Vec<Var>,
    pub(super) schemas: Vec<Schema>,
    pub(super) functions: Vec<Function>,
    /// Private globals that may be assigned again.
    pub(super) mutable: Vec<(String, Ty)>,
    /// Public and private names that are taken.
    pub(super) taken: Vec<String>,
    /// System modules that were used.
    pub(super) modules: Vec<String>,
}

impl Declared {
    /// All attributes of a schema: base first, own, mixins; a redeclared one once.
    pub(super) fn attrs(&self, schema: usize) -> Vec<Attr> {
        let it = &self.schemas[schema];
        let mut all = it.base.map(|base| self.attrs(base)).unwrap_or_default();
        let mixed = it.mixins.iter().flat_map(|mixin| self.schemas[*mixin].attrs.iter());
        for attr in it.attrs.iter().chain(mixed) {
            match all.iter_mut().find(|old| old.name == attr.name) {
                Some(old) => old.default |= attr.default,
                None => all.push(attr.clone()),
            }
        }
        all
    }

    /// The type as written in an annotation.
    pub(super) fn text(&self, ty: &Ty) -> String {
        match ty {
            Ty::Int => "int".into(),
            Ty::Float => "float".into(),
            Ty::Str => "str".into(),
            Ty::Bool => "bool".into(),
            Ty::List(of) => format!("[{}]", self.text(of)),
            Ty::Dict(of) => format!("{{str:{}}}", self.text(of)),
            Ty::Schema(index) => self.schemas[*index].name.clone(),
        }
    }
}
