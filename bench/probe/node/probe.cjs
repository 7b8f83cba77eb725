// Stamps taken inside a Node.js MCP server: loaded by NODE_OPTIONS=--require, unseen by its code.
//
// It adds a line to the SDK's modules while they are loaded, through which their classes become
// known, and hooks those classes' prototypes; for HTTP, node:http and its sockets. A request's
// stamps stay in memory; one write after the reply has gone puts them into the side file
// MCP_LATENCY_PROBE + pid (layout: `bench/probe/__init__.py`).
//
// Rules for every hook: never raise into the server; leave it alone where a name is missing. An
// error is counted in the file's header.
'use strict';

const now = process.hrtime.bigint;
const PROCESS_UP = now();

const fs = require('fs');
const { openSync, writeSync, readFileSync } = fs;
const PREFIX = process.env.MCP_LATENCY_PROBE;
const TOGGLE = process.env.MCP_LATENCY_PROBE_TOGGLE === '1';

// --- the side file ------------------------------------------------------------------------------

const HEADER_BYTES = 256, RECORD_BYTES = 80, SDK_AT = 96, ERROR_AT = 152, BATCH = 64;
const CAPACITY = 48 * 1024 * 1024;
const CALL = 1, CALL_ALONE = 2, EXCHANGE = 3, OPEN = 4; // kinds of record
const STRING_ID = 1, AUTHOR = 2, HTTP = 4, POST = 8, TOOL_CALL = 32, SDK_HANDLER = 64; // its flags
const STDIO_HOOK = 1, HTTP_HOOK = 2, HANDLER_HOOK = 4, AUTHOR_HOOK = 8; // bits of hooks and of used
const ZERO = 0n;

const side = {
  fd: -1, tried: false, position: HEADER_BYTES, batched: 0,
  hooks: 0, used: 0, errors: 0, drops: 0, lastError: '', sdk: '',
  importsDone: ZERO, listening: ZERO, firstRead: ZERO, exit: ZERO,
};
const bytes = Buffer.alloc(BATCH * RECORD_BYTES);
const longs = new BigInt64Array(bytes.buffer, bytes.byteOffset, bytes.length / 8);

function open() {
  if (side.tried) return;
  side.tried = true;
  try {
    side.fd = openSync(PREFIX + process.pid, 'w', 0o600);
    side.sdk = sdkVersion();
    writeHeader();
  } catch {
    side.fd = -1;
  }
  cleanEnvironment();
}

// This is the server: its own Node children shall not carry us.
function cleanEnvironment() {
  const theirs = process.env.MCP_LATENCY_NODE_OPTIONS;
  if (theirs === undefined) delete process.env.NODE_OPTIONS;
  else process.env.NODE_OPTIONS = theirs;
  delete process.env.MCP_LATENCY_NODE_OPTIONS;
}

function writeHeader() {
  if (side.fd < 0) return;
  const header = Buffer.alloc(HEADER_BYTES);
  header.write('mcplprb', 0, 'latin1');
  [1, HEADER_BYTES, RECORD_BYTES, 2].forEach((value, i) => header.writeUInt16LE(value, 8 + 2 * i));
  const counts = [process.pid, side.hooks, side.used, side.errors, side.drops];
  counts.forEach((value, i) => header.writeUInt32LE(value, 16 + 4 * i));
  const times = [PROCESS_UP, side.importsDone, side.listening, side.firstRead, side.exit];
  times.forEach((value, i) => header.writeBigInt64LE(value, 40 + 8 * i));
  header.write(side.sdk, SDK_AT, ERROR_AT - SDK_AT - 1, 'utf8');
  header.write(side.lastError, ERROR_AT, HEADER_BYTES - ERROR_AT - 1, 'utf8');
  writeSync(side.fd, header, 0, HEADER_BYTES, 0);
}

