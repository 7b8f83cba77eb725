// A ticket desk as an MCP server on the TypeScript SDK 2: both transports, both eras, one real tool.
'use strict';

const { McpServer } = require('@modelcontextprotocol/server');
const { z } = require('zod');

const { flags, listen, opened, register } = require('../tickets-ts1/desk.cjs');

const tickets = opened(flags.database);

function desk() {
  const server = new McpServer({ name: 'tickets-ts2', version: '1' });
  return register(server, tickets, z, (fields) => z.object(fields));
}

if (flags.http === undefined) {
  const { serveStdio } = require('@modelcontextprotocol/server/stdio');
  serveStdio(desk, { legacy: 'serve' });
} else {
  // This entry of the SDK keeps no session in either era and makes a server for each request; it
  // answers the stateful era with SSE whatever it is asked for.
  const { toNodeHandler } = require('@modelcontextprotocol/node');
  const { createMcpHandler } = require('@modelcontextprotocol/server');
  const responseMode = flags.sse ? 'sse' : undefined;
  listen(toNodeHandler(createMcpHandler(desk, { legacy: 'stateless', responseMode })));
}
