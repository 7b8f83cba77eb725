'use strict';

require('./serve2.cjs').serve({
  ...require('@modelcontextprotocol/node'),
  ...require('@modelcontextprotocol/server'),
  ...require('@modelcontextprotocol/server/stdio'),
  ...require('zod'),
});
