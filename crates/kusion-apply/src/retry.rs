//! When to try again.

use std::time::Duration;

use kusion_model::ResourceKey;
use kusion_runtime::RuntimeError;

/// How often and how long; `Retry-After` of the platform wins over the backoff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    pub max_attempts: u32,
    pub first_delay: Duration,
    pub max_delay: Duration,
    /// A platform that asks for a longer pause is not waited for: the step fails, and says what was asked.
    pub max_asked: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        RetryPolicy {
            max_attempts: 8,
            first_delay: Duration::from_millis(200),
            max_delay: Duration::from_secs(20),
            max_asked: Duration::from_secs(60),
        }
    }
}

impl RetryPolicy {
    /// Returns how long to wait after the given attempt (from 1), or `None` to give up.
    #[must_use]
    pub fn delay(&self, error: &RuntimeError, attempt: u32, key: &ResourceKey) -> Option<Duration> {
        if !error.is_transient() || attempt >= self.max_attempts {
            return None;
        }
        if let Some(asked) = error.retry_after {
            return Some(asked).filter(|asked| *asked <= self.max_asked);
        }
        let doubled = self.first_delay.saturating_mul(1 << (attempt - 1).min(16)).min(self.max_delay);
        Some(doubled + doubled.mul_f64(spread(key, attempt) / 4.0))
    }
}

/// A number in 0..1 that differs between resources, so that many retries do not come in one wave, and is the same in
/// every run.
fn spread(key: &ResourceKey, attempt: u32) -> f64 {
    let bytes = key.id.as_str().bytes().chain(attempt.to_le_bytes());
    let hash = bytes
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    f64::from((hash >> 40) as u32) / f64::from(1_u32 << 24)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kusion_model::ResourceId;
    use kusion_runtime::ErrorKind;

    fn key() -> ResourceKey {
        ResourceKey::new(ResourceId::parse("v1:ConfigMap:ns:a").unwrap())
    }

    #[test]
    fn delays_grow_and_end() {
        let policy = RetryPolicy::default();
        let error = RuntimeError::new(ErrorKind::Server, "x");
        let delays: Vec<_> = (1..10).map_while(|attempt| policy.delay(&error, attempt, &key())).collect();
        assert_eq!(delays.len(), 7);
        assert!(delays.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(delays.iter().all(|delay| *delay <= policy.max_delay.mul_f64(1.25)));
    }

    #[test]
    fn the_platforms_wish_wins_and_hopeless_errors_are_not_retried() {
        let policy = RetryPolicy::default();
        let mut error = RuntimeError::new(ErrorKind::TooManyRequests, "x");
        error.retry_after = Some(Duration::from_secs(7));
        assert_eq!(policy.delay(&error, 1, &key()), Some(Duration::from_secs(7)));
        assert_eq!(policy.delay(&RuntimeError::new(ErrorKind::Forbidden, "x"), 1, &key()), None);
        error.retry_after = Some(Duration::from_secs(999_999));
        assert_eq!(policy.delay(&error, 1, &key()), None, "nobody waits for eleven days");
    }
}
