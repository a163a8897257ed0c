"""Reading specs: from paths to a catalog of tools."""
