# mypy: ignore-errors
"""Stamps taken inside a Python MCP server: loaded by its interpreter, unseen by its code.

Found first on PYTHONPATH as `sitecustomize`, before any other module. It hooks the SDK's modules
while they are imported, keeps the stamps of each request in memory, and writes one record after
the reply has gone to the side file MCP_LATENCY_PROBE + pid (layout: `bench/probe/__init__.py`).

Rules for every hook: resolve all names first, then patch; never raise into the server; leave the
server alone where a name is missing. An error is counted in the file's header. A call pays for
every frame, closure and coroutine here: what can wait is done after its reply has gone.
"""

from time import perf_counter_ns as clock

PROCESS_UP = clock()

import os  # noqa: E402  (process_up is the first thing that happens)
import sys  # noqa: E402
from _contextvars import ContextVar  # noqa: E402
from _struct import Struct  # noqa: E402
from itertools import count  # noqa: E402

PREFIX = os.environ.get("MCP_LATENCY_PROBE", "")
TOGGLE = os.environ.get("MCP_LATENCY_PROBE_TOGGLE") == "1"

# --- the side file -------------------------------------------------------------------------------

HEADER = Struct("<8sHHHHIIIIII7q")
RECORD = Struct("<I4x7q")  # kind, flags and port in one; what follows stays 0
HEADER_BYTES, RECORD_BYTES, SDK_AT, ERROR_AT = 256, 80, 96, 152
MAGIC, FORMAT, PYTHON = b"mcplprb\0", 1, 1
CAPACITY, GROWTH = 48 << 20, 1 << 20

CALL, CALL_ALONE, EXCHANGE, OPEN = 1, 2, 3, 4  # kinds of record
STRING_ID, AUTHOR, HTTP, POST, TOOL_CALL, SDK_HANDLER = 1, 2, 4, 8, 32, 64  # flags of a record
STDIO_HOOK, HTTP_HOOK, HANDLER_HOOK, AUTHOR_HOOK = 1, 2, 4, 8  # bits of hooks and of used

pack = RECORD.pack_into

# A request's stamps, in a list that the hooks share.
READ, OUTER_IN, IN, OUT, OUTER_OUT, WRITING, ID, PORT, FLAGS, ALONE = range(10)


class SideFile:
    """One mapped file per process, opened when a server begins to serve, grown in steps."""

    def __init__(self):
        self.forget()

    def forget(self):
        """Start anew: also in a forked child, which must not write into its parent's file."""
        self.map = None
        self.tried = False
        self.reserved = 0
        self.places = count(HEADER_BYTES, RECORD_BYTES)
        self.known = set()  # kinds and flags of the records so far
        self.hooks = self.used = self.errors = self.drops = 0
        self.imports_done = self.listening = self.first_read = self.exit = 0
        self.last_error = ""

    def open(self):
        if self.tried:
            return
        self.tried = True
        try:
            import mmap

            mode = os.O_RDWR | os.O_CREAT | os.O_TRUNC | getattr(os, "O_CLOEXEC", 0)
            self.fd = os.open(PREFIX + str(os.getpid()), mode, 0o600)
            os.ftruncate(self.fd, CAPACITY)
            self.reserve()
            self.map = mmap.mmap(self.fd, CAPACITY)
            sdk = installed_sdks().encode()[: ERROR_AT - SDK_AT - 1]
            self.map[SDK_AT : SDK_AT + len(sdk)] = sdk
            self.write_header()
        except Exception:
            self.map = None

    def reserve(self):
        """Allocate the next piece: a write into a hole of a full disk would kill the server."""
        size = min(GROWTH, CAPACITY - self.reserved)
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(self.fd, self.reserved, size)
        self.reserved += size

    def write_header(self):
        if self.map is None:
            return
        numbers = (FORMAT, HEADER_BYTES, RECORD_BYTES, PYTHON, os.getpid(), self.hooks, self.used)
        times = (PROCESS_UP, self.imports_done, self.listening, self.first_read, self.exit, 0, 0)
        HEADER.pack_into(self.map, 0, MAGIC, *numbers, self.errors, self.drops, 0, *times)
        if self.last_error:
            text = self.last_error.encode("utf-8", "replace")[: HEADER_BYTES - ERROR_AT - 1]
            self.map[ERROR_AT : ERROR_AT + len(text)] = text

    def record(self, kind, entry):
        """Write one request's stamps. Called after the reply has left; never raises."""
        try:
            if self.map is None:
                self.open()
                if self.map is None:
                    return
            at = next(self.places)
            if at + RECORD_BYTES > self.reserved and not self.grown(at + RECORD_BYTES):
                return
            read, outer_in, entered, left, outer_out, writing, number, port, flags, _ = entry
            if entered:
                flags |= AUTHOR
            else:
                entered, left = outer_in, outer_out
            if number.__class__ is not int:
                number, flags = packed_id(number, flags)
            form = kind | flags << 8
            head = form | port << 16
            pack(self.map, at, head, number, read, outer_in, entered, left, outer_out, writing)
            if form not in self.known:
                self.first_of(kind, flags, read)
        except Exception as error:
            self.fail("record", error)

    def first_of(self, kind, flags, read):
        """Tell in the header which hooks have been seen at work."""
        self.known.add(kind | flags << 8)
        if kind != CALL_ALONE:
            self.used |= HTTP_HOOK if flags & HTTP else STDIO_HOOK
        if flags & TOOL_CALL:
            self.used |= HANDLER_HOOK
        if flags & AUTHOR:
            self.used |= AUTHOR_HOOK
        self.first_read = self.first_read or read
        self.write_header()

    def grown(self, end):
        while self.reserved < end:
            try:
                if end > CAPACITY:
                    raise OSError("the side file is full")
                self.reserve()
            except OSError:
                self.drops += 1
                self.write_header()
                return False
        return True

    def fail(self, where, error):
        """Count an error of ours; the server goes on."""
        try:
            self.errors += 1
            self.last_error = f"{where}: {type(error).__name__}: {error}"
            self.open()
            self.write_header()
        except Exception:  # nothing may reach the server
            self.map = None

    def serving(self):
        """The SDK starts serving: imports are done."""
        now = clock()
        if not self.imports_done:
            self.imports_done = now
            self.open()
            self.write_header()

    def close(self):
        for entry in list(waiting.values()):
            self.record(OPEN, entry)
        self.exit = clock()
        self.write_header()


