import { Counter, Gauge, type Registry } from 'prom-client';
import type { ResponseResource } from './schema.ts';

/** A tool that models call in a response. */
type ResponseTool = 'file_search' | 'function';

/** Metrics of responses. Label values are bounded. */
export interface ResponseMetrics {
  /** A response runs in this process until the returned function is called. */
  started(): () => void;
  /** A response has ended, and is stored if it was to be. */
  ended(status: ResponseResource['status']): void;
  /** A model call has ended, with its tool calls. */
  turnEnded(calls: Readonly<Record<ResponseTool, number>>): void;
}

const metricsByRegistry = new WeakMap<Registry, ResponseMetrics>();

/** Returns the metrics of responses in a registry, registered on first use. */
export function responseMetrics(registry: Registry): ResponseMetrics {
  const known = metricsByRegistry.get(registry) ?? registerMetrics(registry);
  metricsByRegistry.set(registry, known);
  return known;
}

function registerMetrics(registry: Registry): ResponseMetrics {
  const registers = [registry];
  const inFlight = new Gauge({
    name: 'quire_responses_in_flight',
    help: 'Responses that run in this process.',
    registers,
  });
  const total = new Counter({
    name: 'quire_responses_total',
    help: 'Responses that ended.',
    labelNames: ['status'] as const,
    registers,
  });
  const turns = new Counter({ name: 'quire_response_turns_total', help: 'Model calls of responses.', registers });
  const calls = new Counter({
    name: 'quire_response_tool_calls_total',
    help: 'Tool calls of models in responses.',
    labelNames: ['tool'] as const,
    registers,
  });
  return {
    started: () => {
      inFlight.inc();
      return () => inFlight.dec();
    },
    ended: (status) => total.inc({ status }),
    turnEnded: (made) => {
      turns.inc();
      for (const tool of ['file_search', 'function'] as const) calls.inc({ tool }, made[tool]);
    },
  };
}
