import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { Ajv, type ValidateFunction } from 'ajv';
import { Registry } from 'prom-client';
import { addKey, type NewKey } from '../src/accounts/add-key.ts';
import { Authenticator } from '../src/accounts/authenticator.ts';
import { insertOrganization, selectOrganizationByName } from '../src/accounts/store.ts';
import { type AppDeps, createApp, type RequestTimeouts } from '../src/app.ts';
import { openBilling } from '../src/billing/billing.ts';
import type { BlobStore } from '../src/blobs/blob-store.ts';
import { openFolderStore } from '../src/blobs/folder-store.ts';
import { type Config, loadConfig } from '../src/config/config.ts';
import type { Database } from '../src/db/db.ts';
import type { Deps } from '../src/deps.ts';
import type { GenerationEngine } from '../src/engines/engine.ts';
import { ModelRegistry, type ServedModel } from '../src/engines/registry.ts';
import { PolicyScreen } from '../src/guardrails/policy-screen.ts';
import type { App } from '../src/http/app.ts';
import { policyScorer } from '../src/inference/score-texts.ts';
import { ProcessLease } from '../src/leases/process-lease.ts';
import { SCOPES } from '../src/lib/caller.ts';
import { newId } from '../src/lib/ids.ts';
import { createLogger } from '../src/lib/logger.ts';
import { OperatorError } from '../src/lib/operator-error.ts';
import { parseRateLimits } from '../src/lib/parse-rate-limits.ts';
import type { Screen } from '../src/lib/screen.ts';
import { createSecrets } from '../src/lib/secrets.ts';
import { KeyRateLimiter } from '../src/limits/key-rate-limiter.ts';
import type { LimitStore } from '../src/limits/limit-store.ts';
import { MemoryLimitStore } from '../src/limits/memory-store.ts';
import { CATALOGUE, CATALOGUE_CREATED_AT, GENERATION, NO_GENERATION, OWNER } from '../src/models/catalogue.ts';
import { registerCacheMetrics } from '../src/prompt-cache/metrics.ts';
import { PromptCacheStatistics } from '../src/prompt-cache/prompt-cache-statistics.ts';
import type { JobKind } from '../src/queue/define-job.ts';
import { JobQueue, type JobQueueDeps } from '../src/queue/job-queue.ts';
import { RequestLog } from '../src/requests/request-log.ts';
import { ChunkIndex } from '../src/search/chunk-index.ts';
import { openTestDatabase } from './database.ts';
import { type ScriptedEngine, scriptedEngine } from './scripted-engine.ts';

/** An API on a free port with its own database and a scripted engine. */
export interface TestApi {
  url: string;
  app: App;
  db: Database;
  blobs: BlobStore;
  /** Folder of `blobs`. */
  blobFolder: string;
  /** Folder of the search index. */
  indexFolder: string;
  /** Dependencies of the use cases. */
  deps: Deps;
  engine: ScriptedEngine;
  authenticator: Authenticator;
  requestLog: RequestLog;
  /** A key with every scope, of the organization `default`. */
  key: string;
  makeKey(wanted?: WantedKey): Promise<{ id: string; key: string; organizationId: string }>;
  /** Sends JSON; a `body` that is a string is sent verbatim. */
  send(method: string, path: string, options?: SendOptions): Promise<Answer>;
}

/** Properties of a key of `makeKey`. `organization` is the name of its organization, which is created. */
export type WantedKey = Partial<Omit<NewKey, 'organizationId'>> & { organization?: string };

export interface SendOptions {
  body?: unknown;
  key?: string | null;
  headers?: Record<string, string>;
}

/** A complete response. */
export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: what a test asserts on is whatever came over the wire.
  json: any;
}

/** Overrides of the test setup. */
export interface TestApiOptions {
  config?: Partial<Config>;
  models?: (engine: ScriptedEngine) => ServedModel[];
  timeouts?: RequestTimeouts;
  /** Job kinds that can be enqueued; without any there is no queue. */
  jobs?: readonly JobKind<object>[];
  /** Content policy of inference calls; the guardrail policies in the database unless given. */
  screen?: Screen;
  /** Scores of texts for policies; those of the moderation model unless given. */
  scoreTexts?: Deps['scoreTexts'];
  /** Default rate limits of keys, as `QUIRE_RATE_LIMITS`; `off` unless given. */
  rateLimits?: string;
  /** Clock of the use cases, in Unix milliseconds. */
  now?: () => number;
  /** Clock of the rate limits. */
  limitClock?: () => number;
  /** Folder of a built console; none unless given. */
  consoleFolder?: string;
  /** Additional routes, registered before the API listens. */
  extend?: (app: App) => void;
}

