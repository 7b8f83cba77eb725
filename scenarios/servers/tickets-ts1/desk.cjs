// What the ticket desks in TypeScript share: their command line, the tickets, and the two tools.
'use strict';

const { pathToFileURL } = require('node:url');
const { parseArgs } = require('node:util');

const { values: flags } = parseArgs({
  options: {
    database: { type: 'string' },
    http: { type: 'string' },
    json: { type: 'boolean', default: false },
    sse: { type: 'boolean', default: false },
    stateless: { type: 'boolean', default: false },
  },
});

const STATUSES = ['open', 'pending', 'closed'];
const SEARCH = `
select ticket.id, ticket.title, ticket.status, ticket.created, ticket.customer
from words join ticket on ticket.id = words.rowid
where words match ? and (? = 'any' or ticket.status = ?)
order by words.rank, ticket.id limit ?
`;

// The tickets of a file that nobody writes, read without locks and kept in memory.
function opened(file) {
  const { DatabaseSync } = sqlite();
  const url = pathToFileURL(file);
  url.search = '?mode=ro&immutable=1';
  const database = new DatabaseSync(url, { readOnly: true });
  database.exec('pragma cache_size = -65536');
  return database.prepare(SEARCH);
}

function sqlite() {
  try {
    return require('node:sqlite');
  } catch {
    console.error(`Node.js ${process.version} has no node:sqlite; use 22.13 or newer`);
    process.exit(1);
  }
}

// The best matches for all words of `query`, best first; a query without a word finds none.
function search(statement, query, status, limit) {
  if (status !== 'any' && !STATUSES.includes(status)) {
    const known = [...STATUSES, 'any'].join(', ');
    throw new Error(`status "${status}" is not known; known are: ${known}`);
  }
  const words = query.match(/[\p{L}\p{N}_]+/gu);
  if (words === null) return [];
  const match = words.map((word) => `"${word}"`).join(' ');
  return statement.all(match, status, status, Math.max(0, limit));
}

// Both tools on a high-level server of either SDK; `shape` makes an input schema of fields.
function register(server, statement, z, shape) {
  server.registerTool(
    'search_tickets',
    {
      description: 'Find support tickets by words of their title and text, best match first.',
      inputSchema: shape({
        query: z.string(),
        status: z.string().default('open'),
        limit: z.int().default(10),
      }),
    },
    async ({ query, status, limit }) => told(JSON.stringify(search(statement, query, status, limit))),
  );
  server.registerTool(
    'null',
    {
      description: 'Answer at once with an empty text: what a call costs when the tool does nothing.',
      inputSchema: shape({}),
    },
    async () => told(''),
  );
  return server;
}

const told = (text) => ({ content: [{ type: 'text', text }] });

// Serve HTTP at /mcp; what a handler throws closes its connection.
function listen(handler) {
  const server = require('node:http').createServer((request, response) => {
    if (!request.url.startsWith('/mcp')) return response.writeHead(404).end();
    return handler(request, response).catch((error) => response.destroy(error));
  });
  server.listen(Number(flags.http), '127.0.0.1');
}

module.exports = { flags, listen, opened, register };
