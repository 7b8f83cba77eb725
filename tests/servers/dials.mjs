// The dials of `tests.servers.dials` for the servers on the TypeScript SDKs: spin, log, listen.
// What an SDK lets an author run inside a call serves as the place of a dial: the check of the
// arguments (before), the check of the result (after), and a `toJSON` in the reply (write).

import { createServer } from 'node:http';
import { z } from 'zod';

const now = process.hrtime.bigint;
const standing = JSON.parse(process.env.DIALS ?? '{}');
const log = [];
const asked = new Map(); // call -> its arguments, from the handler until the reply is written

export function spin(point, given = {}) {
  const wait = BigInt(given.dials?.[point] ?? standing[point] ?? 0);
  const began = now();
  let ended = began;
  while (ended - began < wait) ended = now();
  log.push([point, given.call ?? 0, Number(began), Number(ended)]);
}

spin('import');

export const port = process.argv[2];

const inputSchema = z
  .object({ call: z.number(), dials: z.record(z.string(), z.number()) })
  .refine((given) => (spin('before', given), true));
const outputSchema = z
  .object({ call: z.number() })
  .refine(({ call }) => (spin('after', asked.get(call)), true));

async function turn(given) {
  if ('first' in standing) {
    spin('first', given);
    delete standing.first;
  }
  asked.set(given.call, given);
  const toJSON = () => {
    if (asked.delete(given.call)) spin('write', given);
    return 0;
  };
  const result = {
    content: [{ type: 'text', text: 'turned' }],
    structuredContent: { call: given.call },
    _meta: { dials: { toJSON } },
  };
  spin('handler', given);
  return result;
}

const text = (value) => ({ content: [{ type: 'text', text: value }] });

export function register(server) {
  server.registerTool('turn', { inputSchema, outputSchema }, turn);
  server.registerTool('log', {}, async () => text(JSON.stringify(log)));
  server.registerTool('null', {}, async () => text(''));
  return server;
}

export function listen(handler) {
  spin('serving');
  const served = (request, response) =>
    handler(request, response).catch((error) => response.destroy(error));
  createServer(served).listen(Number(port), '127.0.0.1');
}