/** Starts the API before the tests of a file and stops it afterwards. */
export function useApi(options: TestApiOptions = {}): TestApi {
  const api = {} as TestApi;
  let close = async () => {};
  before(async () => {
    const started = await startApi(options);
    Object.assign(api, started.api);
    close = started.close;
  });
  after(() => close());
  return api;
}

/** Hashes of passwords would take most of the time of their tests. */
export const CHEAP_PASSWORDS = { N: 16, r: 1, p: 1 };

/** How callers are authenticated, and the console. */
const consoleDeps = (authenticator: Authenticator, { consoleFolder }: TestApiOptions) => ({
  authenticateKey: (header: string | undefined) => authenticator.authenticate(header),
  authenticateKeyId: (id: string) => authenticator.authenticateId(id),
  passwordCost: CHEAP_PASSWORDS,
  ...(consoleFolder !== undefined && { consoleFolder }),
});

/** Starts the API; the caller closes it. */
export async function startApi(options: TestApiOptions = {}): Promise<{ api: TestApi; close(): Promise<void> }> {
  const { db, logger, lease, billing, requestLog } = await startBilling();
  const blobFolder = mkdtempSync(join(tmpdir(), 'quire-blobs-'));
  const blobs = await openFolderStore(blobFolder);
  const indexFolder = mkdtempSync(join(tmpdir(), 'quire-index-'));
  const chunks = await ChunkIndex.open(indexFolder);
  // Opening a queue takes a second, and most tests enqueue nothing.
  const jobs = options.jobs === undefined ? (undefined as never) : await openQueue({ db, lease, logger }, options.jobs);
  const engine = scriptedEngine();
  const authenticator = new Authenticator(db);
  const models = new ModelRegistry(options.models?.(engine) ?? bindCatalogue(engine));
  const metrics = new Registry();
  const promptCache = await PromptCacheStatistics.start({ db, lease, models, logger, now: Date.now });
  const scoreTexts = options.scoreTexts ?? policyScorer(models);
  const deps: Deps = {
    config: { ...loadConfig({}), ...options.config },
    logger,
    db,
    lease,
    secrets: createSecrets('the key that tests seal secrets with'),
    blobs,
    chunks,
    jobs,
    models,
    metrics,
    reserve: billing.reserve,
    recordUsage: billing.recordUsage,
    chargeTokens: (caller, tokens) => limiter.chargeTokens(caller, tokens),
    logCall: (call) => requestLog.add(call),
    recordsContents: (organizationId) => requestLog.contents.isRecording(organizationId),
    countPrompt: registerCacheMetrics(metrics, models).countPrompt,
    screen: options.screen ?? new PolicyScreen({ db, logger, scoreTexts, now: Date.now }),
    scoreTexts,
    now: options.now ?? Date.now,
  };
  const evictKeys = (id: string) => [authenticator.evict(id), billing.evictLimits(id)];
  const limitStore = new MemoryLimitStore(options.limitClock);
  const limiter = createLimiter(deps, limitStore, options);
  const appDeps = { ...deps, ...consoleDeps(authenticator, options), limiter, limitStore, promptCache, evictKeys };
  const app = await createApp({ ...appDeps, bindings: unchangedBindings(models) }, '0.0.0', options.timeouts);
  options.extend?.(app);
  await app.listen({ host: '127.0.0.1', port: 0 });
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  const makeKey = keyMaker(db);
  const { key } = await makeKey();
  const send: TestApi['send'] = (method, path, sending = {}) => sendTo(url + path, method, { key, ...sending });
  const close = async () => {
    await app.close();
    await jobs?.stop();
    await Promise.all([requestLog.flush(), billing.close()]);
    await promptCache.stop();
    await lease.stop();
    await db.close();
    await chunks.close();
    for (const folder of [blobFolder, indexFolder]) rmSync(folder, { recursive: true, force: true });
  };
  const stores = { db, blobs, blobFolder, indexFolder, requestLog };
  return { api: { ...stores, url, app, deps, engine, authenticator, key, makeKey, send }, close };
}

/** Every model id has its default binding, and none can be changed. */
function unchangedBindings(models: ModelRegistry): AppDeps['bindings'] {
  return {
    stored: { version: 0, initialPullDone: false, ids: {}, retired: [], upstreams: { servers: [], models: [] } },
    chosenBy: () => 'default',
    defaultGenerationIds: () => [],
    rebind: () => Promise.reject(new OperatorError('A test has no bindings.')),
    isModelId: (id) => models.get(id) !== undefined,
    fetchFile: async () => {},
    refresh: async () => {},
    requireStartable: async () => {},
  };
}

function createLimiter(deps: Deps, store: LimitStore, { limitClock, rateLimits }: TestApiOptions): KeyRateLimiter {
  return new KeyRateLimiter({
    ...deps,
    now: limitClock ?? performance.now.bind(performance),
    store,
    defaults: parseRateLimits(rateLimits ?? 'off'),
  });
}

