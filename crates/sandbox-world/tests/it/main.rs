//! The simulated controllers and kubelet, driven by the virtual clock.

mod rig;
mod rollout;
