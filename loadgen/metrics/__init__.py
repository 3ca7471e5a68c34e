"""What a run tells Prometheus and OpenTelemetry, while it lasts and when it has ended.

- `counts`: requests counted, from the engine's rows
- `collector`: what was counted and what was found out, as Prometheus's families
- `protobuf`: those in the form in which Prometheus takes native histograms
- `scrape`: /metrics, for `--metrics-port`
- `otlp`: the same to an OTLP endpoint, for `--otlp`

Nothing here is in the way of a request: the rows that the engine writes anyway are counted when somebody asks.
"""
