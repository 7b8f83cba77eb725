// The dials on the TypeScript SDK 1: standard input, or the port.

import { randomUUID } from 'node:crypto';
import { listen, port, register, spin } from './dials.mjs';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';

const build = () => register(new McpServer({ name: 'dials', version: '1.0.0' }));
const sessions = new Map();

async function opened() {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => sessions.set(id, transport),
  });
  await build().connect(transport);
  return transport;
}

if (port === undefined) {
  await build().connect(new StdioServerTransport());
  spin('serving');
} else {
  listen(async (request, response) => {
    const known = sessions.get(request.headers['mcp-session-id']);
    await (known ?? (await opened())).handleRequest(request, response);
  });
}
