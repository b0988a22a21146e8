//! What the checker tells while it infers: the types of expressions and of the parts of dotted names.

use base_diag::Span;
use kcl_syntax::ast::ExprId;

use crate::ty::TyId;

/// Listens to the checker.
pub(crate) trait Recorder {
    /// An expression has this type.
    fn expr(&mut self, id: ExprId, ty: TyId);
    /// A name, as far as this part of it, has this type.
    fn part(&mut self, span: Span, ty: TyId);
    /// Braces are judged against this type.
    fn expected(&mut self, id: ExprId, ty: Option<TyId>);
}

/// Listens to nothing: every run. Its calls compile to nothing.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct NoRecorder;

impl Recorder for NoRecorder {
    #[inline(always)]
    fn expr(&mut self, _: ExprId, _: TyId) {}

    #[inline(always)]
    fn part(&mut self, _: Span, _: TyId) {}

    #[inline(always)]
    fn expected(&mut self, _: ExprId, _: Option<TyId>) {}
}

/// No type is known.
const UNKNOWN: TyId = TyId(u32::MAX);

/// Keeps everything. What is told twice counts as it was told last.
#[derive(Default, Debug)]
pub(crate) struct Records {
    exprs: Vec<TyId>,
    /// By the first byte of the part.
    parts: Vec<(u32, TyId)>,
    expected: Vec<(ExprId, TyId)>,
}

impl Records {
    pub(crate) fn new(expressions: usize) -> Self {
        Records { exprs: vec![UNKNOWN; expressions], ..Records::default() }
    }

    /// Puts the rows in order; call it once, before asking.
    pub(crate) fn finish(&mut self) {
        last_of_each(&mut self.parts);
        last_of_each(&mut self.expected);
    }

    pub(crate) fn expr_type(&self, id: ExprId) -> Option<TyId> {
        self.exprs.get(id.0 as usize).copied().filter(|ty| *ty != UNKNOWN)
    }

    pub(crate) fn part_type(&self, start: u32) -> Option<TyId> {
        find(&self.parts, start)
    }

    pub(crate) fn expected_type(&self, id: ExprId) -> Option<TyId> {
        find(&self.expected, id)
    }
}

impl Recorder for Records {
    fn expr(&mut self, id: ExprId, ty: TyId) {
        if let Some(row) = self.exprs.get_mut(id.0 as usize) {
            *row = ty;
        }
    }

    fn part(&mut self, span: Span, ty: TyId) {
        self.parts.push((span.start, ty));
    }

    fn expected(&mut self, id: ExprId, ty: Option<TyId>) {
        if let Some(ty) = ty {
            self.expected.push((id, ty));
        }
    }
}

fn last_of_each<K: Ord + Copy>(rows: &mut Vec<(K, TyId)>) {
    rows.sort_by_key(|(key, _)| *key);
    rows.reverse();
    rows.dedup_by_key(|(key, _)| *key);
    rows.reverse();
}

fn find<K: Ord + Copy>(rows: &[(K, TyId)], key: K) -> Option<TyId> {
    rows.binary_search_by_key(&key, |(key, _)| *key).ok().map(|at| rows[at].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_twice_counts_as_told_last() {
        let mut records = Records::new(2);
        records.expr(ExprId(1), TyId::INT);
        records.expr(ExprId(1), TyId::STR);
        for ty in [TyId::INT, TyId::STR] {
            records.part(Span::new(7, 8), ty);
            records.part(Span::new(3, 4), ty);
        }
        records.finish();
        assert_eq!(records.expr_type(ExprId(0)), None);
        assert_eq!(records.expr_type(ExprId(1)), Some(TyId::STR));
        assert_eq!(records.part_type(3), Some(TyId::STR));
        assert_eq!(records.part_type(4), None);
    }
}
