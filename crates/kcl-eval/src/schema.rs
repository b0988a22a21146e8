//! Schemas and rules as the evaluator sees them: identity, chain of bodies, attribute types.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use kcl_syntax::ast::{Dotted, RuleDef, SchemaDef, Stmt, StmtId, Tree};
use kcl_value::{Dict, Function, SchemaRef, Str, Value};
use rustc_hash::FxHashMap;

use crate::fault::Eval;
use crate::machine::Machine;
use crate::mistake::Mistake;
use crate::outline::Outline;
use crate::package::Symbol;
use crate::record::{Shape, Shaped};
use crate::rtype::{RType, SchemaAt};

/// A schema of a running program. Bases and mixins are looked up when it is first used, so they may be defined further down.
pub(crate) struct Schema {
    pub(crate) reference: Rc<SchemaRef>,
    /// The schema as a value.
    pub(crate) value: Value,
    pub(crate) package: usize,
    /// What was configured for the instance that was made last.
    config_keys: RefCell<Rc<Vec<Str>>>,
    outline: Arc<Outline>,
    index: u32,
    stmt: StmtId,
    links: OnceCell<Links>,
}

impl std::fmt::Debug for Schema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.reference.name)
    }
}

/// What a schema is tied to in a program, computed at first use.
pub(crate) struct Links {
    pub(crate) base: Option<Rc<Schema>>,
    pub(crate) mixins: Vec<Rc<Schema>>,
    /// All bodies in the order of their names: base's parts, own, mixins' parts. None is the schema itself: one that held itself
    /// would never be given back.
    pub(crate) parts: Vec<Option<Rc<Schema>>>,
    /// How many of the parts are the base's.
    pub(crate) base_count: u32,
    pub(crate) shape: Rc<Shaped>,
    /// The shape until the statement is reached, where it is another.
    first_shape: Option<Rc<Shaped>>,
    /// What is the same in every program.
    linked: Arc<LinkedFacts>,
}

impl Links {
    /// Returns the parts as another schema holds them; these are the links of `schema`.
    fn parts_of(&self, schema: &Rc<Schema>) -> impl Iterator<Item = Option<Rc<Schema>>> {
        self.parts.iter().map(move |part| Some(part.as_ref().unwrap_or(schema).clone()))
    }

    /// Returns the package of a part; these are the links of `schema`.
    pub(crate) fn package_of(&self, part: u32, schema: &Schema) -> usize {
        self.parts[part as usize].as_ref().map_or(schema.package, |part| part.package)
    }
}

impl std::ops::Deref for Links {
    type Target = LinkedFacts;

    fn deref(&self) -> &LinkedFacts {
        &self.linked
    }
}

/// The links of a schema that are the same in every program: in its [`Outline`].
#[derive(Debug)]
pub(crate) struct Linked {
    shape: Arc<Shape>,
    first_shape: Option<Arc<Shape>>,
    facts: Arc<LinkedFacts>,
    /// How deep the walk over early definitions went.
    early_depth: u32,
}

/// What is known of the attributes of a schema.
#[derive(Debug, Default)]
pub(crate) struct LinkedFacts {
    /// Declared types by name over the whole chain, mixins and the mixin's host included.
    pub(crate) types: FxHashMap<Str, Arc<RType>>,
    /// Attributes that must be set, in the order in which they are tested.
    pub(crate) required: Vec<Str>,
    /// Names declared by own body and bases: what the conversion of a dict accepts.
    pub(crate) declared: Vec<Str>,
    /// True if the schema or a base has an index signature.
    pub(crate) open: bool,
    /// Whether the schema, a base or a mixin refers to one that stands further down in its package.
    forward: bool,
}

impl Schema {
    pub(crate) fn new(outline: &Arc<Outline>, index: u32, path: Str, package: usize, id: u32) -> Self {
        let row = &outline.schemas[index as usize];
        let reference = SchemaRef { name: row.name.clone(), package: path, id, home: (outline.home, index) };
        let reference = Rc::new(reference);
        Schema {
            value: Value::Func(Rc::new(Function::SchemaType(reference.clone()))),
            reference,
            package,
            config_keys: RefCell::default(),
            outline: outline.clone(),
            index,
            stmt: row.stmt,
            links: OnceCell::new(),
        }
    }

