// What the Node servers of these tests share: their options, and the work of their tools.
'use strict';

const options = new Set(process.argv.slice(2).map((word) => word.replace(/^--/, '')));

// Spin for `workNs`; the function's own first and last reading of the clock, as JSON.
function spun(workNs) {
  const entered = process.hrtime.bigint();
  let left = entered;
  while (left - entered < BigInt(workNs)) left = process.hrtime.bigint();
  return JSON.stringify({ entered: Number(entered), left: Number(left), pid: process.pid });
}

const text = (value) => ({ content: [{ type: 'text', text: value }] });
const spin = async ({ work_ns }) => text(spun(work_ns));
const spinSync = ({ work_ns }) => text(spun(work_ns));
const echo = async (args) => text(args.text);

// Listen where the system says, and tell it as the tests expect.
function listen(handler) {
  const server = require('node:http').createServer((request, response) => {
    handler(request, response).catch((error) => response.destroy(error));
  });
  server.listen(0, '127.0.0.1', () => {
    console.error(`listening on http://127.0.0.1:${server.address().port}`);
  });
  process.on('SIGINT', () => process.exit(0));
}

module.exports = { options, spun, text, spin, spinSync, echo, listen };
