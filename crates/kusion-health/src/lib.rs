//! Is this object healthy? Verdicts and causes per kind, pure.
