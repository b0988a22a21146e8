//! State log, releases and locks on the local disk.
