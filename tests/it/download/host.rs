//! With real parts.
