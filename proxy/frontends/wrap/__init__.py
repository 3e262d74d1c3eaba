"""The MCP proxy, by parts that speak JSON objects as on the wire. Loads only with the commands that use it."""
