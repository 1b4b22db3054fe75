import type { Registry } from 'prom-client';
import { addCounter, addGauge, oncePerRegistry } from '../lib/metrics.ts';
import type { ResponseResource } from './schema.ts';

/** A tool that models call in a response. */
type ResponseTool = 'file_search' | 'query_table' | 'mcp' | 'function';

/** Metrics of responses. Label values are bounded. */
export interface ResponseMetrics {
  /** A response runs in this process until the returned function is called. */
  started(): () => void;
  /** A response has ended, and is stored if it was to be. */
  ended(status: ResponseResource['status']): void;
  /** A model call has ended, with its tool calls. */
  turnEnded(calls: Readonly<Record<ResponseTool, number>>): void;
}

/** Returns the metrics of responses in a registry, registered on first use. */
export const responseMetrics: (registry: Registry) => ResponseMetrics = oncePerRegistry((registry) => {
  const inFlight = addGauge(registry, 'quire_responses_in_flight', 'Responses that run in this process.');
  const total = addCounter(registry, 'quire_responses_total', 'Responses that ended.', ['status']);
  const turns = addCounter(registry, 'quire_response_turns_total', 'Model calls of responses.');
  const calls = addCounter(registry, 'quire_response_tool_calls_total', 'Tool calls of models in responses.', ['tool']);
  return {
    started: () => {
      inFlight.inc();
      return () => inFlight.dec();
    },
    ended: (status) => total.inc({ status }),
    turnEnded: (made) => {
      turns.inc();
      for (const tool of ['file_search', 'query_table', 'mcp', 'function'] as const) calls.inc({ tool }, made[tool]);
    },
  };
});
