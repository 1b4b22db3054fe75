/** What a key may be allowed to do. `admin` is the operator's, instance-wide; no other leaves its organization. */
export const SCOPES = ['inference', 'files', 'knowledge', 'guardrails', 'admin'] as const;

/** One of `SCOPES`. */
export type Scope = (typeof SCOPES)[number];

/** Who makes a request, as the key says. */
export interface Caller {
  organizationId: string;
  keyId: string;
  scopes: ReadonlySet<Scope>;
  /** The only models that the key may use; null: all. */
  models: ReadonlySet<string> | null;
}

/** One request of a caller: what the use cases are given beside their input. */
export interface Call {
  caller: Caller;
  /** `req_...`, the answer's `x-request-id`. */
  requestId: string;
  /** The route, such as `/v1/chat/completions`. */
  endpoint: string;
  /** Batch calls wait while interactive calls are queued. */
  priority: 'interactive' | 'batch';
}
