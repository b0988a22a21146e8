//! The walk over statements, schemas and written types.

use kcl_syntax::ast::{
    Attr, Check, DottedRef, Expr, ExprId, Ident, Param, RuleDef, SchemaDef, Stmt, StmtId, Target, TargetStep,
    Tree, Type, TypeId,
};

use super::frames::FrameKind;
use super::walk::Walk;
use super::{DefKind, Level, Meaning, Role, members};
use crate::ty::{SchemaId, Ty};

impl<'a> Walk<'a> {
    pub(super) fn stmt(&mut self, id: StmtId) {
        let tree = self.tree;
        self.met[id.0 as usize] = true;
        match tree.stmt(id) {
            Stmt::Expr(expr) => self.expr(*expr),
            Stmt::Assign { targets, ty, value } => {
                ty.iter().for_each(|ty| self.ty(*ty));
                // A local is known in its own first value.
                let own_first = self.in_lambda();
                if own_first {
                    targets.iter().for_each(|target| self.target(target));
                }
                self.expr(*value);
                if !own_first {
                    targets.iter().for_each(|target| self.target(target));
                }
            }
            Stmt::AugAssign { target, value, .. } => {
                self.expr(*value);
                self.changed_target(target);
            }
            Stmt::Unification { target, value, .. } => {
                if self.in_lambda() {
                    self.assigned_name(target);
                    self.expr(*value);
                } else {
                    self.expr(*value);
                    self.assigned_name(target);
                }
            }
            Stmt::If { cond, body, orelse } => {
                self.expr(*cond);
                body.iter().chain(orelse.iter()).for_each(|stmt| self.stmt(*stmt));
            }
            Stmt::Assert { cond, guard, msg } => {
                [Some(*cond), *guard, *msg].into_iter().flatten().for_each(|expr| self.expr(expr));
            }
            Stmt::Attr(attr) => self.attribute(attr),
            Stmt::TypeAlias { name, ty } => {
                self.ty(*ty);
                self.global(name);
            }
            Stmt::Import(import) => {
                if let Some(bound) = import.alias.as_ref().or(import.path.last()) {
                    self.occur(bound.span, Meaning::Declared(self.here(bound.span)), Role::Declare);
                }
            }
            // Inside a block or a lambda they define nothing.
            Stmt::Schema(def) => self.bind(&def.name, None, Role::Declare),
            Stmt::Rule(def) => self.bind(&def.name, None, Role::Declare),
        }
    }

    /// Whether the innermost owner of assigned names is a lambda.
    fn in_lambda(&self) -> bool {
        let owner = |kind: &FrameKind| matches!(kind, FrameKind::Lambda | FrameKind::Schema(_));
        self.frames.iter().map(|frame| frame.kind).rfind(owner) == Some(FrameKind::Lambda)
    }

    /// The occurrence that declares a top-level name, or a later statement about it.
    fn global(&mut self, name: &Ident) {
        let first = self.globals.places.get(&name.name).copied().unwrap_or(name.span);
        let role = if first == name.span { Role::Declare } else { Role::Write };
        self.occur(name.span, Meaning::Declared(self.here(first)), role);
    }

    /// The name that a statement sets: of the innermost lambda or schema body, else of the package.
    fn assigned_name(&mut self, name: &'a Ident) {
        let owner =
            self.frames.iter().rposition(|f| matches!(f.kind, FrameKind::Lambda | FrameKind::Schema(_)));
        let Some(at) = owner else { return self.global(name) };
        let attribute = match self.frames[at].kind {
            FrameKind::Schema(id) => members::attribute_in_body(self.types, id, &name.name),
            _ => None,
        };
        match attribute.or_else(|| self.frames[at].get(&name.name)) {
            Some(spot) if spot == self.here(name.span) => {
                self.occur(name.span, Meaning::Declared(spot), Role::Declare);
            }
            Some(spot) => self.occur(name.span, Meaning::Declared(spot), Role::Write),
            None => {
                let spot = self.here(name.span);
                self.define(DefKind::Variable, Level::Lambda, name);
                self.frames[at].declare(&name.name, spot);
            }
        }
    }

