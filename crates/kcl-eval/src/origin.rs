//! Where values come from. Off by default, and then only a test of a flag.
//!
//! Values do not carry origins; *slots* do (dict entries, list items, variables). While an expression is computed the
//! machine's register `origin` holds the origin of its result; whoever stores the value stores the register beside it,
//! and whoever reads a slot loads the register from it. So origins pass through lambdas, comprehensions and unpacking
//! without any of them knowing.
//!
//! A step also knows the *frame* it happened in: the place in another package that called the lambda or made the instance. So
//! a line of a model is never the end of a chain: behind it stands the line of the user's own file that asked for it.

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
    /// A call, or an instance made, of what another package defines.
    Used,
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
            OriginKind::Used => "uses it here",
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
    /// The use, in another package, that made this step happen.
    pub frame: OriginId,
}

/// All steps of a run; ids start at 1.
#[derive(Clone, Debug, Default)]
pub struct Origins {
    rows: Vec<Origin>,
    /// The use that the running code happens in.
    frame: OriginId,
    /// Package and start of the call that runs.
    call: (u32, u32),
    /// Origins of the arguments that were computed last, in order.
    arguments: Vec<OriginId>,
}

/// What a call changes and its end puts back.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Frame {
    frame: OriginId,
    call: (u32, u32),
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
            let frame = origins.frame;
            let step = Origin { package, span, kind, source, previous: OriginId::default(), frame };
            self.origin = origins.add(step);
        }
    }

    /// Records the default of an attribute, laid over what the attribute had (a default of the base); it need not be computed.
    pub(crate) fn trace_default(&mut self, span: Span, source: OriginId, earlier: OriginId) -> OriginId {
        let package = self.pkg as u32;
        let Some(origins) = &mut self.origins else { return OriginId::default() };
        let (kind, frame) = (OriginKind::Default, origins.frame);
        origins.add(Origin { package, span, kind, source, previous: earlier, frame })
    }

    /// Notes the call that is about to run.
    pub(crate) fn begin_call(&mut self, start: u32) -> Frame {
        let package = self.pkg as u32;
        let Some(origins) = &mut self.origins else { return Frame::default() };
        let before = Frame { frame: origins.frame, call: origins.call };
        origins.call = (package, start);
        before
    }

    /// Notes that code of a package runs now because of the noted call, or of the given place.
    pub(crate) fn begin_use(&mut self, package: usize, place: Option<(u32, u32)>) -> Frame {
        let here = self.pkg;
        let Some(origins) = &mut self.origins else { return Frame::default() };
        let before = Frame { frame: origins.frame, call: origins.call };
        if package != here {
            let (package, start) = place.unwrap_or(origins.call);
            let (source, previous) = (OriginId::default(), OriginId::default());
            let (span, kind) = (Span::new(start, start), OriginKind::Used);
            let step = Origin { package, span, kind, source, previous, frame: before.frame };
            origins.frame = origins.add(step);
        }
        before
    }

    /// Ends a call or use.
    pub(crate) fn end_frame(&mut self, before: Frame) {
        if let Some(origins) = &mut self.origins {
            (origins.frame, origins.call) = (before.frame, before.call);
        }
    }

    /// Returns the frame that runs, to come back to it after a failure.
    pub(crate) fn current_frame(&self) -> Frame {
        self.origins.as_ref().map_or_else(Frame::default, |o| Frame { frame: o.frame, call: o.call })
    }

    /// Remembers the origins of arguments for whoever binds them.
    pub(crate) fn pass_origins(&mut self, arguments: Vec<OriginId>) {
        if let Some(origins) = &mut self.origins {
            origins.arguments = arguments;
        }
    }

    /// Takes the origins of the arguments that were computed last.
    pub(crate) fn take_origins(&mut self) -> Vec<OriginId> {
        self.origins.as_mut().map(|o| std::mem::take(&mut o.arguments)).unwrap_or_default()
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