    /// Returns the keys of a configuration; those of instances that are made alike are shared.
    pub(crate) fn config_keys(&self, config: &Dict) -> Rc<Vec<Str>> {
        let mut last = self.config_keys.borrow_mut();
        if last.len() != config.len() || !config.keys().eq(last.iter()) {
            *last = Rc::new(config.keys().cloned().collect());
        }
        last.clone()
    }

    /// Returns the tree that it is written in.
    pub(crate) fn tree(&self) -> &Tree {
        &self.outline.tree
    }

    /// Returns the schema as a type names it.
    pub(crate) fn at(&self) -> SchemaAt {
        let (home, index) = self.reference.home;
        SchemaAt { home, index, name: self.reference.name.clone() }
    }

    /// Returns the written statement.
    pub(crate) fn def(&self) -> &SchemaDef {
        match self.outline.tree.stmt(self.stmt) {
            Stmt::Schema(def) => def,
            _ => unreachable!("a Schema is made from a schema statement"),
        }
    }

    /// Returns all bodies, if it was used before.
    pub(crate) fn linked_parts(&self) -> Option<impl DoubleEndedIterator<Item = &Schema>> {
        let links = self.links.get()?;
        Some(links.parts.iter().map(|part| part.as_deref().unwrap_or(self)))
    }

    /// Returns the key name of the index signature, if it has one.
    pub(crate) fn named_index(&self) -> Option<&kcl_value::Str> {
        let signature = self.def().index_signature.as_ref()?;
        signature.name.as_ref().map(|name| &name.name)
    }
}

/// A rule of a package.
#[derive(Clone, Copy)]
pub(crate) struct Rule {
    pub(crate) package: usize,
    pub(crate) stmt: StmtId,
}

impl<'p> Machine<'p> {
    /// Returns the written statement of a rule.
    pub(crate) fn rule_def(&self, rule: Rule) -> &'p RuleDef {
        match self.tree(rule.package).stmt(rule.stmt) {
            Stmt::Rule(def) => def,
            _ => unreachable!("a Rule is made from a rule statement"),
        }
    }
}

