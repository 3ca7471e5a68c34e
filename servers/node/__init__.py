"""The counterpart in JavaScript: `server.mjs` is the server, `profile` what starts it."""
