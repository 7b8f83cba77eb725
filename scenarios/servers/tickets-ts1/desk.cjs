// What the ticket desks in TypeScript share: their command line, the tickets, and the tools.
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
    tools: { type: 'string', default: '3' },
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

const LINE = '2026-11-30T12:00:00Z INFO request 4711 served in 12 ms\n';

// So many letters of a log.
function log(letters) {
  return LINE.repeat(Math.floor(letters / LINE.length) + 1).slice(0, letters);
}

// So many tools: the desk's own, then searches of other desks that are all alike.
function names(tools) {
  const own = ['search_tickets', 'null', 'read_log'];
  const more = Array.from(
    { length: Math.max(0, tools - own.length) },
    (_, i) => `search_tickets_${String(own.length + 1 + i).padStart(4, '0')}`,
  );
  return [...own.slice(0, tools), ...more];
}

// The tools on a high-level server of either SDK; `shape` makes an input schema of fields.
function register(server, statement, z, shape) {
  const search_tickets = [
    {
      description: 'Find support tickets by words of their title and text, best match first.',
      inputSchema: shape({
        query: z.string(),
        status: z.string().default('open'),
        limit: z.int().default(10),
      }),
    },
    async ({ query, status, limit }) => told(JSON.stringify(search(statement, query, status, limit))),
  ];
  const known = {
    null: [
      {
        description:
          'Answer at once with an empty text: what a call costs when the tool does nothing.',
        inputSchema: shape({}),
      },
      async () => told(''),
    ],
    read_log: [
      {
        description: 'Read the log that came with a ticket, up to so many letters.',
        inputSchema: shape({ letters: z.int() }),
      },
      async ({ letters }) => told(log(letters)),
    ],
  };
  for (const name of names(Number(flags.tools))) {
    server.registerTool(name, ...(known[name] ?? search_tickets));
  }
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
