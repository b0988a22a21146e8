//! Schema construction: bases, mixins, protocols, attributes, index signatures, parameters.
//!
//! A schema is built when it is first needed, so a base further down is ready before the schema that extends it; the
//! mistakes of each schema are buffered and come out in source order.

use base_diag::Span;
use indexmap::map::Entry;
use kcl_syntax::ast::{
    DottedRef, Ident, IndexSignature, Param, RuleDef, SchemaDef, SchemaKind, Stmt, StmtId, Str, Type,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::checker::Checker;
use crate::diag::RawDiag;
use crate::globals::{BUILT_IN_TYPES, Declared};
use crate::index::Recorder;
use crate::mistake::Mistake;
use crate::package::{AttrInfo, BaseLink, IndexInfo, Kind, SchemaInfo};
use crate::ty::{ParamTy, SchemaId, Ty, TyId};

/// Passes over all schemas: a base or mixin further down is complete in a later pass at the latest.
const PASSES: usize = 3;

impl<R: Recorder> Checker<'_, R> {
    /// Builds every schema and rule of the package.
    pub(crate) fn construct_schemas(&mut self, declared: &[Declared]) {
        for _ in 0..PASSES {
            self.forward_reference = false;
            for Declared { id, stmt } in declared {
                let tree = self.tree;
                let info = match tree.stmt(*stmt) {
                    Stmt::Schema(def) => self.construct_schema(*id, def),
                    Stmt::Rule(def) => self.construct_rule(*id, def),
                    _ => continue,
                };
                // Only now: in the first pass a schema does not count as a sub-schema of its base yet.
                self.types.heads[id.0 as usize].base = info.base.0.as_ref().map(|(base, _)| *base);
                self.schemas[id.0 as usize].info = info.into();
            }
            if !self.forward_reference {
                break;
            }
        }
        self.report_cycles(declared);
        if self.forward_reference {
            for Declared { id, .. } in declared {
                let reach = self.reach(*id);
                self.types.heads[id.0 as usize].reach = reach;
            }
        }
    }

    /// How many bases a schema knew when it was built.
    fn reach(&self, id: SchemaId) -> usize {
        let mut link = &self.schema_info(id).base.0;
        let mut count = 0;
        while let Some((base, snapshot)) = link {
            count += 1;
            if self.schemas[base.0 as usize].home.is_some() {
                return usize::MAX;
            }
            link = &snapshot.base.0;
        }
        count
    }

    fn construct_schema(&mut self, id: SchemaId, def: &SchemaDef) -> SchemaInfo {
        let mut info = self.fresh_info(id);
        if info.kind == Kind::Protocol || def.keyword == SchemaKind::Protocol {
            self.check_protocol(def);
        }
        if let Some(base) = &def.base {
            let base = self.inherited(id, base, "schema", &[Kind::Schema]);
            let base = base.filter(|b| *b != id);
            info.base = BaseLink(base.map(|b| (b, self.schema_info(b).clone())));
            info.incomplete = info.base.0.as_ref().is_none_or(|(_, base)| base.incomplete);
        }
        if let Some(host) = &def.host {
            info.host = self.host_protocol(id, host, info.kind == Kind::Mixin);
        }
        let name = &def.name.name;
        if BUILT_IN_TYPES.contains(&name.as_str()) {
            self.error(def.name.span, &Mistake::ReservedSchema { name: name.clone() });
        }
        if let Some(signature) = &def.index_signature {
            self.check_index_name(def, signature);
            info.index = Some(self.index_signature(def, signature));
        }
        self.collect_attrs(def, &mut info);
        collect_assigned(self.tree, &def.body, &mut info.assigned);
        let own: Vec<&Param> = def.params.iter().filter(|p| info.has_own(&p.name.name)).collect();
        self.add_mixins(id, def, &mut info);
        info.params = self.parameters(&def.params, true);
        for param in own {
            let name = param.name.name.clone();
            self.error(param.name.span, &Mistake::ParameterIsAttribute { name });
        }
        self.decorators(&def.decorators);
        info
    }

    fn construct_rule(&mut self, id: SchemaId, def: &RuleDef) -> SchemaInfo {
        let mut info = self.fresh_info(id);
        self.reserved_name("rule", &def.name);
        for parent in &def.parents {
            let ty = self.reference_type(parent);
            match self.types.kind(ty) {
                Ty::Schema(p, false) if self.schema_info(*p).kind == Kind::Rule => {
                    let p = *p;
                    // The host of a rule further down is known in the next pass.
                    self.forward_reference |= p > id && self.schemas[p.0 as usize].home.is_none();
                    info.hosts.extend(self.schema_host(p));
                }
                _ => {
                    let ty = self.text(ty);
                    self.error(parent.span, &Mistake::IllegalRule { ty });
                }
            }
        }
        if let Some(host) = &def.host {
            info.host = self.host_protocol(id, host, true);
        }
        if let Some(host) = info.host {
            info.index = self.schema_index(host);
            for link in self.chain(host) {
                let names: Vec<Str> = self.schema_info(link).attrs.keys().cloned().collect();
                for name in names {
                    if let Some(attr) = self.schema_attr(link, &name) {
                        info.attrs.entry(name).or_insert(attr);
                    }
                }
            }
        }
        info.params = self.parameters(&def.params, true);
        self.decorators(&def.decorators);
        info
    }

    fn reserved_name(&mut self, what: &'static str, name: &Ident) {
        if BUILT_IN_TYPES.contains(&name.name.as_str()) {
            self.error(name.span, &Mistake::ReservedName { what, name: name.name.clone() });
        }
    }

    fn check_protocol(&mut self, def: &SchemaDef) {
        let name = &def.name;
        if !name.name.ends_with("Protocol") {
            let at = Span::new(name.span.end, name.span.end);
            self.error(at, &Mistake::ProtocolName { name: name.name.clone() });
        }
        let only_attrs = def.body.iter().all(|s| matches!(self.tree.stmt(*s), Stmt::Attr(_)));
        let more = !def.mixins.is_empty() || !def.checks.is_empty() || !def.params.is_empty();
        if !only_attrs || more {
            self.error(name.span, &Mistake::ProtocolBody);
        }
    }

    /// The info of a schema before a pass.
    fn fresh_info(&self, id: SchemaId) -> SchemaInfo {
        let old = self.schema_info(id);
        SchemaInfo { kind: old.kind, span: old.span, ..Default::default() }
    }

    /// Tells whether a schema of this package stands after the one that uses it.
    fn is_forward(&self, user: SchemaId, used: SchemaId) -> bool {
        used > user && self.schemas[used.0 as usize].home.is_none()
    }

    /// Resolves a base or parent of `user`.
    fn inherited(
        &mut self,
        user: SchemaId,
        name: &DottedRef,
        expected: &'static str,
        kinds: &[Kind],
    ) -> Option<SchemaId> {
        let ty = self.reference_type(name);
        if let Ty::Schema(id, false) = self.types.kind(ty) {
            let id = *id;
            self.forward_reference |= self.is_forward(user, id);
            if kinds.contains(&self.schema_info(id).kind) {
                return Some(id);
            }
        }
        let shown = match self.types.kind(ty) {
            Ty::Schema(id, true) => format!("{} instance", self.schema_name(*id)),
            _ => self.text(ty),
        };
        let written: Vec<&str> = name.parts.iter().map(|p| p.name.as_str()).collect();
        self.illegal_base(expected, &shown, &written.join("."), name.span);
        None
    }

    fn host_protocol(&mut self, user: SchemaId, host: &DottedRef, allowed: bool) -> Option<SchemaId> {
        if !allowed {
            self.error(host.span, &Mistake::IllegalHost);
            return None;
        }
        self.inherited(user, host, "protocol", &[Kind::Protocol])
    }

    /// The type of a dotted name in a schema header.
    fn reference_type(&mut self, name: &DottedRef) -> TyId {
        let Some(first) = name.parts.first() else { return TyId::ANY };
        let Some(mut ty) = self.global_or_builtin(&first.name) else {
            self.undefined(&first.name, name.span);
            return TyId::ANY;
        };
        self.recorder.part(first.span, ty);
        for part in name.parts.iter().skip(1) {
            ty = self.member(ty, &part.name, name.span);
            self.recorder.part(part.span, ty);
        }
        ty
    }

    fn collect_attrs(&mut self, def: &SchemaDef, info: &mut SchemaInfo) {
        let tree = self.tree;
        info.attrs.reserve(def.body.len());
        for stmt in &def.body {
            match tree.stmt(*stmt) {
                Stmt::Attr(attr) => {
                    let ty = self.resolve_type(attr.ty);
                    let new = AttrInfo {
                        ty,
                        optional: attr.optional,
                        once_optional: false,
                        has_default: attr.default.is_some(),
                        loc: self.here(attr.name.span),
                    };
                    // A decorated attribute begins at the `@` of its first decorator.
                    let mut place = attr.name.span;
                    if let Some(first) = attr.decorators.first() {
                        place.start = tree.expr_span(*first).start.saturating_sub(1);
                    }
                    self.decorators(&attr.decorators);
                    self.add_attr(&attr.name.name, new, place, info);
                }
                Stmt::Unification { target, value, .. } => {
                    let ty = self.unification_type(*value);
                    let loc = self.here(target.span);
                    let new = AttrInfo { ty, optional: false, once_optional: false, has_default: true, loc };
                    self.add_attr(&target.name, new, target.span, info);
                }
                _ => {}
            }
        }
    }

    fn add_attr(&mut self, name: &Str, new: AttrInfo, span: Span, info: &mut SchemaInfo) {
        let (at, own) = match info.attrs.entry(name.clone()) {
            Entry::Occupied(known) => (known.index(), Some(known.get().clone())),
            Entry::Vacant(free) => {
                let at = free.index();
                free.insert(new.clone());
                (at, None)
            }
        };
        let old = own.clone().or_else(|| self.base_attr(info, name));
        let mut new = new;
        if let Some(old) = old {
            if !self.types.sub(new.ty, old.ty) {
                self.type_changed(name, (old.ty, new.ty), own.is_some(), span);
            }
            // What was optional further up may become so again.
            new.once_optional = old.optional || old.once_optional;
            if new.optional && !new.once_optional {
                self.error(span, &Mistake::RequiredToOptional { name: name.clone() });
            }
        }
        if let Some(index) = info.index.clone() {
            self.check_index_value(name, &new, &index);
        }
        // The first declaration decides; a later one may only add a default.
        match own {
            Some(_) => info.attrs[at].has_default |= new.has_default,
            None => info.attrs[at] = new,
        }
    }

    /// An attribute of the base, as far as the base was built.
    pub(crate) fn base_attr(&mut self, info: &SchemaInfo, name: &str) -> Option<AttrInfo> {
        let mut link = &info.base.0;
        while let Some((id, snapshot)) = link {
            if self.schemas[id.0 as usize].home.is_some() {
                return self.schema_attr(*id, name);
            }
            if let Some(attr) = snapshot.attrs.get(name) {
                return Some(attr.clone());
            }
            link = &snapshot.base.0;
        }
        None
    }

    fn index_signature(&mut self, def: &SchemaDef, signature: &IndexSignature) -> IndexInfo {
        let mut key = self.resolve_type(signature.key);
        if matches!(self.tree.ty(signature.key), Type::Function(..)) {
            // Quirk: a key in parentheses is looked up as a name.
            let name = Str::from(self.text(key));
            self.undefined(&name, self.tree.type_span(signature.key));
            key = TyId::ANY;
        }
        let val = self.resolve_type(signature.value);
        let is_string = match self.types.kind(key) {
            Ty::Str | Ty::StrLit(_) => true,
            Ty::Union(members) => {
                members.iter().all(|m| matches!(self.types.kind(*m), Ty::StrLit(_) | Ty::Str))
            }
            _ => false,
        };
        if !is_string {
            let ty = self.text(key);
            self.error(def.name.span, &Mistake::IndexKey { ty });
        }
        let key_name = signature.name.as_ref().map(|n| n.name.clone());
        IndexInfo { key_name, key, val, any_other: signature.any_other }
    }

    fn check_index_name(&mut self, def: &SchemaDef, signature: &IndexSignature) {
        let Some(name) = &signature.name else { return };
        let mut set = FxHashSet::default();
        collect_assigned(self.tree, &def.body, &mut set);
        let taken = set.contains(&name.name) || declares(self.tree, &def.body, &name.name);
        if taken {
            self.error(signature.span, &Mistake::IndexName { name: name.name.clone() });
        }
    }

    /// Without `...` every attribute must fit the signature's value type.
    fn check_index_value(&mut self, name: &str, attr: &AttrInfo, index: &IndexInfo) {
        if index.any_other || self.types.sub(attr.ty, index.val) {
            return;
        }
        let key = match &index.key_name {
            Some(key_name) => format!("{key_name}: {}", self.text(index.key)),
            None => self.text(index.key),
        };
        let (ty, value) = (self.text(attr.ty), self.text(index.val));
        self.error(attr.loc.span, &Mistake::IndexValue { name: name.into(), ty, key, value });
    }

    fn add_mixins(&mut self, host: SchemaId, def: &SchemaDef, info: &mut SchemaInfo) {
        for mixin in &def.mixins {
            let last = mixin.parts.last().map(|p| p.name.clone()).unwrap_or_default();
            if !last.ends_with("Mixin") {
                self.error(mixin.span, &Mistake::MixinName { name: last.clone() });
            }
            let ty = self.reference_type(mixin);
            if let Ty::Schema(id, false) = self.types.kind(ty) {
                let id = *id;
                self.forward_reference |= self.is_forward(host, id);
                if self.schema_info(id).kind == Kind::Mixin {
                    self.join_mixin(id, info);
                    continue;
                }
            }
            let ty = self.text(ty);
            self.error(mixin.span, &Mistake::IllegalMixin { name: last, ty });
            info.incomplete = true;
        }
    }

    fn join_mixin(&mut self, mixin: SchemaId, info: &mut SchemaInfo) {
        let source = self.schema_info(mixin).clone();
        info.hosts.extend(self.schema_host(mixin));
        info.incomplete |= source.incomplete;
        info.mixed.extend(source.assigned.iter().cloned());
        for name in source.attrs.keys() {
            if let Some(attr) = self.schema_attr(mixin, name) {
                info.attrs.entry(name.clone()).or_insert(attr);
            }
        }
    }

    /// Reports parameters with default that a parameter without default follows.
    pub(crate) fn parameter_order(&mut self, params: &[Param]) {
        let last_plain = params.iter().rposition(|p| p.default.is_none()).unwrap_or(0);
        for param in params[..last_plain.min(params.len())].iter().rev() {
            let Some(default) = param.default else { continue };
            let span = self.tree.expr_span(default);
            let diag = RawDiag::of(&Mistake::ParameterOrder, self.home, span);
            self.report(diag.note("A default argument"));
        }
    }

    /// Resolves parameters; unknown types are reported at the name (schemas) or at the type (lambdas).
    pub(crate) fn parameters(&mut self, params: &[Param], at_name: bool) -> Vec<ParamTy> {
        params
            .iter()
            .map(|p| ParamTy {
                name: p.name.name.clone(),
                ty: p.ty.map_or(TyId::ANY, |t| match at_name {
                    true => self.resolve_annotation(t, p.name.span),
                    false => self.resolve_type(t),
                }),
                optional: p.default.is_some(),
                loc: Some(self.here(p.name.span)),
            })
            .collect()
    }

    /// Reports circular inheritance at every participant.
    fn report_cycles(&mut self, declared: &[Declared]) {
        let mut rings: FxHashMap<SchemaId, Vec<SchemaId>> = FxHashMap::default();
        let mut walk_of: FxHashMap<SchemaId, usize> = FxHashMap::default();
        for (walk, Declared { id, .. }) in declared.iter().enumerate() {
            let mut path = Vec::new();
            let mut current = Some(*id);
            while let Some(schema) = current.filter(|s| !walk_of.contains_key(s)) {
                walk_of.insert(schema, walk);
                path.push(schema);
                current = self.types.heads[schema.0 as usize].base;
            }
            // The walk met itself: what follows the meeting point is a ring.
            if let Some(start) = current.and_then(|c| path.iter().position(|s| *s == c)) {
                let mut ring = path.split_off(start);
                ring.sort_unstable();
                for member in &ring {
                    rings.insert(*member, ring.clone());
                }
            }
        }
        for Declared { id, .. } in declared {
            let Some(ring) = rings.get(id).filter(|r| r.len() > 1) else { continue };
            let schemas = ring.iter().map(|m| self.schema_name(*m)).collect();
            let span = self.schema_info(*id).span;
            self.error(span, &Mistake::CircularInheritance { schemas });
        }
    }
}

/// Whether a body, or a branch in it, has an attribute of the name.
fn declares(tree: &kcl_syntax::ast::Tree, body: &[StmtId], name: &str) -> bool {
    body.iter().any(|stmt| match tree.stmt(*stmt) {
        Stmt::Attr(attr) => attr.name.name == name,
        Stmt::Unification { target, .. } => target.name == name,
        Stmt::If { body, orelse, .. } => declares(tree, body, name) || declares(tree, orelse, name),
        _ => false,
    })
}

/// Collects the names that a body sets.
fn collect_assigned(tree: &kcl_syntax::ast::Tree, body: &[StmtId], out: &mut FxHashSet<Str>) {
    for stmt in body {
        match tree.stmt(*stmt) {
            Stmt::Assign { targets, .. } => out.extend(targets.iter().map(|t| t.name.name.clone())),
            Stmt::AugAssign { target, .. } => {
                out.insert(target.name.name.clone());
            }
            Stmt::Unification { target, .. } => {
                out.insert(target.name.clone());
            }
            Stmt::If { body, orelse, .. } => {
                collect_assigned(tree, body, out);
                collect_assigned(tree, orelse, out);
            }
            _ => {}
        }
    }
}