    fn target(&mut self, target: &'a Target) {
        match target.path.is_empty() {
            true => self.assigned_name(&target.name),
            false => self.changed_target(target),
        }
    }

    /// A target that exists already: `a.b = v`, `a += v`.
    fn changed_target(&mut self, target: &'a Target) {
        let role = if target.path.is_empty() { Role::Write } else { Role::Read };
        let is_global =
            self.frames.is_empty() && self.globals.places.get(&target.name.name) == Some(&target.name.span);
        let role = if is_global { Role::Declare } else { role };
        self.name_part(&target.name, role);
        let mut ty = self.records.part_type(target.name.span.start);
        for step in &target.path {
            match step {
                TargetStep::Member(member) => {
                    let meaning = ty.and_then(|ty| members::member(self.types, ty, &member.name));
                    self.member_part(member, meaning, Role::Write);
                    ty = self.records.part_type(member.span.start);
                }
                TargetStep::Index(index) => {
                    self.expr(*index);
                    ty = None;
                }
            }
        }
    }

    // --- schemas -----------------------------------------------------------------------------------------------

    pub(super) fn schema(&mut self, id: SchemaId, def: &'a SchemaDef) {
        self.decorators(&def.decorators);
        self.global_name(&def.name);
        self.parameters(&def.params);
        for reference in def.base.iter().chain(&def.host).chain(&def.mixins) {
            self.reference(reference);
        }
        self.enter(FrameKind::Schema(id));
        self.declare_parameters(&def.params);
        if let Some(signature) = &def.index_signature {
            self.ty(signature.key);
            self.ty(signature.value);
            if let Some(name) = &signature.name {
                self.declare(DefKind::IndexKey, Level::Schema, name);
            }
            signature.default.into_iter().for_each(|default| self.expr(default));
        }
        // Names of the body are known everywhere in it.
        let mut names = Vec::new();
        assigned(self.tree, &def.body, &mut names);
        for name in names {
            let attribute = members::attribute_in_body(self.types, id, &name.name);
            let known = self.frames.last_mut().and_then(|frame| frame.get(&name.name));
            if attribute.or(known).is_none() {
                self.declare(DefKind::Variable, Level::Schema, name);
            }
        }
        self.link_mixins(id, def);
        def.body.iter().for_each(|stmt| self.stmt(*stmt));
        self.checks(&def.checks);
        self.leave();
    }

    pub(super) fn rule(&mut self, id: SchemaId, def: &'a RuleDef) {
        self.decorators(&def.decorators);
        self.global_name(&def.name);
        self.parameters(&def.params);
        for reference in def.parents.iter().chain(&def.host) {
            self.reference(reference);
        }
        self.enter(FrameKind::Schema(id));
        self.declare_parameters(&def.params);
        self.checks(&def.checks);
        self.leave();
    }

    fn global_name(&mut self, name: &Ident) {
        // A second schema of a name is a mistake and a declaration of its own.
        self.occur(name.span, Meaning::Declared(self.here(name.span)), Role::Declare);
    }

    /// The arguments of decorators; their names are no names of the program.
    fn decorators(&mut self, decorators: &[ExprId]) {
        let tree = self.tree;
        for decorator in decorators {
            if let Expr::Call(call) = tree.expr(*decorator) {
                self.exprs(&call.args);
                call.kwargs.iter().for_each(|keyword| self.expr(keyword.value));
            }
        }
    }

    fn parameters(&mut self, params: &'a [Param]) {
        for param in params {
            param.ty.into_iter().for_each(|ty| self.ty(ty));
            param.default.into_iter().for_each(|default| self.expr(default));
        }
    }

    fn declare_parameters(&mut self, params: &'a [Param]) {
        params.iter().for_each(|param| self.declare(DefKind::Parameter, Level::Schema, &param.name));
    }

