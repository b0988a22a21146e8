//! Where values come from. Off by default, and then only a test of a flag.
//!
//! Values do not carry origins; *slots* do (dict entries, list items, variables). While an expression is computed the
//! machine's register `origin` holds the origin of its result; whoever stores the value stores the register beside it,
//! and whoever reads a slot loads the register from it. So origins pass through lambdas, comprehensions and unpacking
//! without any of them knowing.

use base_diag::Span;
use kcl_value::OriginId;

/// What happened at a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OriginKind {
    /// Written as a literal or computed by an expression.
    Written,
    /// An entry of braces.
    Entry,
    /// An assignment to a variable or body name.
    Assigned,
    /// The default of a schema attribute.
    Default,
    /// Merged over an earlier value (`:`).
    Merged,
    /// Replaced an earlier value (`=`).
    Overrides,
    /// Appended to an earlier list (`+=`).
    Appended,
}

impl OriginKind {
    /// What a reader is told about the step.
    pub fn words(self) -> &'static str {
        match self {
            OriginKind::Written => "written",
            OriginKind::Entry => "entry",
            OriginKind::Assigned => "assigned",
            OriginKind::Default => "schema default",
            OriginKind::Merged => "merged over",
            OriginKind::Overrides => "overrides",
            OriginKind::Appended => "appends to",
        }
    }
}

/// One step of a chain.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    /// Package, in the program's numbering.
    pub package: u32,
    /// Range in the package's tree.
    pub span: Span,
    /// What happened.
    pub kind: OriginKind,
    /// Where the value of this step came from.
    pub source: OriginId,
    /// What this step was merged over or replaced.
    pub previous: OriginId,
}

/// All steps of a run; ids start at 1.
#[derive(Clone, Debug, Default)]
pub struct Origins {
    rows: Vec<Origin>,
}

impl Origins {
    /// Adds a step.
    pub(crate) fn add(&mut self, origin: Origin) -> OriginId {
        self.rows.push(origin);
        OriginId(self.rows.len() as u32)
    }

    /// Returns a step.
    pub fn get(&self, id: OriginId) -> Option<&Origin> {
        self.rows.get((id.0 as usize).checked_sub(1)?)
    }
}

impl crate::machine::Machine<'_> {
    /// Records a step whose value has the origin in the register, and puts it into the register.
    pub(crate) fn trace(&mut self, span: Span, kind: OriginKind) {
        let (package, source) = (self.pkg as u32, self.origin);
        if let Some(origins) = &mut self.origins {
            self.origin = origins.add(Origin { package, span, kind, source, previous: OriginId::default() });
        }
    }

    /// Records that the step in the register was laid over an earlier one.
    pub(crate) fn trace_over(&mut self, kind: OriginKind, newer: OriginId, older: OriginId) -> OriginId {
        let Some(origins) = &mut self.origins else { return OriginId::default() };
        let Some(top) = origins.get(newer).copied() else { return older };
        if older == OriginId::default() || older == newer {
            return newer;
        }
        origins.add(Origin { kind, source: newer, previous: older, ..top })
    }
}
