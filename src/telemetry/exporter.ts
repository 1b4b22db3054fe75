import { randomUUID } from 'node:crypto';
import { DiagLogLevel, diag } from '@opentelemetry/api';
import { OTLPMetricExporter as JsonMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto';
import { OTLPTraceExporter as JsonTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import type { Registry } from 'prom-client';
import type { OtlpConfig } from '../config/otlp.ts';
import type { Logger } from '../lib/logger.ts';
import { registryMetrics } from './registry-metrics.ts';

/** What is exported besides the measurements of the SDK. */
export interface ExportedParts {
  version: string;
  metrics: Registry;
  logger: Logger;
}

/** The SDK with its export over OTLP/HTTP. A collector that does not answer loses data, never requests. */
export interface TelemetrySdk {
  traces: TracerProvider;
  meters: MeterProvider;
  /** Exports everything once more, for at most `CLOSE_MS`, and stops. */
  close(): Promise<void>;
}

/** Time limit of one export with its retries, which also delay a stop. */
const EXPORT_MS = 5_000;
/** Bound of the last export, so that a dead collector does not delay the stop. */
const CLOSE_MS = 3_000;

/** Starts the SDK. It registers nothing globally except its logger, so a process has one at a time. */
export function startTelemetrySdk(settings: OtlpConfig, { version, metrics, logger }: ExportedParts): TelemetrySdk {
  const warn = (text: string) => logger.warn({ error: describeDiagnostic(text) }, 'telemetry not exported');
  const ignore = () => undefined;
  const diagLogger = { error: warn, warn, info: ignore, debug: ignore, verbose: ignore };
  diag.setLogger(diagLogger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  const resource = detectResources({ detectors: [envDetector] }).merge(
    resourceFromAttributes({
      'service.name': settings.serviceName,
      'service.version': version,
      // Counters of two processes are two series.
      'service.instance.id': randomUUID(),
    }),
  );
  const isJson = settings.protocol === 'http/json';
  const spanProcessors = [settings.traces]
    .filter((target) => target !== null)
    .map((target) => {
      const exporter = new (isJson ? JsonTraceExporter : OTLPTraceExporter)({ ...target, timeoutMillis: EXPORT_MS });
      return new BatchSpanProcessor({ exporter, exportTimeoutMillis: EXPORT_MS });
    });
  const readers = [settings.metrics]
    .filter((target) => target !== null)
    .map((target) => {
      const exporter = new (isJson ? JsonMetricExporter : OTLPMetricExporter)({ ...target, timeoutMillis: EXPORT_MS });
      return new PeriodicExportingMetricReader({
        exporter,
        exportIntervalMillis: settings.metricIntervalMs,
        exportTimeoutMillis: Math.min(EXPORT_MS, settings.metricIntervalMs),
        metricProducers: [registryMetrics(metrics)],
      });
    });
  const traces = new TracerProvider({ resource, spanProcessors });
  const meters = new MeterProvider({ resource, readers });
  return { traces, meters, close: () => shutDown([traces, meters]) };
}

async function shutDown(providers: readonly { shutdown(): Promise<void> }[]): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, CLOSE_MS);
  });
  const ended = Promise.allSettled(providers.map((provider) => provider.shutdown()));
  await Promise.race([ended, timeout]);
  clearTimeout(timer);
  diag.disable();
}

/** The SDK logs an error as JSON, with its stack. */
function describeDiagnostic(text: string): string {
  try {
    return String((JSON.parse(text) as { message?: unknown }).message ?? text);
  } catch {
    return text;
  }
}
