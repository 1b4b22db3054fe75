import { AsyncLocalStorage } from 'node:async_hooks';

/** W3C Trace Context of the current request or job: `traceparent`, and `tracestate` when the caller sent one. */
export type TraceHeaders = Readonly<Record<string, string>>;

const NONE: TraceHeaders = {};
const storage = new AsyncLocalStorage<TraceHeaders>();

/** Runs `run` with the trace context that calls to other servers carry. */
export function withTraceHeaders<Result>(headers: TraceHeaders, run: () => Result): Result {
  return storage.run(headers, run);
}

/** The trace context for a call to another server; empty outside of traced work, and when nothing is traced. */
export function traceHeaders(): TraceHeaders {
  return storage.getStore() ?? NONE;
}
