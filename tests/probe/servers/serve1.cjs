// A server of the TypeScript SDK 1.x, for the ESM and the CommonJS build of it.
'use strict';

const { randomUUID } = require('node:crypto');
const { options, spin, spinSync, echo, listen } = require('./work.cjs');

function highLevel({ McpServer, z }) {
  const server = new McpServer({ name: 'ts1', version: '1.0.0' });
  const number = { work_ns: z.number() };
  server.registerTool('spin', { description: 'async', inputSchema: number }, spin);
  server.tool('spin_sync', 'sync', number, spinSync);
  server.registerTool('echo', { inputSchema: { text: z.string() } }, echo);
  return server;
}

function lowLevel({ Server, ListToolsRequestSchema, CallToolRequestSchema }) {
  const info = { name: 'ts1', version: '1.0.0' };
  const server = new Server(info, { capabilities: { tools: {} } });
  const tools = ['spin', 'echo'].map((name) => ({ name, inputSchema: { type: 'object' } }));
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }) =>
    params.name === 'spin' ? spin(params.arguments) : echo(params.arguments));
  return server;
}

exports.serve = async (sdk) => {
  const build = () => (options.has('lowlevel') ? lowLevel(sdk) : highLevel(sdk));
  if (!options.has('http')) return build().connect(new sdk.StdioServerTransport());
  const sessions = new Map();
  const enableJsonResponse = options.has('json');
  const opened = async () => {
    const transport = new sdk.StreamableHTTPServerTransport({
      enableJsonResponse,
      sessionIdGenerator: options.has('stateless') ? undefined : randomUUID,
      onsessioninitialized: (id) => sessions.set(id, transport),
    });
    await build().connect(transport);
    return transport;
  };
  return listen(async (request, response) => {
    const known = sessions.get(request.headers['mcp-session-id']);
    await (known ?? (await opened())).handleRequest(request, response);
  });
};
