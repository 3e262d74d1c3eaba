"""Any HTTP API behind byref: `byref serve --upstream name=URL` gives it at /name/, its answers stored, as views where asked for."""
