"""Which settings the Collector's components have, in our own words, so that a misspelt one in `otelcol.yaml` is found.

Read on 2026-11-30 from the components' `config.schema.yaml` (Apache-2.0), of which one stored version each was at hand:
open-telemetry/opentelemetry-collector receiver/otlpreceiver 1f4355e9, config/configgrpc 3417c47c, config/confighttp 0459a1b7,
internal/memorylimiter 9c920b6f, processor/batchprocessor 1f4355e9, exporter/otlpexporter 1f4355e9, config/configretry 4000bf37,
exporter/exporterhelper/internal/queuebatch 1dc1061d, exporter/debugexporter 1f4355e9; open-telemetry/opentelemetry-collector-contrib
processor/transformprocessor 1ca0305c and internal/common 10584cfe, exporter/prometheusexporter 31032946. Of the health check there
was only the README (00cacebd): its `path` and `response_body`. Left out: `auth`, `middlewares`, `cors`, and what is deprecated.
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_FLAG: Schema = {"type": "boolean"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_NUMBER: Schema = {"type": "number"}
_TIME: Schema = {"type": "string", "pattern": r"^(\d+(\.\d+)?(ns|us|ms|s|m|h))+$"}
_ADDRESS: Schema = {"type": "string", "pattern": r"^[^:/]+:\d+$"}
_TEXTS: Schema = {"type": "array", "items": _TEXT}
_HEADERS: Schema = {"type": "object", "additionalProperties": {"type": ["string", "null"]}}


def _all(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "additionalProperties": False}


_TLS = _all(
    insecure=_FLAG, insecure_skip_verify=_FLAG, server_name_override=_TEXT, ca_file=_TEXT, cert_file=_TEXT,
    key_file=_TEXT, min_version=_TEXT, max_version=_TEXT, reload_interval=_TIME,
)  # fmt: skip
_HTTP_SERVER: dict[str, Schema] = {
    "endpoint": _ADDRESS, "include_metadata": _FLAG, "max_request_body_size": _COUNT, "compression_algorithms": _TEXTS,
    "read_header_timeout": _TIME, "read_timeout": _TIME, "write_timeout": _TIME, "response_headers": _HEADERS,
    "tls": _TLS, "keepalive": _all(enabled=_FLAG, idle_timeout=_TIME),
}  # fmt: skip
_GRPC_SERVER: dict[str, Schema] = {
    "endpoint": _ADDRESS, "transport": _TEXT, "include_metadata": _FLAG, "max_concurrent_streams": _COUNT,
    "max_recv_msg_size_mib": _COUNT, "read_buffer_size": _COUNT, "write_buffer_size": _COUNT, "tls": _TLS,
}  # fmt: skip
_GRPC_CLIENT: dict[str, Schema] = {
    "endpoint": _ADDRESS, "authority": _TEXT, "balancer_name": _TEXT, "compression": _TEXT, "headers": _HEADERS,
    "wait_for_ready": _FLAG, "read_buffer_size": _COUNT, "write_buffer_size": _COUNT, "tls": _TLS,
    "keepalive": _all(permit_without_stream=_FLAG, time=_TIME, timeout=_TIME),
}  # fmt: skip
_RETRY = _all(
    enabled=_FLAG, initial_interval=_TIME, max_interval=_TIME, max_elapsed_time=_TIME, max_retries=_COUNT,
    multiplier=_NUMBER, randomization_factor=_NUMBER,
)  # fmt: skip
_QUEUE = _all(
    enabled=_FLAG, num_consumers=_COUNT, queue_size=_COUNT, sizer={"enum": ["requests", "items", "bytes"]},
    storage=_TEXT, block_on_overflow=_FLAG, wait_for_result=_FLAG,
    batch=_all(flush_timeout=_TIME, min_size=_COUNT, max_size=_COUNT, sizer=_TEXT),
)  # fmt: skip
_ERROR_MODE: Schema = {"enum": ["ignore", "silent", "propagate"]}
_STATEMENTS: Schema = {
    "type": "array",
    "items": _all(
        context={"enum": ["resource", "scope", "span", "spanevent"]},
        statements=_TEXTS, conditions=_TEXTS, error_mode=_ERROR_MODE, shared_cache=_FLAG,
    ),
}  # fmt: skip
_PROMETHEUS_PULL = _all(
    host=_TEXT, port=_COUNT, without_scope_info=_FLAG, without_units=_FLAG, without_type_suffix=_FLAG
)

COMPONENTS: dict[str, dict[str, Schema]] = {
    "extensions": {"health_check": _all(**_HTTP_SERVER, path=_TEXT, response_body=_all(healthy=_TEXT, unhealthy=_TEXT))},
    "receivers": {
        "otlp": _all(
            protocols=_all(
                grpc=_all(**_GRPC_SERVER),
                http=_all(**_HTTP_SERVER, traces_url_path=_TEXT, metrics_url_path=_TEXT, logs_url_path=_TEXT),
            )
        )
    },
    "processors": {
        "memory_limiter": _all(
            check_interval=_TIME, limit_mib=_COUNT, limit_percentage=_COUNT, spike_limit_mib=_COUNT,
            spike_limit_percentage=_COUNT, min_gc_interval_when_soft_limited=_TIME,
            min_gc_interval_when_hard_limited=_TIME, max_gc_interval_when_soft_limited=_TIME,
            max_gc_interval_when_hard_limited=_TIME,
        ),
        "transform": _all(
            error_mode=_ERROR_MODE, flatten_data=_FLAG, trace_statements=_STATEMENTS, metric_statements=_STATEMENTS,
            log_statements=_STATEMENTS, profile_statements=_STATEMENTS,
        ),
        "batch": _all(
            timeout=_TIME, send_batch_size=_COUNT, send_batch_max_size=_COUNT, metadata_keys=_TEXTS,
            metadata_cardinality_limit=_COUNT,
        ),
    },
    "exporters": {
        "otlp_grpc": _all(**_GRPC_CLIENT, timeout=_TIME, retry_on_failure=_RETRY, sending_queue=_QUEUE),
        "prometheus": _all(
            **_HTTP_SERVER, namespace=_TEXT, const_labels=_HEADERS, send_timestamps=_FLAG, metric_expiration=_TIME,
            enable_open_metrics=_FLAG, add_metric_suffixes=_FLAG, translation_strategy=_TEXT, without_scope_info=_FLAG,
            resource_to_telemetry_conversion=_all(enabled=_FLAG),
        ),
        "debug": _all(
            verbosity={"enum": ["basic", "normal", "detailed"]}, sampling_initial=_COUNT, sampling_thereafter=_COUNT,
            use_internal_logger=_FLAG, output_paths=_TEXTS, sending_queue=_QUEUE,
        ),
    },
}  # fmt: skip
"""Per section of the file and type of component (what stands before the `/` of its id)."""

SERVICE = _all(
    extensions=_TEXTS,
    pipelines={
        "type": "object",
        "additionalProperties": _all(receivers=_TEXTS, processors=_TEXTS, exporters=_TEXTS),
    },
    telemetry=_all(
        logs=_all(level={"enum": ["debug", "info", "warn", "error"]}),
        metrics=_all(
            level={"enum": ["none", "basic", "normal", "detailed"]},
            readers={
                "type": "array",
                "items": _all(pull=_all(exporter=_all(prometheus=_PROMETHEUS_PULL))),
            },
        ),
    ),
)