def packed_id(number, flags):
    """A string id as its first eight bytes; an absent id (HTTP, not a tool call) as zero."""
    if number is None:
        return 0, flags
    text = str(number).encode("utf-8", "replace")[:8].ljust(8, b"\0")
    return int.from_bytes(text, "little", signed=True), flags | STRING_ID


def installed_sdks():
    """Names and versions, from the folders that installers leave beside the packages."""
    names = []
    for package in ("mcp", "fastmcp"):
        module = sys.modules.get(package)
        if module is None or not getattr(module, "__file__", None):
            continue
        for entry in os.listdir(os.path.dirname(os.path.dirname(module.__file__))):
            if entry.startswith(package + "-") and entry.endswith(".dist-info"):
                names.append(entry[: -len(".dist-info")].replace("-", " "))
    return ", ".join(names)


side = SideFile()
waiting = {}  # stdio: request id -> entry, until its reply has gone
current = ContextVar("mcp_latency_probe", default=None)  # the entry of the request being handled
EXCHANGE_KEY, KEPT = "mcp_latency.probe", "_mcp_latency_probe"  # in a scope, on a server
MISSING = object()
placed = []  # every hook: (object, attribute, ours, theirs); what SIGUSR2 takes off and puts on
active = True  # for wrappers that the SDK keeps: they cannot be taken off


def place(target, name, value):
    placed.append((target, name, value, vars(target).get(name, MISSING)))
    setattr(target, name, value)


# --- entered and left: the SDK's handler, and inside it the author's function ---------------------


def origin(handler):
    """A flag for handlers of the SDK itself: the author's function is further in."""
    module = getattr(handler, "__module__", None) or ""
    return SDK_HANDLER if module.startswith(("mcp.", "fastmcp.")) else 0


def opened(request_id, request, flags):
    """The entry of a tool call that is about to be handled; a fresh one where none was read."""
    try:
        if request is None:
            entry = waiting.get(request_id)
        else:
            entry = request.scope.get(EXCHANGE_KEY)
            flags |= HTTP | POST
        if entry is None or entry[OUTER_IN]:
            entry = [0, 0, 0, 0, 0, 0, None, 0, 0, True]
        entry[ID] = request_id
        entry[FLAGS] |= flags | TOOL_CALL
    except Exception as error:
        side.fail("opened", error)
        entry = [0, 0, 0, 0, 0, 0, request_id, 0, TOOL_CALL, True]
    current.set(entry)  # in the request's own context; once it is left it counts no more
    entry[OUTER_IN] = clock()
    return entry


def left(entry):
    entry[OUTER_OUT] = clock()
    if entry[ALONE]:  # nobody holds this entry until the reply goes
        side.record(CALL_ALONE, entry)


