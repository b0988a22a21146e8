//! The virtual clock's reading: milliseconds since 1970, always given, never read.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

use kube_meaning::time::{format_micro_time, format_time, parse_time};

/// A moment of the world's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(i64);

impl Time {
    /// Milliseconds since 1970.
    pub const fn from_millis(millis: i64) -> Time {
        Time(millis)
    }

    /// Milliseconds since 1970.
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// Reads an API timestamp.
    pub fn parse(text: &str) -> Option<Time> {
        let (seconds, nanos) = parse_time(text)?;
        Some(Time(seconds.checked_mul(1000)?.checked_add(i64::from(nanos / 1_000_000))?))
    }

    /// `2026-01-01T00:00:00Z`, as `metav1.Time` is written.
    pub fn text(self) -> String {
        format_time(self.0.div_euclid(1000))
    }

    /// `2026-01-01T00:00:00.000000Z`, as `metav1.MicroTime` is written.
    pub fn micro_text(self) -> String {
        let nanos = u32::try_from(self.0.rem_euclid(1000)).unwrap_or(0) * 1_000_000;
        format_micro_time(self.0.div_euclid(1000), nanos)
    }

    /// How long after an earlier moment; zero when it is not later.
    pub fn since(self, earlier: Time) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl Add<Duration> for Time {
    type Output = Time;

    fn add(self, by: Duration) -> Time {
        Time(self.0.saturating_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX)))
    }
}

impl Sub<Duration> for Time {
    type Output = Time;

    fn sub(self, by: Duration) -> Time {
        Time(self.0.saturating_sub(i64::try_from(by.as_millis()).unwrap_or(i64::MAX)))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text())
    }
}
