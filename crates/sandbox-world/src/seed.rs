//! Everything that is random in a real cluster, drawn from one seed: uids, name suffixes, addresses, chances.

/// SplitMix64: tiny, well spread, and its whole state is one number that a snapshot can hold.
#[derive(Clone, Debug)]
pub struct Seed(u64);

/// The letters the API server draws name suffixes from.
const SUFFIX: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

impl Seed {
    pub fn new(seed: u64) -> Seed {
        Seed(seed)
    }

    /// Its whole state: `Seed::new` of it goes on from here.
    pub fn state(&self) -> u64 {
        self.0
    }

    /// The next number.
    // It is no iterator: it never ends and is drawn from in many ways.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`; 0 for a bound of 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next().checked_rem(bound).unwrap_or(0)
    }

    /// A version 4 uuid.
    pub fn uid(&mut self) -> String {
        let (high, low) = (self.next(), self.next());
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xfff,
            0x8000 | ((low >> 48) & 0x3fff),
            low & 0xffff_ffff_ffff
        )
    }

    /// What the server appends to a `generateName`.
    pub fn suffix(&mut self, length: usize) -> String {
        (0..length).map(|_| char::from(SUFFIX[self.below(SUFFIX.len() as u64) as usize])).collect()
    }
}