def awaiting():
    """The entry of the tool call whose author's function has not been entered; or None."""
    entry = current.get()
    return None if entry is None or entry[IN] or entry[OUTER_OUT] else entry


def timed(function, is_async):
    """The author's function between its two stamps. The outermost of a request counts."""
    if is_async:

        async def probed(*args, **kwargs):
            entry = awaiting()
            if entry is None:
                return await function(*args, **kwargs)
            entry[IN] = clock()
            try:
                return await function(*args, **kwargs)
            finally:
                entry[OUT] = clock()
    else:

        def probed(*args, **kwargs):
            entry = awaiting()
            if entry is None:
                return function(*args, **kwargs)
            entry[IN] = clock()
            try:
                return function(*args, **kwargs)
            finally:
                entry[OUT] = clock()

    return probed


def hook_handlers(module):
    """`mcp.server.lowlevel.server`: the handler of tools/call, in 2.x and in 1.x."""
    server = module.Server
    if hasattr(server, "get_request_handler"):
        hook_entries(server, module.HandlerEntry)
    else:
        hook_decorator(server, module.request_ctx)
    side.hooks |= HANDLER_HOOK


def hook_entries(server, entry_class):
    """2.x: hand out a copy of the registered entry, kept on the server beside the original."""
    find = server.get_request_handler

    def get_request_handler(self, method):
        entry = find(self, method)
        if method != "tools/call" or entry is None:
            return entry
        kept = self.__dict__.get(KEPT)
        return kept[1] if kept is not None and kept[0] is entry else keep(self, entry)

    def keep(self, entry):
        try:
            ours = entry_class(entry.params_type, around(entry.handler))
            self.__dict__[KEPT] = (entry, ours)
            return ours
        except Exception as error:
            side.fail("get_request_handler", error)
            return entry

    def around(handler):
        flags = origin(handler)

        async def probed(ctx, params):
            entry = opened(ctx.request_id, ctx.request, flags)
            try:
                return await handler(ctx, params)
            finally:
                left(entry)

        return probed

    place(server, "get_request_handler", get_request_handler)


def hook_decorator(server, request_ctx):
    """1.x: register a wrapped function, give the author his own back."""
    register = server.call_tool

    def call_tool(self, *args, **kwargs):
        decorate = register(self, *args, **kwargs)

        def decorator(function):
            decorate(around(function))
            return function

        return decorator

    def around(function):
        from functools import wraps

        flags = origin(function)

        @wraps(function)
        async def probed(*args, **kwargs):
            context = request_ctx.get(None) if active else None
            if context is None:
                return await function(*args, **kwargs)
            entry = opened(context.request_id, getattr(context, "request", None), flags)
            try:
                return await function(*args, **kwargs)
            finally:
                left(entry)

        return probed

    place(server, "call_tool", call_tool)


def hook_call_fn(module):
    """`func_metadata` of MCPServer (2.x) and FastMCP (1.x): the function, after validation."""
    owner = module.FuncMetadata
    name = "call_fn" if hasattr(owner, "call_fn") else "call_fn_with_arg_validation"
    call = getattr(owner, name)

    def probed(self, fn, fn_is_async, *args, **kwargs):
        return call(self, timed(fn, fn_is_async), fn_is_async, *args, **kwargs)

    place(owner, name, probed)
    side.hooks |= AUTHOR_HOOK


def hook_function_tool(module):
    """FastMCP (the package): replace each tool's function once, by a wrapper of the same kind.

    The wrapper is kept per function: FastMCP caches its validators by the function's identity.
    Generator tools stay as they are: their body runs after the function has returned.
    """
    from functools import wraps
    from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction

    owner = module.FunctionTool
    if owner.__module__ != module.__name__:
        return  # imported from the module that defines it, and hooked there
    run = owner.run
    wrappers = {}

    def wrapped(fn):
        kept = wrappers.get(fn)
        if kept is None:
            kept = wrappers[fn] = wraps(fn)(timed(fn, iscoroutinefunction(fn)))
            wrappers[kept] = kept
        return kept

    def probed(self, *args, **kwargs):
        try:
            fn = self.__dict__["fn"]
            if not (isgeneratorfunction(fn) or isasyncgenfunction(fn)):
                self.__dict__["fn"] = wrapped(fn)
        except Exception as error:
            side.fail("FunctionTool.run", error)
        return run(self, *args, **kwargs)

    place(owner, "run", probed)
    side.hooks |= AUTHOR_HOOK


