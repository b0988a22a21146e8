//! Schemas and rules as the evaluator sees them: identity, chain of bodies, attribute types.

use std::cell::{Cell, OnceCell};
use std::rc::Rc;
use std::sync::Arc;

use kcl_syntax::ast::{Dotted, RuleDef, SchemaDef, Stmt, StmtId, Tree};
use kcl_value::{SchemaRef, Str};
use rustc_hash::FxHashMap;

use crate::fault::Eval;
use crate::machine::Machine;
use crate::package::Symbol;
use crate::record::Shape;
use crate::rtype::RType;

/// A schema of a package. Bases and mixins are looked up when it is first used, so they may be defined further down.
pub(crate) struct Schema {
    pub(crate) reference: Rc<SchemaRef>,
    pub(crate) package: usize,
    pub(crate) tree: Arc<Tree>,
    pub(crate) stmt: StmtId,
    /// Whether its statement was reached: what it knows of its bases depends on it.
    pub(crate) defined: Cell<bool>,
    links: OnceCell<Links>,
}

impl std::fmt::Debug for Schema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.reference.name)
    }
}

/// What a schema is tied to, computed at first use.
#[derive(Default)]
pub(crate) struct Links {
    pub(crate) base: Option<Rc<Schema>>,
    pub(crate) mixins: Vec<Rc<Schema>>,
    /// All bodies in the order of their names: base's parts, own, mixins' parts.
    pub(crate) parts: Vec<Rc<Schema>>,
    pub(crate) shape: Rc<Shape>,
    /// The shape until the statement is reached, where it is another.
    first_shape: Option<Rc<Shape>>,
    /// Declared types by name over the whole chain, mixins and the mixin's host included.
    pub(crate) types: FxHashMap<Str, Rc<RType>>,
    /// Attributes that must be set, in the order in which they are tested.
    pub(crate) required: Vec<Str>,
    /// Names declared by own body and bases: what the conversion of a dict accepts.
    pub(crate) declared: Vec<Str>,
    /// True if the schema or a base has an index signature.
    pub(crate) open: bool,
    /// Whether the schema, a base or a mixin refers to one that stands further down in its package.
    forward: bool,
    /// True if instances of this schema never take a required test, a check or a decorator (nothing to run at the end).
    pub(crate) base_count: u32,
}

impl Links {
    /// Returns the names of an instance that is made now.
    pub(crate) fn shape_of(&self, schema: &Schema) -> &Rc<Shape> {
        match &self.first_shape {
            Some(first) if !schema.defined.get() => first,
            _ => &self.shape,
        }
    }
}

impl Schema {
    pub(crate) fn new(reference: Rc<SchemaRef>, package: usize, tree: Arc<Tree>, stmt: StmtId) -> Self {
        Schema { reference, package, tree, stmt, defined: Cell::new(false), links: OnceCell::new() }
    }

    /// Returns the written statement.
    pub(crate) fn def(&self) -> &SchemaDef {
        match self.tree.stmt(self.stmt) {
            Stmt::Schema(def) => def,
            _ => unreachable!("a Schema is made from a schema statement"),
        }
    }

    /// Returns the key name of the index signature, if it has one.
    pub(crate) fn named_index(&self) -> Option<&kcl_value::Str> {
        let signature = self.def().index_signature.as_ref()?;
        signature.name.as_ref().map(|name| &name.name)
    }
}

/// A rule of a package.
pub(crate) struct Rule {
    pub(crate) package: usize,
    pub(crate) tree: Arc<Tree>,
    pub(crate) stmt: StmtId,
}

impl Rule {
    /// Returns the written statement.
    pub(crate) fn def(&self) -> &RuleDef {
        match self.tree.stmt(self.stmt) {
            Stmt::Rule(def) => def,
            _ => unreachable!("a Rule is made from a rule statement"),
        }
    }
}

