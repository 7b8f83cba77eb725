// The dials on the TypeScript SDK 2: standard input, or the port.

import { listen, port, register, spin } from './dials.mjs';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

const build = () => register(new McpServer({ name: 'dials', version: '1.0.0' }));

if (port === undefined) {
  serveStdio(build, { legacy: 'serve' });
  spin('serving');
} else {
  listen(toNodeHandler(createMcpHandler(build, { legacy: 'stateless' })));
}