# --- stdio: lines read and written by the SDK's text layer ----------------------------------------

REPLY = '{"jsonrpc":"2.0","id":'
REPLY_LENGTH = len(REPLY)
CHUNK = 8192  # the text layer hands longer texts on at once, shorter ones when flushed
OPEN_LIMIT = 4096  # requests without a reply that are remembered


def hook_stdio(module):
    """`mcp.server.stdio`: the text layer, and the class that wraps each parsed line."""
    name = "_UnownedTextWrapper" if hasattr(module, "_UnownedTextWrapper") else "TextIOWrapper"
    base = getattr(module, name)
    message_class = getattr(module, "SessionMessage", None)
    last_read = [0]
    base_readline, base_write, base_flush = base.readline, base.write, base.flush

    class Text(base):
        def __init__(self, *args, **kwargs):
            base.__init__(self, *args, **kwargs)
            self.line, self.early = None, 0
            side.serving()

    def readline(self, *args):
        line = base_readline(self, *args)
        last_read[0] = clock()
        return line

    def write(self, text):
        self.line = text
        if text.__class__ is str and len(text) * 4 >= CHUNK and leaves_at_once(text):
            self.early = clock()
        return base_write(self, text)

    def flush(self):
        now = clock()
        result = base_flush(self)
        text = self.line
        if text is not None:
            self.line = None
            replied(text, self.early or now)
            self.early = 0
        return result

    place(module, name, Text)
    if message_class is None:
        return  # before 1.9 lines carry no id that we could see: the start is still stamped

    class Meta(type(message_class)):
        def __call__(cls, *args, **kwargs):
            message = message_class(*args, **kwargs)
            arrived(message, last_read[0])
            return message

    place(Text, "readline", readline)
    place(Text, "write", write)
    place(Text, "flush", flush)
    place(module, "SessionMessage", Meta("SessionMessage", (message_class,), {}))
    side.hooks |= STDIO_HOOK


def leaves_at_once(text):
    size = len(text)
    return size >= CHUNK or (not text.isascii() and len(text.encode("utf-8", "replace")) >= CHUNK)


def arrived(message, read):
    """A line was parsed. `__dict__` and not attributes: a miss on a pydantic model costs 10 µs."""
    try:
        fields = message.message.__dict__
        if "root" in fields:  # 1.x
            fields = fields["root"].__dict__
        request_id = fields.get("id")
        if request_id is None or "method" not in fields:
            return
        if len(waiting) >= OPEN_LIMIT:
            del waiting[next(iter(waiting))]
        waiting[request_id] = [read, 0, 0, 0, 0, 0, request_id, 0, 0, False]
    except Exception as error:
        side.fail("arrived", error)


def replied(text, writing):
    """A line has gone. Only a reply has this form; requests and notifications of ours do not."""
    try:
        if text[:REPLY_LENGTH] != REPLY:
            return
        if text[REPLY_LENGTH] == '"':
            end = text.find('"', REPLY_LENGTH + 1) + 1
            request_id = text[REPLY_LENGTH + 1 : end - 1]
        else:
            end = text.find(",", REPLY_LENGTH)
            request_id = int(text[REPLY_LENGTH:end])
        if text[end : end + 3] in (',"r', ',"e'):  # result, error; not method
            entry = waiting.pop(request_id, None)
            if entry is not None:
                entry[WRITING] = writing
                side.record(CALL, entry)
    except Exception as error:
        side.fail("replied", error)


# --- HTTP: uvicorn's two protocols ----------------------------------------------------------------


class Stamped:
    """A connection's transport, lent to one exchange: stamps what is handed to the system."""

    def __init__(self, transport, entry, finish):
        self.write_on = transport.write
        self.transport, self.entry, self.finish = transport, entry, finish

    def __getattr__(self, name):
        return getattr(self.transport, name)

    def write(self, data):
        if len(data) > 5 or not self.entry[WRITING]:  # five bytes end a chunked body
            self.entry[WRITING] = clock()
        self.write_on(data)

    def finished(self):
        """The response is complete. A call still running (HTTP+SSE, 202) gets its own record."""
        self.finish()
        entry = self.entry
        if entry[OUTER_OUT]:
            side.record(CALL, entry)
        else:
            entry[ALONE] = True
            alone = [entry[READ], 0, 0, 0, 0, entry[WRITING], None, entry[PORT], HTTP | POST, False]
            side.record(EXCHANGE, alone)


