"""A server on the Python SDK 2 with an OpenTelemetry tracer provider, as its documents say."""

import sys
import time

from mcp.server.mcpserver import MCPServer
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

SPIN_NS = 3_000_000

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
server: MCPServer[dict[str, object]] = MCPServer("sends_spans", version="1", log_level="ERROR")


@server.tool(structured_output=False)
async def echo(text: str = "") -> str:
    """Spin, then give the text back."""
    began_ns = time.perf_counter_ns()
    while time.perf_counter_ns() - began_ns < SPIN_NS:
        pass
    return text


if len(sys.argv) > 1:
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
else:
    server.run("stdio")
