"""LLM APIs behind byref: `byref serve --llm` gives them at /llm/NAME/, with views where tool results stand in a request."""