impl Machine<'_> {
    /// Returns the schema that a dotted name means in a package.
    pub(crate) fn find_schema(&mut self, package: usize, parts: &Dotted) -> Option<Rc<Schema>> {
        match self.find_symbol(package, parts)? {
            Symbol::Schema(id) => Some(self.schemas[id as usize].clone()),
            Symbol::Alias(pkg, ty) => match &*self.rtype(pkg, ty) {
                RType::Schema(schema) => Some(schema.clone()),
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
            None => Err(self.fault("internal", "a schema has no links")),
        }
    }

    fn link(&mut self, schema: &Rc<Schema>) -> Eval<Links> {
        let def = schema.def();
        let mut links = Links { open: def.index_signature.is_some(), ..Links::default() };
        links.base = def.base.as_ref().and_then(|name| self.find_schema(schema.package, &name.parts));
        for name in &def.mixins {
            links.mixins.extend(self.find_schema(schema.package, &name.parts));
        }
        self.link_others(schema, &mut links)?;
        self.link_own_attributes(schema, &mut links);
        self.link_shape(schema, &mut links)?;
        Ok(links)
    }

    /// What comes from the base, from the mixins and from the protocol a mixin is for.
    fn link_others(&mut self, schema: &Rc<Schema>, links: &mut Links) -> Eval<()> {
        if let Some(base) = &links.base.clone() {
            let above = self.links(base)?;
            links.parts.extend(above.parts.iter().cloned());
            links.base_count = above.parts.len() as u32;
            links.types.extend(above.types.iter().map(|(k, v)| (k.clone(), v.clone())));
            links.required.extend(above.required.iter().cloned());
            links.declared.extend(above.declared.iter().cloned());
            links.open |= above.open;
            links.forward |= above.forward || is_forward(schema, base);
        }
        links.parts.push(schema.clone());
        for mixin in &links.mixins.clone() {
            let above = self.links(mixin)?;
            links.parts.extend(above.parts.iter().cloned());
            links.types.extend(above.types.iter().map(|(k, v)| (k.clone(), v.clone())));
            require_all(&mut links.required, &above.required);
            links.forward |= above.forward || is_forward(schema, mixin);
        }
        if let Some(host) = &schema.def().host
            && let Some(host) = self.find_schema(schema.package, &host.parts)
        {
            let above = self.links(&host)?;
            links.types.extend(above.types.iter().map(|(k, v)| (k.clone(), v.clone())));
        }
        Ok(())
    }

    /// The names of all bodies, in the order in which instances hold them.
    fn link_shape(&mut self, schema: &Rc<Schema>, links: &mut Links) -> Eval<()> {
        let mut shape = Shape::default();
        if links.forward {
            self.enter_early(schema, EARLY_PASSES, 0, &mut shape)?;
            links.declared = self.early_declared(schema);
            let mut first = Shape::default();
            self.enter_early(schema, 1, 0, &mut first)?;
            enter_parts(&links.parts, &mut first);
            links.first_shape = Some(Rc::new(first));
            enter_parts(&links.parts, &mut shape);
        } else {
            collect_parts(&links.parts, &mut shape);
        }
        links.shape = Rc::new(shape);
        Ok(())
    }

    /// Enters the names that a schema knew when it was defined, with their setters. Quirk: the reference defines all schemas of a
    /// package twice, in order, each with its base and mixins as they were at that moment; names that were not known then come
    /// last, and nothing makes their statements run early. `start` is the number of the schema's first part.
    fn enter_early(&mut self, schema: &Rc<Schema>, pass: u32, start: u32, shape: &mut Shape) -> Eval<()> {
        self.enter()?;
        let def = schema.def();
        let base = def.base.as_ref().and_then(|name| self.find_schema(schema.package, &name.parts));
        let mut own = start;
        if let Some(base) = base {
            self.enter_early_link(schema, &base, pass, start, shape)?;
            own += self.part_count(&base)?;
        }
        shape.collect(&schema.tree, &def.body, own);
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
                if let Stmt::Attr(attr) = current.tree.stmt(*stmt) {
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

    fn link_own_attributes(&mut self, schema: &Rc<Schema>, links: &mut Links) {
        // A unification declares a type for the checker only: what is configured for it is not packed.
        for stmt in &schema.def().body {
            let Stmt::Attr(attr) = schema.tree.stmt(*stmt) else { continue };
            let ty = self.rtype(schema.package, attr.ty);
            links.types.insert(attr.name.name.clone(), ty);
            links.declared.push(attr.name.name.clone());
            if attr.optional {
                links.required.retain(|n| *n != attr.name.name);
            } else {
                require_all(&mut links.required, std::slice::from_ref(&attr.name.name));
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
        shape.collect(&part.tree, &part.def().body, i as u32);
    }
}
