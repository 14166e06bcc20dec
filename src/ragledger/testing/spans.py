"""Finished spans in a list, by the SDK's own exporter and a provider that is nobody else's."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider

__all__ = ["CapturedSpans"]


class CapturedSpans:
    """Give `provider` to what shall trace into it: `memory_ledger(tracer_provider=spans.provider)`.

    Raises:
        ImportError: the OpenTelemetry SDK is not installed; it names the extra.
    """

    def __init__(self) -> None:
        try:
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import SimpleSpanProcessor
            from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
        except ImportError as exc:
            raise ImportError("captured spans need the SDK: pip install 'ragledger[otlp]'") from exc
        self.exporter = InMemorySpanExporter()
        self.provider: TracerProvider = TracerProvider(shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))

    @property
    def finished(self) -> list[ReadableSpan]:
        """What has ended, in that order."""
        return list(self.exporter.get_finished_spans())

    def clear(self) -> None:
        """Forgets what has ended."""
        self.exporter.clear()