impl Machine<'_> {
    /// Returns the schema that a dotted name means in a package.
    pub(crate) fn find_schema(&mut self, package: usize, parts: &Dotted) -> Option<Rc<Schema>> {
        match self.find_symbol(package, parts)? {
            Symbol::Schema(id) => Some(self.schema(id).clone()),
            Symbol::Alias(pkg, ty) => match self.rtype(pkg, ty) {
                RType::Schema(at) => self.schema_at(at).ok(),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns the links of a schema, computing them at first use.
    pub(crate) fn links<'s>(&mut self, schema: &'s Rc<Schema>) -> Eval<&'s Links> {
        if schema.links.get().is_none() {
            self.enter()?;
            let links = self.link(schema)?;
            self.leave();
            // A schema that is its own base links itself while it is being linked: the inner result is as good.
            let _ = schema.links.set(links);
        }
        match schema.links.get() {
            Some(links) => Ok(links),
            None => Err(self.fault(Mistake::Internal { what: "a schema has no links" })),
        }
    }

    fn link(&mut self, schema: &Rc<Schema>) -> Eval<Links> {
        let def = schema.def();
        let base = def.base.as_ref().and_then(|name| self.find_schema(schema.package, &name.parts));
        let mut mixins = Vec::new();
        for name in &def.mixins {
            mixins.extend(self.find_schema(schema.package, &name.parts));
        }
        let mut parts = Vec::new();
        if let Some(base) = &base {
            parts.extend(self.links(base)?.parts_of(base));
        }
        let base_count = parts.len() as u32;
        parts.push(None);
        for mixin in &mixins {
            parts.extend(self.links(mixin)?.parts_of(mixin));
        }
        let host = def.host.as_ref().and_then(|host| self.find_schema(schema.package, &host.parts));
        if let Some(host) = &host {
            self.links(host)?;
        }
        let linked = match schema.outline.schemas[schema.index as usize].linked.get() {
            Some(known) => {
                // What a run may do does not depend on what others did before it.
                self.enter_many(known.early_depth)?;
                known
            }
            None => {
                let facts = self.link_facts(schema, base.as_ref(), &mixins, host.as_ref())?;
                let all: Vec<Rc<Schema>> =
                    parts.iter().map(|part| part.as_ref().unwrap_or(schema).clone()).collect();
                let made = self.link_shape(schema, facts, &all)?;
                schema.outline.schemas[schema.index as usize].linked.get_or_init(|| made)
            }
        };
        let inherited = linked.shape.names.len().saturating_sub(def.body.len());
        self.charge_total(inherited as u64 * INHERITED_CELLS)?;
        let shape = Shaped::new(&linked.shape);
        let first_shape = linked.first_shape.as_ref().map(Shaped::new);
        Ok(Links { base, mixins, parts, base_count, shape, first_shape, linked: linked.facts.clone() })
    }

    /// Returns the names of an instance that is made now.
    pub(crate) fn shape_of<'l>(&self, schema: &Schema, links: &'l Links) -> &'l Rc<Shaped> {
        match &links.first_shape {
            Some(first) if !self.defined[schema.reference.id as usize] => first,
            _ => &links.shape,
        }
    }

    /// Own attributes, and what comes from the base, from the mixins and from the protocol a mixin is for.
    fn link_facts(
        &mut self,
        schema: &Rc<Schema>,
        base: Option<&Rc<Schema>>,
        mixins: &[Rc<Schema>],
        host: Option<&Rc<Schema>>,
    ) -> Eval<LinkedFacts> {
        let mut facts =
            LinkedFacts { open: schema.def().index_signature.is_some(), ..LinkedFacts::default() };
        if let Some(base) = base {
            let above = self.links(base)?;
            facts.types.extend(above.types.iter().map(|(k, v)| (k.clone(), v.clone())));
            facts.required.extend(above.required.iter().cloned());
            facts.declared.extend(above.declared.iter().cloned());
            facts.open |= above.open;
            facts.forward |= above.forward || is_forward(schema, base);
        }
        for mixin in mixins {
            let above = self.links(mixin)?;
            facts.types.extend(above.types.iter().map(|(k, v)| (k.clone(), v.clone())));
            require_all(&mut facts.required, &above.required);
            facts.forward |= above.forward || is_forward(schema, mixin);
        }
        if let Some(host) = host {
            let above = self.links(host)?;
            facts.types.extend(above.types.iter().map(|(k, v)| (k.clone(), v.clone())));
        }
        self.link_own_attributes(schema, &mut facts);
        Ok(facts)
    }

    /// The names of all bodies, in the order in which instances hold them.
    fn link_shape(
        &mut self,
        schema: &Rc<Schema>,
        mut facts: LinkedFacts,
        parts: &[Rc<Schema>],
    ) -> Eval<Linked> {
        let mut shape = Shape::default();
        let mut first_shape = None;
        let start = std::mem::replace(&mut self.deepest, self.depth);
        if facts.forward {
            self.enter_early(schema, EARLY_PASSES, 0, &mut shape)?;
            facts.declared = self.early_declared(schema);
            let mut first = Shape::default();
            self.enter_early(schema, 1, 0, &mut first)?;
            enter_parts(parts, &mut first);
            first_shape = Some(Arc::new(first));
            enter_parts(parts, &mut shape);
        } else {
            collect_parts(parts, &mut shape);
        }
        let early_depth = self.deepest - self.depth;
        self.deepest = start;
        Ok(Linked { shape: Arc::new(shape), first_shape, facts: Arc::new(facts), early_depth })
    }

    /// Enters the names that a schema knew when it was defined, with their setters. Quirk: the reference defines all schemas of a
    /// package twice, in order, each with its base and mixins as they were at that moment; names that were not known then come
    /// last, and nothing makes their statements run early. `start` is the number of the schema's first part.
    fn enter_early(&mut self, schema: &Rc<Schema>, pass: u32, start: u32, shape: &mut Shape) -> Eval<()> {
        self.enter()?;
        self.deepest = self.deepest.max(self.depth);
        let def = schema.def();
        let base = def.base.as_ref().and_then(|name| self.find_schema(schema.package, &name.parts));
        let mut own = start;
        if let Some(base) = base {
            self.enter_early_link(schema, &base, pass, start, shape)?;
            own += self.part_count(&base)?;
        }
        shape.collect(schema.tree(), &def.body, own);
        let mut next = own + 1;
        for name in &def.mixins {
            if let Some(mixin) = self.find_schema(schema.package, &name.parts) {
                self.enter_early_link(schema, &mixin, pass, next, shape)?;
                next += self.part_count(&mixin)?;
            }
        }
        self.leave();
        Ok(())
    }

    fn part_count(&mut self, schema: &Rc<Schema>) -> Eval<u32> {
        Ok(self.links(schema)?.parts.len() as u32)
    }

    /// The attributes that a schema knew of itself and its bases when it was defined.
    fn early_declared(&mut self, schema: &Rc<Schema>) -> Vec<Str> {
        let mut names = Vec::new();
        let (mut current, mut pass) = (schema.clone(), EARLY_PASSES);
        for _ in 0..self.schemas.len() {
            for stmt in &current.def().body {
                if let Stmt::Attr(attr) = current.tree().stmt(*stmt) {
                    names.push(attr.name.name.clone());
                }
            }
            let base = current.def().base.as_ref().map(|name| name.parts.clone());
            let Some(base) = base.and_then(|parts| self.find_schema(current.package, &parts)) else { break };
            if base.package != current.package {
                pass = EARLY_PASSES;
            } else if base.reference.id >= current.reference.id {
                pass -= 1;
            }
            if pass == 0 {
                break;
            }
            current = base;
        }
        names
    }

    fn enter_early_link(
        &mut self,
        user: &Rc<Schema>,
        used: &Rc<Schema>,
        pass: u32,
        start: u32,
        shape: &mut Shape,
    ) -> Eval<()> {
        if used.package != user.package {
            return self.enter_early(used, EARLY_PASSES, start, shape);
        }
        // One that stands further down was last defined in the pass before.
        let pass = if used.reference.id < user.reference.id { pass } else { pass - 1 };
        if pass == 0 { Ok(()) } else { self.enter_early(used, pass, start, shape) }
    }

    fn link_own_attributes(&mut self, schema: &Rc<Schema>, facts: &mut LinkedFacts) {
        // A unification declares a type for the checker only: what is configured for it is not packed.
        for stmt in &schema.def().body {
            let Stmt::Attr(attr) = schema.tree().stmt(*stmt) else { continue };
            let ty = self.shared_rtype(schema.package, attr.ty);
            let is_new = facts.types.insert(attr.name.name.clone(), ty).is_none();
            facts.declared.push(attr.name.name.clone());
            // What is required has a type: a new name is not among the others, however many there are.
            match (attr.optional, is_new) {
                (true, true) => {}
                (true, false) => facts.required.retain(|n| *n != attr.name.name),
                (false, true) => facts.required.push(attr.name.name.clone()),
                (false, false) => {
                    require_all(&mut facts.required, std::slice::from_ref(&attr.name.name));
                }
            }
        }
    }
}

fn require_all(required: &mut Vec<Str>, names: &[Str]) {
    for name in names {
        if !required.contains(name) {
            required.push(name.clone());
        }
    }
}

/// What it costs that a schema knows a name of its bases or mixins: each schema has tables of its own, so a long chain fills the
/// machine with the square of its length.
const INHERITED_CELLS: u64 = 64;

/// How often the reference defines the schemas of a package.
const EARLY_PASSES: u32 = 2;

fn is_forward(user: &Schema, used: &Schema) -> bool {
    user.package == used.package && used.reference.id >= user.reference.id
}

/// Enters the names of all bodies without their setters.
fn enter_parts(parts: &[Rc<Schema>], shape: &mut Shape) {
    let mut all = Shape::default();
    collect_parts(parts, &mut all);
    for name in &all.names {
        shape.enter(name);
    }
}

fn collect_parts(parts: &[Rc<Schema>], shape: &mut Shape) {
    for (i, part) in parts.iter().enumerate() {
        shape.collect(part.tree(), &part.def().body, i as u32);
    }
}
