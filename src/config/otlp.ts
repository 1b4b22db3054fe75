import { OperatorError } from '../lib/operator-error.ts';
import { readVariable } from '../lib/secret-file.ts';

/** Where one kind of telemetry is sent. */
export interface OtlpTarget {
  url: string;
  headers: Record<string, string>;
}

/** Export over OTLP/HTTP, from the standard variables of OpenTelemetry. */
export interface OtlpConfig {
  protocol: (typeof PROTOCOLS)[number];
  /** Null: no traces are exported. */
  traces: OtlpTarget | null;
  /** Null: no metrics are exported. */
  metrics: OtlpTarget | null;
  serviceName: string;
  /** Interval of metric exports. */
  metricIntervalMs: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

const PROTOCOLS = ['http/protobuf', 'http/json'] as const;
/** Default of `OTEL_METRIC_EXPORT_INTERVAL`. */
const METRIC_INTERVAL_MS = 60_000;

/** Reads the variables. Null without an endpoint. Throws an `OperatorError` that names a wrong variable. */
export function readOtlp(environment: Environment): OtlpConfig | null {
  if (environment['OTEL_SDK_DISABLED'] === 'true') return null;
  const traces = readTarget(environment, 'TRACES');
  const metrics = readTarget(environment, 'METRICS');
  if (traces === null && metrics === null) return null;
  const name = environment['OTEL_EXPORTER_OTLP_PROTOCOL'] || PROTOCOLS[0];
  const protocol = PROTOCOLS.find((each) => each === name);
  if (protocol === undefined)
    throw new OperatorError(`OTEL_EXPORTER_OTLP_PROTOCOL must be ${PROTOCOLS.join(' or ')}. It is '${name}'.`);
  return {
    ...{ protocol, traces, metrics },
    serviceName: environment['OTEL_SERVICE_NAME'] || 'quire',
    metricIntervalMs: Number(environment['OTEL_METRIC_EXPORT_INTERVAL']) || METRIC_INTERVAL_MS,
  };
}

/** Variables of one signal override those of all. */
function readTarget(environment: Environment, signal: 'TRACES' | 'METRICS'): OtlpTarget | null {
  if (environment[`OTEL_${signal}_EXPORTER`] === 'none') return null;
  const own = `OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`;
  const base = environment['OTEL_EXPORTER_OTLP_ENDPOINT'];
  const url = environment[own] || (base && `${base.replace(/\/+$/, '')}/v1/${signal.toLowerCase()}`);
  if (!url) return null;
  if (!/^https?:\/\/[^\s/]+/.test(url))
    throw new OperatorError(`${environment[own] ? own : 'OTEL_EXPORTER_OTLP_ENDPOINT'} must be an http or https URL.`);
  const headers =
    readVariable(environment, `OTEL_EXPORTER_OTLP_${signal}_HEADERS`) ||
    readVariable(environment, 'OTEL_EXPORTER_OTLP_HEADERS');
  return { url, headers: parseHeaders(headers ?? '') };
}

/** Parses `name=value,name=value`. Values may be percent-encoded, as the specification requires of blanks. */
function parseHeaders(text: string): Record<string, string> {
  const pairs = text.split(',').filter((pair) => pair.includes('='));
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=');
      return [pair.slice(0, at).trim(), decode(pair.slice(at + 1).trim())];
    }),
  );
}

function decode(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
