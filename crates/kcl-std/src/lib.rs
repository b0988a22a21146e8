//! KCL built-in functions, string methods and system modules.
