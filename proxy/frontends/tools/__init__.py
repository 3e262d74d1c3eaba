"""Tools of our own, as their adapters define them: called from the command line, over MCP and from Python alike."""