/** Opens a database, and starts a process on it as far as it concerns credits. */
async function startBilling() {
  const db = await openTestDatabase();
  const logger = createLogger('silent');
  const lease = await new ProcessLease({ db, logger }).start();
  const requestLog = new RequestLog({ db, logger, now: Date.now });
  return { db, logger, lease, requestLog, billing: openBilling({ db, lease, logger, now: Date.now }) };
}

async function openQueue(deps: JobQueueDeps, kinds: readonly JobKind<object>[]): Promise<JobQueue> {
  const queue = await JobQueue.open(deps);
  await queue.define(kinds);
  return queue;
}

/** Creates keys and their organizations. */
function keyMaker(db: Database): TestApi['makeKey'] {
  return async ({ organization = 'default', ...wanted } = {}) => {
    await insertOrganization(db.sql, newId('organization'), organization);
    const organizationId = (await selectOrganizationByName(db.sql, organization))?.id ?? '';
    const unlimited = { models: null, limits: null, budget: null, expiresAt: null };
    const { row, secret } = await addKey(db.sql, {
      organizationId,
      name: 'test',
      scopes: SCOPES,
      ...unlimited,
      ...wanted,
    });
    return { id: row.id, key: secret, organizationId };
  };
}

/** The catalogue with its generation models bound to one engine. */
export function bindCatalogue(engine: GenerationEngine): ServedModel[] {
  return CATALOGUE.map(({ id, kind, maxContextTokens, pricing }) => ({
    id,
    createdAt: CATALOGUE_CREATED_AT,
    ownedBy: OWNER,
    capabilities: kind === 'generation' ? GENERATION : NO_GENERATION,
    maxContextTokens,
    pricing,
    engine: kind === 'generation' ? engine : null,
  }));
}

/** Sends JSON; a `body` that is a string is sent verbatim. */
export async function sendTo(url: string, method: string, { body, key, headers }: SendOptions): Promise<Answer> {
  const answer = await fetch(url, {
    method,
    headers: {
      ...(key != null && { authorization: `Bearer ${key}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await answer.text();
  const isJson = answer.headers.get('content-type')?.startsWith('application/json') ?? false;
  return { status: answer.status, headers: answer.headers, text, json: isJson ? JSON.parse(text) : null };
}

/** Asserts an error of the catalogue with its whole envelope; `message` must be a sentence. */
export function assertError(answer: Answer, status: number, code: string, param: string | null = null): void {
  assert.equal(answer.status, status, `${answer.status}: ${answer.text}`);
  const { message, ...rest } = errorFields(answer);
  assert.deepEqual({ code: rest.code, param: rest.param }, { code, param }, answer.text);
  assert.deepEqual(Object.keys(rest).toSorted(), ['code', 'param', 'type']);
  assert.match(message, /^.{3,}\.$/s);
  assert.match(answer.headers.get('x-request-id') ?? '', /^req_/);
}

/** The fields of an error. In the form of Ollama they are beside the message `error`, in JSON-RPC in `data`. */
export function errorFields({ json }: Pick<Answer, 'json'>) {
  if (json.jsonrpc !== undefined) {
    const { request_id: _, ...data } = json.error.data;
    return { message: json.error.message, ...data };
  }
  if (typeof json.error !== 'string') return json.error;
  const { error: message, request_id: _, ...rest } = json;
  return { message, ...rest };
}

const ajv = new Ajv({ strict: false, allErrors: true, code: { optimize: false } });
/** Compiling takes longer than most tests: once for each schema. */
const validators = new WeakMap<object, ValidateFunction>();

/** Asserts that the value matches the schema and has no additional fields. */
export function assertSchema(schema: object, value: unknown): void {
  const validate = validators.get(schema) ?? ajv.compile(closed(schema) as object);
  validators.set(schema, validate);
  assert.ok(validate(value), `${ajv.errorsText(validate.errors)}: ${JSON.stringify(value)}`);
}

/** Returns the schema with every object closed to additional fields. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (schema === null || typeof schema !== 'object') return schema;
  const copy = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, key === 'examples' ? [] : closed(value)]),
  );
  return 'properties' in copy ? { ...copy, additionalProperties: false } : copy;
}

/** Returns the `data:` payloads of a stream. The last one must be `[DONE]`, unless the stream failed. */
export function frames(text: string): string[] {
  return text
    .split('\n\n')
    .filter((frame) => frame !== '')
    .map((frame) => {
      assert.match(frame, /^data: /);
      return frame.slice('data: '.length);
    });
}

/** Returns the parsed events of a complete stream. */
// biome-ignore lint/suspicious/noExplicitAny: what a test asserts on is whatever came over the wire.
export function chunks(text: string): any[] {
  const all = frames(text);
  assert.equal(all.at(-1), '[DONE]');
  return all.slice(0, -1).map((frame) => JSON.parse(frame));
}