    fn attribute(&mut self, attr: &'a Attr) {
        let spot = self.here(attr.name.span);
        self.decorators(&attr.decorators);
        self.ty(attr.ty);
        attr.default.into_iter().for_each(|default| self.expr(default));
        let Some(id) = self.current_schema() else { return };
        match members::attribute_in_body(self.types, id, &attr.name.name) {
            // Written again in the same schema: the first declaration counts.
            Some(first)
                if first != spot
                    && self.types.schemas[id.0 as usize].info.attrs.contains_key(&attr.name.name) =>
            {
                self.occur(attr.name.span, Meaning::Declared(first), Role::Write);
            }
            _ => {
                self.define(DefKind::Attribute, Level::Schema, &attr.name);
                let host = self.types.schemas[id.0 as usize].info.host;
                let hosted = host.and_then(|host| members::attribute(self.types, host, &attr.name.name));
                let inherited = members::inherited(self.types, id, &attr.name.name);
                self.links.extend(inherited.into_iter().chain(hosted).map(|other| (spot, other)));
            }
        }
    }

    /// An attribute of the schema and the one of a mixin of its name are one.
    fn link_mixins(&mut self, id: SchemaId, def: &SchemaDef) {
        let info = &self.types.schemas[id.0 as usize].info;
        for mixin in &def.mixins {
            let last = mixin.parts.last().and_then(|part| self.records.part_type(part.span.start));
            let Some(Ty::Schema(mixin, _)) = last.map(|ty| self.types.types.kind(ty)) else { continue };
            for (name, attr) in &info.attrs {
                let own = super::Spot { home: attr.loc.pkg, span: attr.loc.span };
                if let Some(other) =
                    members::attribute(self.types, *mixin, name).filter(|other| *other != own)
                {
                    self.links.push((own, other));
                }
            }
        }
    }

    fn checks(&mut self, checks: &'a [Check]) {
        for check in checks {
            [Some(check.cond), check.guard, check.msg].into_iter().flatten().for_each(|expr| self.expr(expr));
        }
    }

    // --- names of types ----------------------------------------------------------------------------------------

    fn reference(&mut self, reference: &DottedRef) {
        self.type_name(&reference.parts);
    }

    /// The name of a schema or alias: of the package, or of an imported one.
    fn type_name(&mut self, parts: &[Ident]) {
        let Some(first) = parts.first() else { return };
        let meaning = match self.lookup_global(&first.name) {
            Some(meaning) => Some(meaning),
            None => self.lookup(&first.name),
        };
        if first.name == "units" && meaning.is_none() {
            return;
        }
        self.bind(first, meaning, Role::Read);
        if let Some(second) = parts.get(1) {
            let ty = self.records.part_type(first.span.start);
            let meaning = ty.and_then(|ty| members::member(self.types, ty, &second.name));
            let meaning = meaning.or_else(|| self.member_of_import(first, second));
            self.member_part(second, meaning, Role::Read);
        }
    }

    pub(super) fn ty(&mut self, id: TypeId) {
        let tree = self.tree;
        match tree.ty(id) {
            Type::Missing | Type::Any | Type::Basic(_) | Type::Literal(_) => {}
            Type::NotAType(expr) => self.expr(*expr),
            Type::Named(parts) => self.type_name(parts),
            Type::List(item) => item.iter().for_each(|item| self.ty(*item)),
            Type::Dict(key, val) => [key, val].into_iter().flatten().for_each(|ty| self.ty(*ty)),
            Type::Union(members) => members.iter().for_each(|member| self.ty(*member)),
            Type::Function(params, ret) => {
                params.iter().chain(ret).for_each(|ty| self.ty(*ty));
            }
        }
    }
}

/// The names that a body sets, in order.
fn assigned<'a>(tree: &'a Tree, body: &[StmtId], out: &mut Vec<&'a Ident>) {
    for stmt in body {
        match tree.stmt(*stmt) {
            Stmt::Assign { targets, .. } => out.extend(targets.iter().map(|target| &target.name)),
            Stmt::AugAssign { target, .. } => out.push(&target.name),
            Stmt::Unification { target, .. } => out.push(target),
            Stmt::If { body, orelse, .. } => {
                assigned(tree, body, out);
                assigned(tree, orelse, out);
            }
            _ => {}
        }
    }
}
