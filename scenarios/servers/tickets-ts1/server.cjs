// A ticket desk as an MCP server on the TypeScript SDK 1: both transports, one real tool.
'use strict';

const { randomUUID } = require('node:crypto');

const { McpServer } = require('@modelcontextprotocol/sdk/server/mcp.js');
const { z } = require('zod');

const { flags, listen, opened, register } = require('./desk.cjs');

const tickets = opened(flags.database);
const sessions = new Map();

function desk() {
  const server = new McpServer({ name: 'tickets-ts1', version: '1' });
  return register(server, tickets, z, (fields) => fields);
}

function piped() {
  const { StdioServerTransport } = require('@modelcontextprotocol/sdk/server/stdio.js');
  return desk().connect(new StdioServerTransport());
}

// One server object a session, and one a request where no session is kept, as the SDK asks for.
async function opening() {
  const {
    StreamableHTTPServerTransport,
  } = require('@modelcontextprotocol/sdk/server/streamableHttp.js');
  const transport = new StreamableHTTPServerTransport({
    enableJsonResponse: flags.json,
    sessionIdGenerator: flags.stateless ? undefined : randomUUID,
    onsessioninitialized: (id) => sessions.set(id, transport),
    onsessionclosed: (id) => sessions.delete(id),
  });
  await desk().connect(transport);
  return transport;
}

if (flags.http === undefined) {
  piped();
} else {
  listen(async (request, response) => {
    const known = sessions.get(request.headers['mcp-session-id']);
    await (known ?? (await opening())).handleRequest(request, response);
  });
}