def hook_uvicorn(module):
    """`h11_impl` or `httptools_impl`: when a body is complete, and each piece handed to the system.

    The application's task starts after `data_received` has returned. The entry travels in the
    request's scope, so the tool call finds it, whatever task runs it.
    """
    protocol = getattr(module, "H11Protocol", None) or module.HttpToolsProtocol
    receive = protocol.data_received

    def data_received(self, data):
        read = clock()
        receive(self, data)
        try:
            cycle = self.cycle
            if cycle is None or cycle.more_body or cycle.transport is not self.transport:
                return  # no request, not its end, or its end was seen before
            if cycle.scope["method"] == "POST" and not cycle.response_complete:
                port = self.client[1] if self.client else 0
                entry = [read, 0, 0, 0, 0, 0, None, port, HTTP | POST, False]
                stamped = Stamped(cycle.transport, entry, cycle.on_response)
                cycle.scope[EXCHANGE_KEY] = entry
                cycle.transport, cycle.on_response = stamped, stamped.finished
        except Exception as error:
            side.fail("data_received", error)

    lose = protocol.connection_lost

    def connection_lost(self, exc):
        """A client that gave up: what still runs for it is recorded when it ends."""
        lose(self, exc)
        try:
            cycle = self.cycle
            entry = None if cycle is None else cycle.scope.get(EXCHANGE_KEY)
            if entry is not None and entry[OUTER_IN] and not entry[OUTER_OUT]:
                entry[ALONE] = True
        except Exception as error:
            side.fail("connection_lost", error)

    place(protocol, "data_received", data_received)
    place(protocol, "connection_lost", connection_lost)
    side.hooks |= HTTP_HOOK


def hook_startup(module):
    """`uvicorn.server`: the application is imported and begins to listen."""
    owner = module.Server
    startup = owner.startup

    async def probed(self, *args, **kwargs):
        if "mcp.server" not in sys.modules:
            return await startup(self, *args, **kwargs)
        side.serving()
        result = await startup(self, *args, **kwargs)
        side.listening = clock()
        side.write_header()
        return result

    place(owner, "startup", probed)


# --- loading --------------------------------------------------------------------------------------

HOOKS = {
    "mcp.server.stdio": hook_stdio,
    "mcp.server.lowlevel.server": hook_handlers,
    "mcp.server.mcpserver.utilities.func_metadata": hook_call_fn,
    "mcp.server.fastmcp.utilities.func_metadata": hook_call_fn,
    "fastmcp.tools.tool": hook_function_tool,
    "fastmcp.tools.function_tool": hook_function_tool,
    "uvicorn.protocols.http.h11_impl": hook_uvicorn,
    "uvicorn.protocols.http.httptools_impl": hook_uvicorn,
    "uvicorn.server": hook_startup,
}


class Finder:
    """Lets the other finders find; a module of ours is hooked right after its body has run."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        hook = HOOKS.get(name)
        if hook is None:
            return None
        for finder in sys.meta_path:
            if finder is Finder or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                watch(spec.loader, hook)
                return spec
        return None


def watch(loader, hook):
    try:
        execute = loader.exec_module

        def exec_module(module):
            del loader.exec_module
            execute(module)
            try:
                hook(module)
            except Exception as error:
                side.fail("hook " + module.__name__, error)

        loader.exec_module = exec_module
    except Exception as error:
        side.fail("watch", error)


def switch(*_):
    """SIGUSR2: take every hook off, or put all on again."""
    global active
    active = not active
    if active:
        waiting.clear()  # what was left open when the hooks went
    for target, name, ours, theirs in placed:
        if active:
            setattr(target, name, ours)
        elif theirs is MISSING:
            delattr(target, name)
        else:
            setattr(target, name, theirs)


def install():
    import atexit

    sys.mcp_latency_probe = True
    sys.meta_path.insert(0, Finder)
    atexit.register(side.close)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=forked)
    if TOGGLE:
        import signal

        signal.signal(signal.SIGUSR2, switch)


def forked():
    hooks = side.hooks
    waiting.clear()
    side.forget()
    side.hooks = hooks


def hand_on():
    """Run the sitecustomize that we hide, as if it had been found; its errors are its own."""
    from _frozen_importlib import module_from_spec
    from _frozen_importlib_external import PathFinder

    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if not same(entry, here)]
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    hidden = sys.modules["sitecustomize"] = module_from_spec(spec)
    spec.loader.exec_module(hidden)


def same(entry, folder):
    return bool(entry) and os.path.abspath(entry) == folder


if PREFIX and not hasattr(sys, "mcp_latency_probe"):
    try:
        install()
    except Exception as failure:
        side.fail("install", failure)
hand_on()
