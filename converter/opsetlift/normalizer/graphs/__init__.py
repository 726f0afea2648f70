"""graphsurgeon's graphs: import and export without loss, walks over them, and dead-code elimination."""
