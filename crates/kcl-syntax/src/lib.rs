//! KCL lexer and event parser, with an arena tree for running and a lossless tree for tools.
