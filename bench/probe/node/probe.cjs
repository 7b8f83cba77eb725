// Stamps taken inside a Node.js MCP server: loaded by NODE_OPTIONS=--require, unseen by its code.
//
// It adds a line to the SDK's modules while they are loaded, through which their classes become
// known, and hooks those classes' prototypes; for HTTP, node:http and its sockets. A request's
// stamps stay in memory until its reply has gone. They become records of the side file
// MCP_LATENCY_PROBE + pid (layout: `bench/probe/__init__.py`) many at a time: when BUFFERED of them
// wait, FLUSH_MS after the first of these, and at exit. A server that is killed, by SIGTERM too,
// leaves without the records of its last FLUSH_MS.
//
// Rules for every hook: never raise into the server; leave it alone where a name is missing. An
// error is counted in the file's header. A call pays for every closure and property here.
'use strict';

const now = process.hrtime.bigint;
const PROCESS_UP = now();

const fs = require('fs');
const { openSync, writeSync, readFileSync } = fs;
const PREFIX = process.env.MCP_LATENCY_PROBE;
const TOGGLE = process.env.MCP_LATENCY_PROBE_TOGGLE === '1';

// --- the side file ------------------------------------------------------------------------------

const HEADER_BYTES = 256, RECORD_BYTES = 80, SDK_AT = 96, ERROR_AT = 152;
const CAPACITY = 48 * 1024 * 1024, BUFFERED = 64, FLUSH_MS = 20;
const CALL = 1, CALL_ALONE = 2, EXCHANGE = 3, OPEN = 4; // kinds of record
const STRING_ID = 1, AUTHOR = 2, HTTP = 4, POST = 8, TOOL_CALL = 32, SDK_HANDLER = 64; // its flags
const STDIO_HOOK = 1, HTTP_HOOK = 2, HANDLER_HOOK = 4, AUTHOR_HOOK = 8; // bits of hooks and of used
const ZERO = 0n;

const side = {
  fd: -1, tried: false, position: HEADER_BYTES, hooks: 0, used: 0, errors: 0, drops: 0,
  lastError: '', sdk: '', importsDone: ZERO, listening: ZERO, firstRead: ZERO, exit: ZERO,
};
const bytes = Buffer.alloc(BUFFERED * RECORD_BYTES);
const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
const longs = new BigInt64Array(bytes.buffer, bytes.byteOffset, bytes.length / 8);
const pending = []; // entries whose reply has gone
let timer;

// A request's stamps, shared by the hooks that it passes.
class Entry {
  constructor(id, flags) {
    this.id = id;
    this.flags = flags;
    this.read = this.outerIn = this.in = this.out = this.outerOut = this.writing = ZERO;
    this.port = 0;
    this.bytesRead = 0;
    this.key = undefined;
    this.kind = 0;
  }
}

// Called after the reply has left. Most calls pay for no more than this: the rest is done for many.
function record(kind, entry) {
  entry.kind = kind;
  pending.push(entry);
  if (pending.length === BUFFERED) flush();
  else if (pending.length === 1) flushSoon();
}

function put(entry, index) {
  const word = index * (RECORD_BYTES / 4), long = index * (RECORD_BYTES / 8);
  const own = entry.in !== ZERO;
  const flags = entry.flags | (own ? AUTHOR : 0) | numbered(entry.id, word, long);
  words[word] = entry.kind | (flags << 8) | (entry.port << 16);
  longs[long + 2] = entry.read;
  longs[long + 3] = entry.outerIn;
  longs[long + 4] = own ? entry.in : entry.outerIn;
  longs[long + 5] = own ? entry.out : entry.outerOut;
  longs[long + 6] = entry.outerOut;
  longs[long + 7] = entry.writing;
  const used = side.used | usedBy(flags, entry);
  if (used !== side.used || (side.firstRead === ZERO && entry.read !== ZERO)) firstUse(used, entry);
}

// An id that is no whole number is kept as its first eight bytes.
function numbered(id, word, long) {
  if (typeof id === 'number' && id >= 0 && Number.isSafeInteger(id)) {
    words[word + 2] = id;
    words[word + 3] = id / 4294967296;
    return 0;
  }
  longs[long + 1] = ZERO;
  if (id === undefined) return 0; // HTTP, where the exchange does not know it
  bytes.write(String(id), long * 8 + 8, 8, 'utf8');
  return STRING_ID;
}

function usedBy(flags, entry) {
  const wire = flags & HTTP ? (entry.kind === EXCHANGE ? HTTP_HOOK : 0) : STDIO_HOOK;
  const handler = entry.outerIn === ZERO ? 0 : HANDLER_HOOK;
  return wire | handler | (flags & AUTHOR ? AUTHOR_HOOK | HANDLER_HOOK : 0);
}

function firstUse(used, entry) {
  side.used = used;
  side.firstRead = side.firstRead || entry.read;
  writeHeader();
}

function flushSoon() {
  if (timer === undefined) timer = setTimeout(flush, FLUSH_MS).unref();
  else timer.refresh();
}

