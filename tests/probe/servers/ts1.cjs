'use strict';

require('./serve1.cjs').serve({
  ...require('@modelcontextprotocol/sdk/server/index.js'),
  ...require('@modelcontextprotocol/sdk/server/mcp.js'),
  ...require('@modelcontextprotocol/sdk/server/stdio.js'),
  ...require('@modelcontextprotocol/sdk/server/streamableHttp.js'),
  ...require('@modelcontextprotocol/sdk/types.js'),
  ...require('zod'),
});
