import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import one from './serve1.cjs';

one.serve({
  Server,
  McpServer,
  StdioServerTransport,
  StreamableHTTPServerTransport,
  CallToolRequestSchema,
  ListToolsRequestSchema,
  z,
});