function flush() {
  const count = pending.length;
  if (count === 0) return;
  try {
    pending.forEach(put);
    open();
    const size = count * RECORD_BYTES;
    if (side.fd < 0 || side.position + size > CAPACITY) lose(count);
    else side.position += writeSync(side.fd, bytes, 0, size, side.position);
  } catch (error) {
    lose(count);
    fail('flush', error);
  } finally {
    pending.length = 0;
  }
}

function lose(count) {
  side.drops += count;
  writeHeader();
}

function open() {
  if (side.tried) return;
  side.tried = true;
  try {
    side.fd = openSync(PREFIX + process.pid, 'w', 0o600);
    side.sdk = sdkVersion();
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
  open();
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
  try {
    writeSync(side.fd, header, 0, HEADER_BYTES, 0);
  } catch {
    side.fd = -1; // the disk is full: nothing may reach the server
  }
}

function fail(where, error) {
  side.errors += 1;
  side.lastError = `${where}: ${error}`;
  writeHeader();
}

function safely(where, action) {
  try {
    return action();
  } catch (error) {
    fail(where, error);
    return undefined;
  }
}

// The SDK starts serving: imports are done.
function serving() {
  const at = now();
  if (side.importsDone) return;
  side.importsDone = at;
  writeHeader();
}

function closing() {
  for (const entry of waiting.values()) record(OPEN, entry);
  flush();
  side.exit = now();
  if (side.tried) writeHeader(); // else no server: no file
}

// --- hooks: put in place, taken off and put back by SIGUSR2 ---------------------------------------

let active = true; // for wrappers that the SDK keeps: they cannot be taken off
const placed = [];

function place(target, name, value) {
  const theirs = target[name];
  const own = Object.getOwnPropertyDescriptor(target, name);
  const enumerable = own?.enumerable ?? false;
  Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable });
  const hook = { put: () => (target[name] = value), take: () => (target[name] = theirs) };
  placed.push(hook);
  return hook;
}

// For good: what is hooked further out needs no hook further in.
function displace(hook) {
  hook.take();
  placed.splice(placed.indexOf(hook), 1);
}

function listenTo(name, listener) {
  const { subscribe, unsubscribe } = require('diagnostics_channel');
  subscribe(name, listener);
  placed.push({ put: () => subscribe(name, listener), take: () => unsubscribe(name, listener) });
}

function toggle() {
  active = !active;
  if (active) waiting.clear(); // what was left open when the hooks went
  for (const { put, take } of placed) (active ? put : take)();
}

// --- entered and left: the SDK's handler, and inside it the author's function --------------------

const OPEN_LIMIT = 4096; // requests without a reply that are remembered
const waiting = new Map(); // stdio: request id -> entry, until its reply has gone
const handling = new Map(); // what a tool call's contexts have in common -> entry, until it is left
const OURS = Symbol('mcp-latency');
let inside = false; // in a setRequestHandler of ours: what it calls is already hooked
let sdkRegisters = 0; // in McpServer: the handler being set is the SDK's own

const keyOf = (context) => context?.mcpReq ?? context?.signal;

// The entry of the tool call that is about to be handled; a new one over HTTP.
function opened(context, flags) {
  const id = context?.requestId ?? context?.mcpReq?.id;
  let entry = waiting.get(id);
  if (entry === undefined || entry.outerIn !== ZERO) entry = new Entry(id, HTTP | POST);
  entry.flags |= flags | TOOL_CALL;
  entry.key = keyOf(context);
  remember(handling, entry.key, entry);
  return entry;
}

function remember(map, key, entry) {
  if (map.size >= OPEN_LIMIT) map.delete(map.keys().next().value);
  map.set(key, entry);
}

function leftHandler(entry) {
  entry.outerOut = now();
  handling.delete(entry.key);
  if (entry.flags & HTTP) record(CALL_ALONE, entry); // goes out with the exchange that follows
}

function leftAuthor(entry) {
  entry.out = now();
}

// Stamp when the result is there. The promise itself is handed on: no tick is added.
function whenDone(result, entry, left) {
  if (result instanceof Promise) {
    const settled = () => left(entry);
    result.then(settled, settled);
  } else if (typeof result?.then === 'function') return false; // a thenable: not touched
  else left(entry);
  return true;
}

function handlerOf(method, handler) {
  const flags = sdkRegisters > 0 ? SDK_HANDLER : 0;
  return function probed(request, context) {
    const called = active && (typeof method === 'string' || request?.method === 'tools/call');
    if (!called) return handler.apply(this, arguments);
    const entry = opened(context, flags);
    entry.outerIn = now();
    let result;
    try {
      result = handler.apply(this, arguments);
    } catch (error) {
      leftHandler(entry);
      throw error;
    }
    if (!whenDone(result, entry, leftHandler)) entry.outerIn = ZERO;
    return result;
  };
}

const registering = new Map(); // prototype -> hook of its setRequestHandler