// Put a request's stamps into the batch; `flush` writes it, after the reply has left.
function record(kind, entry) {
  if (side.batched === BATCH) flush();
  const at = side.batched * RECORD_BYTES;
  const long = at / 8;
  let flags = entry.flags;
  let used = side.used | (flags & HTTP ? (kind === EXCHANGE ? HTTP_HOOK : 0) : STDIO_HOOK);
  if (entry.in) {
    flags |= AUTHOR;
    used |= AUTHOR_HOOK | HANDLER_HOOK;
  } else if (entry.outerIn) used |= HANDLER_HOOK;
  if (typeof entry.id === 'number') longs[long + 1] = BigInt(entry.id);
  else if (entry.id !== undefined) {
    longs[long + 1] = ZERO;
    bytes.write(String(entry.id), at + 8, 8, 'utf8');
    flags |= STRING_ID;
  } else longs[long + 1] = ZERO;
  bytes[at] = kind;
  bytes[at + 1] = flags;
  bytes.writeUInt16LE(entry.port, at + 2);
  bytes.writeUInt32LE(0, at + 4);
  longs[long + 2] = entry.read;
  longs[long + 3] = entry.outerIn;
  longs[long + 4] = entry.in || entry.outerIn;
  longs[long + 5] = entry.in ? entry.out : entry.outerOut;
  longs[long + 6] = entry.outerOut;
  longs[long + 7] = entry.writing;
  longs[long + 8] = longs[long + 9] = ZERO;
  side.batched += 1;
  if (used !== side.used || !side.firstRead) {
    side.used = used;
    side.firstRead = side.firstRead || entry.read;
    open();
    writeHeader();
  }
}

function flush() {
  const size = side.batched * RECORD_BYTES;
  if (size === 0) return;
  open();
  if (side.fd >= 0 && side.position + size <= CAPACITY) {
    try {
      side.position += writeSync(side.fd, bytes, 0, size, side.position);
      side.batched = 0;
      return;
    } catch (error) {
      fail('flush', error);
    }
  }
  side.drops += side.batched;
  side.batched = 0;
  writeHeaderOrNothing();
}

function fail(where, error) {
  side.errors += 1;
  side.lastError = `${where}: ${error}`;
  open();
  writeHeaderOrNothing();
}

function writeHeaderOrNothing() {
  try {
    writeHeader();
  } catch {
    side.fd = -1; // the disk is full: nothing may reach the server
  }
}

// The SDK starts serving: imports are done.
function serving() {
  const at = now();
  if (side.importsDone) return;
  side.importsDone = at;
  open();
  writeHeaderOrNothing();
}

function closing() {
  for (const entry of waiting.values()) record(OPEN, entry);
  flush();
  side.exit = now();
  writeHeaderOrNothing();
}

// --- hooks: put in place, taken off and put back by SIGUSR2 ---------------------------------------

let active = true; // for wrappers that the SDK keeps: they cannot be taken off
const placed = [];

function place(target, name, value) {
  const theirs = Object.getOwnPropertyDescriptor(target, name);
  const ours = { value, writable: true, configurable: true, enumerable: theirs?.enumerable ?? false };
  Object.defineProperty(target, name, ours);
  placed.push({ target, name, ours, theirs });
}

function toggle() {
  active = !active;
  waiting.clear();
  for (const { target, name, ours, theirs } of placed) {
    if (active) Object.defineProperty(target, name, ours);
    else if (theirs) Object.defineProperty(target, name, theirs);
    else delete target[name];
  }
}

function safely(where, action) {
  try {
    return action();
  } catch (error) {
    fail(where, error);
    return undefined;
  }
}

function entryFor(id, flags) {
  return {
    read: ZERO, outerIn: ZERO, in: ZERO, out: ZERO, outerOut: ZERO, writing: ZERO,
    id, flags, port: 0, start: ZERO, bytesRead: 0,
  };
}

// --- entered and left: the SDK's handler, and inside it the author's function --------------------

const OPEN_LIMIT = 4096; // requests without a reply that are remembered
const waiting = new Map(); // stdio: request id -> entry, until its reply has gone
const handling = new WeakMap(); // what stays the same in all of a request's contexts -> entry
const ours = new WeakSet(); // the wrappers around authors' functions
let inside = false; // in a setRequestHandler of ours: what it calls is already hooked
let sdkRegisters = 0; // in McpServer: the handler being set is the SDK's own

const idOf = (context) => context?.requestId ?? context?.mcpReq?.id;
const keyOf = (context) => context?.mcpReq ?? context?.signal;

// Run `call` between two stamps. The author's promise itself is returned: no tick is added.
function between(entry, from, to, done, call) {
  entry[from] = now();
  let result;
  try {
    result = call();
  } catch (error) {
    entry[to] = now();
    done(entry);
    throw error;
  }
  if (result instanceof Promise) {
    const settled = () => {
      entry[to] = now();
      done(entry);
    };
    result.then(settled, settled);
  } else if (typeof result?.then === 'function') entry[from] = ZERO; // a thenable: not touched
  else {
    entry[to] = now();
    done(entry);
  }
  return result;
}

const nothing = () => {};

function handled(entry) {
  if (entry.flags & HTTP) record(CALL_ALONE, entry); // goes out with the exchange that follows
}

function opened(context, flags) {
  const id = idOf(context);
  let entry = waiting.get(id);
  if (entry === undefined || entry.outerIn) entry = entryFor(id, HTTP | POST);
  entry.flags |= flags | TOOL_CALL;
  const key = keyOf(context);
  if (key !== undefined) handling.set(key, entry);
  return entry;
}

