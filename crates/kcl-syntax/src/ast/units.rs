//! Suffixes of unit numbers (`1Ki`): how they are written and what they multiply by.

/// Suffixes of unit numbers. `K` is `k` with another letter: both are kept because the text form differs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum UnitSuffix {
    Nano,
    Micro,
    Milli,
    SmallK,
    K,
    M,
    G,
    T,
    P,
    Ki,
    Mi,
    Gi,
    Ti,
    Pi,
}

impl UnitSuffix {
    /// Returns the suffix as it is written.
    pub fn text(self) -> &'static str {
        match self {
            Self::Nano => "n",
            Self::Micro => "u",
            Self::Milli => "m",
            Self::SmallK => "k",
            Self::K => "K",
            Self::M => "M",
            Self::G => "G",
            Self::T => "T",
            Self::P => "P",
            Self::Ki => "Ki",
            Self::Mi => "Mi",
            Self::Gi => "Gi",
            Self::Ti => "Ti",
            Self::Pi => "Pi",
        }
    }

    /// Returns the suffix of a written one.
    pub fn from_text(text: &str) -> Option<Self> {
        const ALL: [UnitSuffix; 14] = [
            UnitSuffix::Nano,
            UnitSuffix::Micro,
            UnitSuffix::Milli,
            UnitSuffix::SmallK,
            UnitSuffix::K,
            UnitSuffix::M,
            UnitSuffix::G,
            UnitSuffix::T,
            UnitSuffix::P,
            UnitSuffix::Ki,
            UnitSuffix::Mi,
            UnitSuffix::Gi,
            UnitSuffix::Ti,
            UnitSuffix::Pi,
        ];
        ALL.into_iter().find(|s| s.text() == text)
    }

    /// Returns the number that one unit stands for.
    pub fn factor(self) -> f64 {
        match self {
            Self::Nano => 1e-9,
            Self::Micro => 1e-6,
            Self::Milli => 1e-3,
            Self::SmallK | Self::K => 1e3,
            Self::M => 1e6,
            Self::G => 1e9,
            Self::T => 1e12,
            Self::P => 1e15,
            Self::Ki => 1024.0,
            Self::Mi => 1_048_576.0,
            Self::Gi => 1_073_741_824.0,
            Self::Ti => 1_099_511_627_776.0,
            Self::Pi => 1_125_899_906_842_624.0,
        }
    }
}