function hookSetRequestHandler(prototype) {
  const parent = Object.getPrototypeOf(prototype);
  if (registering.has(parent)) displace(registering.get(parent)); // ours is called before it
  registering.delete(parent);
  const original = prototype.setRequestHandler;
  // v1: (schema, handler), where only the request tells the method. v2: (method, …, handler).
  const hook = place(prototype, 'setRequestHandler', function setRequestHandler(method) {
    if (inside || (typeof method === 'string' && method !== 'tools/call'))
      return original.apply(this, arguments);
    const args = [...arguments];
    const last = args.length - 1;
    if (typeof args[last] === 'function') args[last] = handlerOf(method, args[last]);
    inside = true;
    try {
      return original.apply(this, args);
    } finally {
      inside = false;
    }
  });
  registering.set(prototype, hook);
  side.hooks |= HANDLER_HOOK;
}

// The author's function between its two stamps. Its context is its last argument.
function authored(callback) {
  if (typeof callback !== 'function' || callback[OURS]) return callback;
  const probed = function (_args, _context) {
    const entry = active ? handling.get(keyOf(arguments[arguments.length - 1])) : undefined;
    if (entry === undefined || entry.in !== ZERO) return callback.apply(this, arguments);
    entry.in = now();
    let result;
    try {
      result = callback.apply(this, arguments);
    } catch (error) {
      leftAuthor(entry);
      throw error;
    }
    if (!whenDone(result, entry, leftAuthor)) entry.in = ZERO;
    return result;
  };
  probed[OURS] = true;
  return probed;
}

// v2 calls the author's function from this method and does no more in it; v1 does, and there the
// function is wrapped when its tool is first called.
function hookMcpServer(prototype) {
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
  place(prototype, 'executeToolHandler', function (tool, args, context) {
    if (tool.executor === undefined) {
      wrap(tool);
      return executeToolHandler.call(this, tool, args, context);
    }
    const entry = handling.get(keyOf(context));
    if (entry === undefined || entry.in !== ZERO)
      return executeToolHandler.call(this, tool, args, context);
    entry.in = now();
    const result = executeToolHandler.call(this, tool, args, context);
    if (!whenDone(result, entry, leftAuthor)) entry.in = ZERO;
    return result;
  });
  side.hooks |= AUTHOR_HOOK;
}

function wrap(tool) {
  try {
    tool.handler = authored(tool.handler);
  } catch (error) {
    fail('tool', error);
  }
}

// --- stdio ---------------------------------------------------------------------------------------

let chunkAt = ZERO; // when the chunk was handed over whose lines are being parsed
let sending; // the entry whose reply is being written
let output; // the stream that replies are written to

function hookReadBuffer(prototype) {
  const { append, readMessage } = prototype;
  place(prototype, 'append', function (chunk) {
    chunkAt = now();
    return append.call(this, chunk);
  });
  place(prototype, 'readMessage', function () {
    const message = readMessage.call(this);
    if (message?.id !== undefined && message.method !== undefined) {
      const entry = new Entry(message.id, 0);
      entry.read = chunkAt;
      remember(waiting, message.id, entry);
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
    const stream = this._stdout ?? process.stdout;
    if (stream !== output) safely('stdout', () => hookOutput(stream));
    sending = entry;
    try {
      return send.apply(this, arguments);
    } finally {
      sending = undefined;
      waiting.delete(message.id);
      record(CALL, entry);
    }
  });
  side.hooks |= STDIO_HOOK;
}

const outputs = new WeakSet();

function hookOutput(stream) {
  output = stream;
  if (outputs.has(stream)) return;
  outputs.add(stream);
  const { write } = stream;
  place(stream, 'write', function () {
    if (sending !== undefined && sending.writing === ZERO) sending.writing = now();
    return write.apply(this, arguments);
  });
}

// --- HTTP: node:http, and whatever stands on it --------------------------------------------------

const EXCHANGED = Symbol('mcp-latency');
let httpHooked = false, socketsHooked = false;

function hookHttp() {
  if (httpHooked) return;
  httpHooked = true;
  const { prototype } = require('net').Server;
  const { listen } = prototype;
  place(prototype, 'listen', function () {
    if (!side.listening) {
      serving();
      this.once('listening', () => {
        side.listening = side.listening || now();
        writeHeader();
      });
    }
    return listen.apply(this, arguments);
  });
  listenTo('http.server.request.start', requested);
  listenTo('http.server.response.finish', responded);
  side.hooks |= HTTP_HOOK;
}

// `read` is the start, unless more is read from the socket before the body is complete.
function requested({ request, socket }) {
  const start = now();
  if (!socketsHooked) safely('sockets', hookSockets);
  if (request.method !== 'POST') return;
  const entry = new Entry(undefined, HTTP | POST);
  entry.read = start;
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
    if (chunk === null) {
      const entry = this[EXCHANGED];
      if (entry !== undefined && this.socket?.bytesRead !== entry.bytesRead) entry.read = now();
    }
    return push.call(this, chunk, encoding);
  });
  if (typeof _writeGeneric !== 'function') return;
  place(Socket.prototype, '_writeGeneric', function (writev, data, encoding, callback) {
    const entry = this[EXCHANGED];
    if (entry !== undefined && carries(writev, data)) entry.writing = now();
    return _writeGeneric.call(this, writev, data, encoding, callback);
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
  record(EXCHANGE, entry);
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