function handlerOf(method, handler) {
  if (typeof method === 'string' && method !== 'tools/call') return handler;
  const flags = sdkRegisters > 0 ? SDK_HANDLER : 0;
  return function probed(request, context) {
    const name = typeof method === 'string' ? method : request?.method;
    const entry = active && name === 'tools/call' && safely('opened', () => opened(context, flags));
    if (!entry) return handler.apply(this, arguments);
    return between(entry, 'outerIn', 'outerOut', handled, () => handler.apply(this, arguments));
  };
}

function hookSetRequestHandler(prototype) {
  const original = prototype.setRequestHandler;
  place(prototype, 'setRequestHandler', function setRequestHandler(...args) {
    if (inside) return original.apply(this, args);
    const last = args.length - 1;
    if (typeof args[last] === 'function') args[last] = handlerOf(args[0], args[last]);
    inside = true;
    try {
      return original.apply(this, args);
    } finally {
      inside = false;
    }
  });
  side.hooks |= HANDLER_HOOK;
}

// The author's function between its two stamps. Its context is its last argument.
function authored(callback) {
  if (typeof callback !== 'function' || ours.has(callback)) return callback;
  const probed = function () {
    const entry = active ? handling.get(keyOf(arguments[arguments.length - 1])) : undefined;
    if (entry === undefined || entry.in || entry.outerOut) return callback.apply(this, arguments);
    return between(entry, 'in', 'out', nothing, () => callback.apply(this, arguments));
  };
  Object.defineProperty(probed, 'name', { value: callback.name, configurable: true });
  Object.defineProperty(probed, 'length', { value: callback.length, configurable: true });
  ours.add(probed);
  return probed;
}

function hookMcpServer(prototype) {
  for (const name of ['registerTool', 'tool']) {
    const original = prototype[name];
    if (typeof original !== 'function') continue;
    place(prototype, name, function (...args) {
      args[args.length - 1] = authored(args[args.length - 1]);
      return original.apply(this, args);
    });
  }
  const { setToolRequestHandlers, executeToolHandler } = prototype;
  if (typeof setToolRequestHandlers === 'function')
    place(prototype, 'setToolRequestHandlers', function () {
      sdkRegisters += 1;
      try {
        return setToolRequestHandlers.apply(this, arguments);
      } finally {
        sdkRegisters -= 1;
      }
    });
  if (typeof executeToolHandler === 'function')
    place(prototype, 'executeToolHandler', function (tool, args, context) {
      const handler = tool?.handler; // one set by an update is not ours: its caller is timed
      const known = typeof handler !== 'function' || ours.has(handler);
      const entry = known ? undefined : handling.get(keyOf(context));
      if (entry === undefined || entry.in) return executeToolHandler.apply(this, arguments);
      return between(entry, 'in', 'out', nothing, () => executeToolHandler.apply(this, arguments));
    });
  side.hooks |= AUTHOR_HOOK;
}

// --- stdio ---------------------------------------------------------------------------------------

let chunkAt = ZERO; // when the chunk was handed over whose lines are being parsed
let sending = null; // the entry whose reply is being written

function hookReadBuffer(prototype) {
  const { append, readMessage } = prototype;
  place(prototype, 'append', function (chunk) {
    chunkAt = now();
    return append.call(this, chunk);
  });
  place(prototype, 'readMessage', function () {
    const message = readMessage.call(this);
    if (message?.id !== undefined && message.method !== undefined) {
      if (waiting.size >= OPEN_LIMIT) waiting.delete(waiting.keys().next().value);
      const entry = entryFor(message.id, 0);
      entry.read = chunkAt;
      waiting.set(message.id, entry);
    }
    return message;
  });
}

function hookStdio(prototype) {
  const { start, send } = prototype;
  place(prototype, 'start', function () {
    serving();
    return start.apply(this, arguments);
  });
  place(prototype, 'send', function (message) {
    const reply = message?.id !== undefined && message.method === undefined;
    const entry = reply ? waiting.get(message.id) : undefined;
    if (entry === undefined) return send.apply(this, arguments);
    safely('stdout', () => hookOutput(this._stdout ?? process.stdout));
    sending = entry;
    try {
      return send.apply(this, arguments);
    } finally {
      sending = null;
      waiting.delete(message.id);
      safely('record', () => {
        record(CALL, entry);
        flush();
      });
    }
  });
  side.hooks |= STDIO_HOOK;
}

const outputs = new WeakSet();

