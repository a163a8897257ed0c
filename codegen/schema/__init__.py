"""What JSON Schema means: dialects, pointers, references, names, and the typing view that models are made from."""
