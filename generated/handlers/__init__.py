"""The handlers, a module for each tool. They are yours: toolgen creates a stub once and never touches it again."""