function hookOutput(stream) {
  if (outputs.has(stream)) return;
  outputs.add(stream);
  const { write } = stream;
  place(stream, 'write', function () {
    if (sending !== null && !sending.writing) sending.writing = now();
    return write.apply(this, arguments);
  });
}

// --- HTTP: node:http, and whatever stands on it --------------------------------------------------

const EXCHANGED = Symbol('mcp-latency');
let httpHooked = false, socketsHooked = false;

function hookHttp() {
  if (httpHooked) return;
  httpHooked = true;
  const net = require('net');
  const channel = require('diagnostics_channel');
  const { listen } = net.Server.prototype;
  place(net.Server.prototype, 'listen', function () {
    if (!side.listening) {
      serving();
      this.once('listening', () => {
        side.listening = side.listening || now();
        writeHeaderOrNothing();
      });
    }
    return listen.apply(this, arguments);
  });
  channel.subscribe('http.server.request.start', (event) => active && requested(event));
  channel.subscribe('http.server.response.finish', (event) => active && responded(event));
  side.hooks |= HTTP_HOOK;
}

function requested({ request, socket }) {
  const start = now();
  if (!socketsHooked) safely('sockets', hookSockets);
  if (request.method !== 'POST') return;
  const entry = entryFor(undefined, HTTP | POST);
  entry.start = start;
  entry.bytesRead = socket.bytesRead;
  entry.port = socket.remotePort ?? 0;
  request[EXCHANGED] = socket[EXCHANGED] = entry;
}

function hookSockets() {
  socketsHooked = true;
  const { IncomingMessage } = require('http');
  const { Socket } = require('net');
  const { push } = IncomingMessage.prototype;
  const { _writeGeneric } = Socket.prototype;
  place(IncomingMessage.prototype, 'push', function (chunk, encoding) {
    // The end of a body that came with its head is told after the server's first steps: too late.
    const entry = chunk === null ? this[EXCHANGED] : undefined;
    if (entry !== undefined && !entry.read)
      entry.read = this.socket?.bytesRead === entry.bytesRead ? entry.start : now();
    return push.call(this, chunk, encoding);
  });
  if (typeof _writeGeneric !== 'function') return;
  place(Socket.prototype, '_writeGeneric', function (writev, data) {
    const entry = this[EXCHANGED];
    if (entry !== undefined && carries(writev, data)) entry.writing = now();
    return _writeGeneric.apply(this, arguments);
  });
}

// Not the terminator of a chunked body, which follows the reply.
function carries(writev, data) {
  if (!writev) return data.length > 5;
  return data.length > 1 || data[0]?.chunk?.length > 5;
}

function responded({ request, socket }) {
  const entry = request[EXCHANGED];
  if (entry === undefined) return;
  if (socket[EXCHANGED] === entry) socket[EXCHANGED] = undefined;
  safely('exchange', () => {
    entry.read = entry.read || entry.start;
    record(EXCHANGE, entry);
    flush();
  });
}

// --- finding the SDK's classes -------------------------------------------------------------------

