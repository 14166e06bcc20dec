"""A real OTLP receiver in the test's process: HTTP and gRPC, as a Collector takes them, the protobuf kept."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
    from opentelemetry.proto.trace.v1.trace_pb2 import Span


class Receiver:
    """What arrived: `bodies` as bytes on the wire, `spans` and `metrics` as protobuf, `scopes` as (name, version)."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.spans: list[Span] = []
        self.metrics: list[Metric] = []
        self.scopes: set[tuple[str, str]] = set()
        self._lock = threading.Lock()
        self.refusing = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        self._serve_grpc()

    @property
    def http_endpoint(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1/traces"

    @property
    def http_metrics_endpoint(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1/metrics"

    @property
    def grpc_endpoint(self) -> str:
        return f"http://127.0.0.1:{self._grpc_port}"

    def _serve_grpc(self) -> None:
        # Imported here: every test run loads this plugin, and few need it.
        import grpc
        from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2, metrics_service_pb2_grpc
        from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc

        class Servicer(trace_service_pb2_grpc.TraceServiceServicer):
            def Export(self, request: Any, context: Any) -> Any:
                receiver.take(request)
                return trace_service_pb2.ExportTraceServiceResponse()

        class MetricsServicer(metrics_service_pb2_grpc.MetricsServiceServicer):
            def Export(self, request: Any, context: Any) -> Any:
                receiver.take_metrics(request)
                return metrics_service_pb2.ExportMetricsServiceResponse()

        receiver = self
        self._grpc = grpc.server(ThreadPoolExecutor(max_workers=2))
        trace_service_pb2_grpc.add_TraceServiceServicer_to_server(  # type: ignore[no-untyped-call]
            Servicer(), self._grpc
        )
        metrics_service_pb2_grpc.add_MetricsServiceServicer_to_server(  # type: ignore[no-untyped-call]
            MetricsServicer(), self._grpc
        )
        self._grpc_port = self._grpc.add_insecure_port("127.0.0.1:0")
        self._grpc.start()

    def take(self, request: Any) -> None:
        with self._lock:
            self.bodies.append(request.SerializeToString())
            for resource in request.resource_spans:
                for scope in resource.scope_spans:
                    self.scopes.add((scope.scope.name, scope.scope.version))
                    self.spans.extend(scope.spans)

    def take_metrics(self, request: Any) -> None:
        with self._lock:
            self.bodies.append(request.SerializeToString())
            for resource in request.resource_metrics:
                for scope in resource.scope_metrics:
                    self.scopes.add((scope.scope.name, scope.scope.version))
                    self.metrics.extend(scope.metrics)

    def refuse_metrics(self) -> threading.Event:
        """Metrics by HTTP are answered with 400 until the event is cleared."""
        self.refusing.set()
        return self.refusing

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()
        self._grpc.stop(None).wait()


def attributes_of(span: Span) -> dict[str, Any]:
    """The attributes as Python values."""
    found = {}
    for pair in span.attributes:
        kind = pair.value.WhichOneof("value")
        found[pair.key] = getattr(pair.value, kind)
    return found


def _handler(receiver: Receiver) -> type[BaseHTTPRequestHandler]:
    from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2
    from opentelemetry.proto.collector.trace.v1 import trace_service_pb2

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path == "/v1/metrics" and receiver.refusing.is_set():
                self.send_error(400)
                return
            if self.path == "/v1/metrics":
                receiver.take_metrics(metrics_service_pb2.ExportMetricsServiceRequest.FromString(body))
                answer = metrics_service_pb2.ExportMetricsServiceResponse().SerializeToString()
            else:
                receiver.take(trace_service_pb2.ExportTraceServiceRequest.FromString(body))
                answer = trace_service_pb2.ExportTraceServiceResponse().SerializeToString()
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *args: object) -> None:
            """Quiet."""

    return Handler


@pytest.fixture
def otlp() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.close()
