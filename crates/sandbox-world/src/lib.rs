//! The simulated Kubernetes world: store, watch, controllers, kubelet, faults, virtual clock.