const SEEN = 'mcp-latency';
const SEE = `globalThis[Symbol.for("${SEEN}")]`;
const SCRIPT = /\.[cm]?js$/;
const SDK = /^(.*[\\/]@modelcontextprotocol[\\/](?:sdk|server|core|node|server-legacy))[\\/]dist[\\/]/;
const NAMES = ['McpServer', 'Server', 'Protocol', 'ReadBuffer', 'StdioServerTransport'];
const METHODS = /\b(?:readMessage|processReadBuffer|setRequestHandler|registerTool)\s*\(/;
const MARK = 'assertRequestHandlerCapability';
const PACKAGES = new Set();
const known = new WeakSet();

// Recognize a class by its methods; each prototype is hooked once.
function adopt(prototype) {
  if (!prototype || prototype === Object.prototype || known.has(prototype)) return;
  known.add(prototype);
  const has = (...names) => names.every((name) => Object.hasOwn(prototype, name));
  if (has('append', 'readMessage')) hookReadBuffer(prototype);
  if (has('processReadBuffer', 'start', 'send')) hookStdio(prototype);
  if (has('setRequestHandler')) hookSetRequestHandler(prototype);
  if (has('registerTool', 'executeToolHandler')) hookMcpServer(prototype);
}

function adoptInstance(instance) {
  let prototype = Object.getPrototypeOf(instance);
  if (known.has(prototype)) return;
  for (; prototype; prototype = Object.getPrototypeOf(prototype)) adopt(prototype);
  if (instance._readBuffer) adoptInstance(instance._readBuffer);
}

// What the added text calls.
const seen = {
  classes: (...found) => safely('classes', () => found.forEach((one) => one && adopt(one.prototype))),
  instance: (one) => safely('instance', () => adoptInstance(one)),
  start: (one) => safely('start', () => (serving(), adoptInstance(one))),
  authored: (callback) => safely('authored', () => authored(callback)) ?? callback,
};

// A module of the SDK: hand over its classes by name, at its end.
function byName(text) {
  if (!METHODS.test(text)) return undefined;
  const found = NAMES.map((name) => `typeof ${name}==="function"&&${name}`);
  return `${text}\n;${SEE}?.classes(${found.join(',')});\n`;
}

// A bundle: names are lost, methods are not. Their first calls hand over the instances.
function byMethod(text) {
  const before = '(?<![.\\w$])', word = '[\\w$]+';
  const insert = (pattern, added) => {
    text = text.replace(new RegExp(before + pattern, 'g'), (all, one) => all + added(one));
  };
  insert('(?:readMessage|processReadBuffer|setToolRequestHandlers)\\s*\\(\\)\\s*\\{', () =>
    `${SEE}?.instance(this);`);
  insert(`${MARK}\\s*\\(\\s*${word}\\s*\\)\\s*\\{`, () => `${SEE}?.instance(this);`);
  insert('async start\\s*\\(\\)\\s*\\{(?=\\s*if\\s*\\(this\\._started\\)[^]{0,60}StdioServerTransport)',
    () => `${SEE}?.start(this);`);
  insert(`registerTool\\s*\\(\\s*${word}\\s*,\\s*${word}\\s*,\\s*(${word})\\s*\\)\\s*\\{`, (callback) =>
    `${callback}=${SEE}?.authored(${callback})??${callback};`);
  insert(`tool\\s*\\(\\s*${word}\\s*,\\s*\\.\\.\\.(${word})\\s*\\)\\s*\\{`, (rest) =>
    `${rest}.push(${SEE}?.authored(${rest}.at(-1))??${rest}.at(-1)),${rest}.splice(-2,1);`);
  return text;
}

// The text to load instead of a module's own; the same where there is nothing to find.
function altered(file, content) {
  try {
    const home = SDK.exec(pathOf(file))?.[1];
    if (home === undefined && !content.includes(MARK)) return content;
    const text = content.toString('utf8');
    const result = home === undefined ? byMethod(text) : byName(text);
    if (result === undefined) return content;
    PACKAGES.add(home ?? '');
    hookHttp();
    return typeof content === 'string' ? result : Buffer.from(result);
  } catch (error) {
    fail('altered', error);
    return content;
  }
}

const pathOf = (file) => (typeof file === 'string' ? file : file?.href);

// Does the module loader read a script? A program that reads one as data gets it as it is.
// Frames: the word Error, this function, the replaced function of fs, its caller.
function forLoader(file) {
  const path = pathOf(file);
  if (typeof path !== 'string' || !SCRIPT.test(path)) return false;
  const { stackTraceLimit, prepareStackTrace } = Error;
  Error.stackTraceLimit = 3;
  Error.prepareStackTrace = undefined;
  const frames = new Error().stack.split('\n');
  Error.stackTraceLimit = stackTraceLimit;
  Error.prepareStackTrace = prepareStackTrace;
  return frames[3]?.includes('node:internal/modules/') ?? false;
}

function sdkVersion() {
  const versions = [];
  for (const home of PACKAGES) {
    try {
      const path = home.startsWith('file:') ? new URL(`${home}/package.json`) : `${home}/package.json`;
      const { name, version } = JSON.parse(readFileSync(path, 'utf8'));
      versions.push(`${name.replace('@modelcontextprotocol/', '')} ${version}`);
    } catch {
      versions.push('bundled');
    }
  }
  return [...new Set(versions)].join(', ');
}

// Node 20 reads ESM through fs.promises, CommonJS through readFileSync; 22 and later read both so.
function install() {
  Object.defineProperty(globalThis, Symbol.for(SEEN), { value: seen, configurable: true });
  fs.readFileSync = function (file) {
    const content = readFileSync.apply(this, arguments);
    return forLoader(file) ? altered(file, content) : content;
  };
  const { readFile } = fs.promises;
  fs.promises.readFile = function (file) {
    const reading = readFile.apply(this, arguments);
    return forLoader(file) ? reading.then((content) => altered(file, content)) : reading;
  };
  process.on('exit', closing);
  if (TOGGLE) process.on('SIGUSR2', toggle);
}

if (PREFIX && require('worker_threads').isMainThread && !globalThis[Symbol.for(SEEN)]) {
  try {
    install();
  } catch (error) {
    fail('install', error);
  }
}
