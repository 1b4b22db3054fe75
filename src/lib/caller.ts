import type { CallLog } from './call-log.ts';

/**
 * Permissions of API keys. `admin` covers the whole instance, every other scope covers the organization of the key.
 * `keys`: management of keys.
 */
export const SCOPES = ['inference', 'files', 'knowledge', 'guardrails', 'keys', 'admin'] as const;

/** One of `SCOPES`. */
export type Scope = (typeof SCOPES)[number];

/** Roles of users in an organization, most rights first. */
export const USER_ROLES = ['owner', 'developer', 'viewer'] as const;

/** One of `USER_ROLES`. */
export type UserRole = (typeof USER_ROLES)[number];

/** The organization created by the first start; commands use it when no organization is given. */
export const DEFAULT_ORGANIZATION = 'default';

/** Rate limits of a key or an organization; null: the limit of `QUIRE_RATE_LIMITS`. */
export interface RateLimits {
  requestsPerMinute: number | null;
  tokensPerMinute: number | null;
  /** Requests in progress at the same time. */
  concurrent: number | null;
}

/** What a key may spend in a UTC day, a UTC month or in total. */
export interface KeyBudget {
  period: 'day' | 'month' | 'total';
  /** Calls that could exceed this amount fail with 402. */
  limitMicros: number;
  /** Calls beyond this amount succeed and carry a warning; null: no warning. */
  softLimitMicros: number | null;
}

/** The authenticated identity of a request. */
export interface Caller {
  organizationId: string;
  /** The id of the key, or of the user of a console session. */
  keyId: string;
  scopes: ReadonlySet<Scope>;
  /** Model ids that the key may use; null: all. */
  models: ReadonlySet<string> | null;
  /** Knowledge bases that the key may use, also deleted ones; absent or null: all. */
  knowledgeBaseIds?: readonly string[] | null;
  /** Limits of this key; null: the default limits. */
  limits: RateLimits | null;
  /** Limits of all keys of the organization together; null: unlimited. */
  organizationLimits: RateLimits | null;
  /** Null: unlimited. */
  budget: KeyBudget | null;
  /** Role of the user of a console session, whose id is `keyId`; absent for keys. Viewers may only read. */
  role?: UserRole;
}

/** A caller with all scopes and no limits: a job of the service, which works for the organization that created it. */
export function serviceCaller(organizationId: string, keyId: string): Caller {
  return {
    organizationId,
    keyId,
    scopes: new Set(SCOPES),
    models: null,
    limits: null,
    organizationLimits: null,
    budget: null,
  };
}

/** The operator: a `quire` command in the data folder. It belongs to no organization. */
export const OPERATOR: Caller = serviceCaller('', 'cli');

/** Context of one request, passed to use cases beside their input. */
export interface Call {
  caller: Caller;
  /** `req_...`, the `x-request-id` of the response. */
  requestId: string;
  /** Remote address of the connection; absent for jobs and commands. */
  address?: string;
  /** The route, such as `/v1/chat/completions`. */
  endpoint: string;
  /** Batch calls wait while interactive calls are queued. */
  priority: 'interactive' | 'batch';
  /** Whether the call is a line of a batch, which costs half. Default: false. */
  isBatchLine?: boolean;
  /** Adds a header to the response; has no effect once its head is sent. Absent: there is no response. */
  setHeader?(name: string, value: string): void;
  /** Counts processed tokens against the token limits of the key. Absent: the call is not limited. */
  countTokens?(tokens: number): void;
  /** Collects the steps of the request for the request log. Absent: the call is not logged. */
  log?: CallLog;
}
