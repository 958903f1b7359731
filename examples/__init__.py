"""Programs to run and to read: `edges`, a real one on a photograph, and the `gallery`."""
