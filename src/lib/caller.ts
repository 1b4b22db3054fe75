/** Permissions of API keys. `admin` covers the whole instance, every other scope covers the organization of the key. */
export const SCOPES = ['inference', 'files', 'knowledge', 'guardrails', 'admin'] as const;

/** One of `SCOPES`. */
export type Scope = (typeof SCOPES)[number];

/** The organization created by the first start; commands use it when no organization is given. */
export const DEFAULT_ORGANIZATION = 'default';

/** The authenticated identity of a request. */
export interface Caller {
  organizationId: string;
  keyId: string;
  scopes: ReadonlySet<Scope>;
  /** Model ids that the key may use; null: all. */
  models: ReadonlySet<string> | null;
}

/** Context of one request, passed to use cases beside their input. */
export interface Call {
  caller: Caller;
  /** `req_...`, the `x-request-id` of the response. */
  requestId: string;
  /** The route, such as `/v1/chat/completions`. */
  endpoint: string;
  /** Batch calls wait while interactive calls are queued. */
  priority: 'interactive' | 'batch';
  /** Whether the call is a line of a batch, which costs half. Default: false. */
  isBatchLine?: boolean;
}
