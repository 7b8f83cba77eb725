// A server of the TypeScript SDK 2.x, for the ESM and the CommonJS build of it.
'use strict';

const { options, spin, spinSync, echo, listen } = require('./work.cjs');

function highLevel({ McpServer, z }) {
  const server = new McpServer({ name: 'ts2', version: '1.0.0' });
  const inputSchema = z.object({ work_ns: z.number() });
  server.registerTool('spin', { inputSchema }, spin);
  server.registerTool('spin_sync', { inputSchema }, spinSync);
  server.registerTool('echo', { inputSchema: z.object({ text: z.string() }) }, echo);
  return server;
}

function lowLevel({ Server }) {
  const info = { name: 'ts2', version: '1.0.0' };
  const server = new Server(info, { capabilities: { tools: {} } });
  const tools = ['spin', 'echo'].map((name) => ({ name, inputSchema: { type: 'object' } }));
  server.setRequestHandler('tools/list', () => ({ tools }));
  server.setRequestHandler('tools/call', ({ params }) =>
    params.name === 'spin' ? spin(params.arguments) : echo(params.arguments));
  return server;
}

exports.serve = async (sdk) => {
  const build = () => (options.has('lowlevel') ? lowLevel(sdk) : highLevel(sdk));
  if (!options.has('http')) return sdk.serveStdio(build, { legacy: 'serve' });
  const responseMode = options.has('json') ? 'json' : options.has('sse') ? 'sse' : undefined;
  const handler = sdk.createMcpHandler(build, { legacy: 'stateless', responseMode });
  return listen(sdk.toNodeHandler(handler));
};
