//! HTTP and TLS in front of the simulated world; real kubectl speaks to it.
