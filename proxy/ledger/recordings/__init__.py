"""Formats of recorded sessions, one a file: `fits` tells one by its first rows, `sessions` reads it. `byref.proxy.ledger.reading` asks."""
