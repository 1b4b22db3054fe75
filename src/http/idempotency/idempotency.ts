import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { idempotencyConflict, invalidValue } from '../../errors.ts';
import { retry } from '../../lib/retry.ts';
import { DecryptionError } from '../../lib/secrets.ts';
import type { App } from '../app.ts';
import { claimKey, deleteKeysBefore, type KeyUse, releaseKey, storeResponse } from './store.ts';

/** Time during which a key replays its response. */
export const KEY_LIFETIME_MS = 24 * 60 * 60 * 1000;
const MAX_KEY_CHARACTERS = 255;
/** Delays between attempts to release a key whose response was not stored. The last one repeats. */
const RELEASE_DELAYS_MS = [500, 1_000, 5_000];

declare module 'fastify' {
  interface FastifyRequest {
    /** Set while this request is the first use of an `Idempotency-Key`. */
    idempotencyUse: KeyUse | null;
    /** The response to the first use, on routes whose handler compares the requests. */
    firstResponse: { fingerprint: string; status: number; body: unknown } | null;
  }
}

/**
 * Replays the first response to a repeated `Idempotency-Key` on routes with `config.idempotent` that are added after
 * this call. The same key and body within 24 hours get the same response with `Idempotent-Replayed: true`. Another
 * body, or a first request that still runs, gets 409; that of a killed process blocks its key until the process counts
 * as ended. Responses of 500 and above are not stored, so the caller can retry.
 */
export function replayIdempotentRequests(app: App, deps: Pick<Deps, 'db' | 'lease' | 'now' | 'secrets'>): void {
  app.decorateRequest('idempotencyUse', null);
  app.decorateRequest('firstResponse', null);
  // Hooks of these routes only: an async hook of all routes costs every request two promises.
  app.addHook('onRoute', (route) => {
    if (!route.config?.idempotent) return;
    route.preHandler = [claimOrReplay(deps), ...[route.preHandler ?? []].flat()];
    route.onSend = [...[route.onSend ?? []].flat(), keepResponse(app, deps)];
  });
}

function claimOrReplay(deps: Pick<Deps, 'db' | 'lease' | 'now' | 'secrets'>) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const use = parseUse(request, { processId: deps.lease.id, claimedAt: new Date(deps.now()) });
    if (use === null) return;
    const first = await claimKey(deps.db.sql, use);
    if (first === null) {
      request.idempotencyUse = use;
      return;
    }
    const isStreamed = request.routeOptions.config.idempotent === 'streamed';
    if (!isStreamed && first.fingerprint !== use.fingerprint) {
      throw idempotencyConflict('This Idempotency-Key was used with another request.');
    }
    if (first.status === null)
      throw idempotencyConflict('The first request with this Idempotency-Key is still running.');
    if (isStreamed) {
      request.firstResponse = { fingerprint: first.fingerprint, status: first.status, body: first.body };
      return;
    }
    const body = isSealed(request) ? openResponse(deps, use, first.body) : first.body;
    return reply.code(first.status).header('idempotent-replayed', 'true').send(body);
  };
}

function keepResponse(app: Pick<App, 'inFlight'>, deps: Pick<Deps, 'db' | 'secrets'>) {
  return async (request: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<void> => {
    const use = request.idempotencyUse;
    if (use === null) return;
    // Stored before it is sent, so that a caller that loses the response can replay it.
    const isServerError = reply.statusCode >= 500;
    const text = String(payload);
    const body = isSealed(request) ? { sealed: deps.secrets.seal(text, sealOwner(use)) } : JSON.parse(text);
    const stored = isServerError
      ? releaseKey(deps.db.sql, use)
      : storeResponse(deps.db.sql, use, reply.statusCode, body);
    app.inFlight.add(stored);
    // Otherwise the key stays claimed as long as this process runs.
    const isPassing = () => !app.inFlight.isClosed;
    const policy = { delaysMs: RELEASE_DELAYS_MS, budgetMs: KEY_LIFETIME_MS, isPassing };
    stored.catch(() => retry(() => releaseKey(deps.db.sql, use), policy)).catch(() => {});
    await stored;
  };
}

/** Deletes expired keys. */
export function pruneIdempotencyKeys(deps: Pick<Deps, 'db' | 'now'>): Promise<void> {
  return deleteKeysBefore(deps.db.sql, new Date(deps.now() - KEY_LIFETIME_MS));
}

function parseUse(request: FastifyRequest, claim: Pick<KeyUse, 'processId' | 'claimedAt'>): KeyUse | null {
  const key = request.headers['idempotency-key'];
  if (key === undefined || request.caller === null || !request.routeOptions.config.idempotent) return null;
  if (typeof key !== 'string' || key === '' || key.length > MAX_KEY_CHARACTERS) {
    throw invalidValue('Idempotency-Key', `must have 1 to ${MAX_KEY_CHARACTERS} characters`);
  }
  const identity = [request.method, request.url, JSON.stringify(request.body ?? null)];
  // The key may have fewer rights than the one that sent the request first.
  if (isSealed(request) || request.caller.knowledgeBaseIds != null) identity.push(request.caller.keyId);
  const fingerprint = createHash('sha256').update(identity.join('\n')).digest('hex');
  return { organizationId: request.caller.organizationId, key, fingerprint, ...claim };
}

const isSealed = (request: FastifyRequest): boolean => request.routeOptions.config.idempotent === 'sealed';

const sealOwner = ({ organizationId, key }: KeyUse): string => `${organizationId}/${key}`;

/** Decrypts a stored response. Throws 409 when `QUIRE_SECRETS_KEY` has changed since. */
function openResponse({ secrets }: Pick<Deps, 'secrets'>, use: KeyUse, stored: unknown): unknown {
  try {
    return JSON.parse(secrets.open((stored as { sealed: string }).sealed, sealOwner(use)));
  } catch (error) {
    if (!(error instanceof DecryptionError)) throw error;
    throw idempotencyConflict('The response to this Idempotency-Key cannot be decrypted any more; use another key.');
  }
}
