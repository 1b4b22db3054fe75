/**
 * Load with every feature of the gateway on: limits, a policy, credits, a budget, batches, responses in the background,
 * small models.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { RunningQuire } from '../harness/quire-process.ts';

const MODEL = 'general-8b';
/** More than any soak spends. */
const BALANCE_MICROS = 1_000_000_000_000;
const SOFT_LIMIT_MICROS = 1_000;
/** Low enough that the clients of a soak reach both. */
const LIMITS = { requests_per_minute: 1_200, tokens_per_minute: 4_000_000, concurrent: 24 };
const BLOCKED_TOPIC = 'forbidden fruit';
const TOPICS = 100;
const BATCH_LINES = 100;
const POLL_MS = 500;
/** Batches end and reservations are settled within this time after the load. */
const SETTLE_LIMIT_MS = 120_000;
const FAULTS_KEPT = 10;

/** Counts of the mixed load. */
export interface MixedCounts {
  batches: number;
  batchLines: number;
  backgroundResponses: number;
  smallModelCalls: number;
  blocked: number;
  limited: number;
  faults: string[];
  faultCount: number;
}

/** What was charged, compared with what was used. */
export interface BalanceCheck {
  calls: number;
  costMicros: number;
  /** Missing from the balance. */
  chargedMicros: number;
  /** Still held for calls; 0 when all have been settled. */
  reservedMicros: number;
}

/** An organization of the soak, with its load. */
export interface MixedLoad {
  /** A key of the organization. */
  apiKey: string;
  /** Runs until `endMs` (of `performance.now`). */
  run(endMs: number): Promise<MixedCounts>;
  /** Waits until every call is settled. */
  checkBalance(): Promise<BalanceCheck>;
}

type Send = (method: string, path: string, body?: object | FormData) => Promise<{ status: number; json: Json }>;
// biome-ignore lint/suspicious/noExplicitAny: parsed JSON of many routes.
type Json = any;

/** Creates an organization with limits, credits, a budget and a policy. */
export async function prepareMixedLoad(quire: RunningQuire): Promise<MixedLoad> {
  const admin = sender(quire.origin, quire.apiKey);
  const { json: organization } = await admin('POST', '/v1/admin/organizations', { name: 'soak', limits: LIMITS });
  const credits = `/v1/admin/credits/${organization.id}`;
  await admin('PUT', credits, { balance_micros: BALANCE_MICROS });
  const { json: key } = await admin('POST', '/v1/admin/keys', {
    organization_id: organization.id,
    limits: LIMITS,
    budget: { period: 'month', limit_micros: BALANCE_MICROS, soft_limit_micros: SOFT_LIMIT_MICROS },
  });
  const send = sender(quire.origin, key.key);
  const topics = Array.from({ length: TOPICS }, (_, index) => ({ topic: `warned topic ${index}`, action: 'warn' }));
  await send('POST', '/v1/guardrail-policies', {
    name: 'soak',
    apply_to: ['both'],
    topic_deny_list: [{ topic: BLOCKED_TOPIC, action: 'block' }, ...topics],
  });
  return {
    apiKey: key.key,
    run: (endMs) => runMixedLoad(send, endMs),
    checkBalance: async () => {
      const deadline = performance.now() + SETTLE_LIMIT_MS;
      for (;;) {
        const { json: balance } = await admin('GET', credits);
        const { json: usage } = await admin('GET', `/v1/admin/usage?organization_id=${organization.id}`);
        const [row = { requests: 0, cost_micros: 0 }] = usage.data;
        const check = {
          calls: row.requests,
          costMicros: row.cost_micros,
          chargedMicros: BALANCE_MICROS - balance.balance_micros,
          reservedMicros: balance.reserved_micros,
        };
        if (check.reservedMicros === 0 || performance.now() > deadline) return check;
        await pause(POLL_MS);
      }
    },
  };
}

/** Sends JSON or a form. */
function sender(origin: string, apiKey: string): Send {
  return async (method, path, body) => {
    const isForm = body instanceof FormData;
    const response = await fetch(origin + path, {
      method,
      headers: {
        authorization: `Bearer ${apiKey}`,
        ...(body !== undefined && !isForm && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: isForm ? body : JSON.stringify(body) }),
    });
    return { status: response.status, json: await response.json() };
  };
}

async function runMixedLoad(send: Send, endMs: number): Promise<MixedCounts> {
  const counts: MixedCounts = {
    ...{ batches: 0, batchLines: 0, backgroundResponses: 0, smallModelCalls: 0, blocked: 0, limited: 0 },
    ...{ faults: [], faultCount: 0 },
  };
  const fault = (text: string) => {
    counts.faultCount += 1;
    if (counts.faults.length < FAULTS_KEPT) counts.faults.push(text);
  };
  /** Repeats a request while it is limited, as clients do. */
  const sendWithRetry: Send = async (method, path, body) => {
    for (;;) {
      const answer = await send(method, path, body);
      if (answer.status !== 429) return answer;
      counts.limited += 1;
      await pause(1_000);
    }
  };
  const loop = async (step: (send: Send, counts: MixedCounts) => Promise<string | null>) => {
    while (performance.now() < endMs) {
      const defect = await step(sendWithRetry, counts).catch((error: unknown) => String(error));
      if (defect !== null) fault(defect);
    }
  };
  await Promise.all([runBatch, runBackgroundResponse, callSmallModels, sendBlockedPrompt].map(loop));
  return counts;
}

const isOver = (status: string) => !['validating', 'in_progress', 'finalizing', 'queued'].includes(status);

async function pollUntilOver(send: Send, path: string): Promise<Json> {
  for (;;) {
    const { json } = await send('GET', path);
    if (json.error?.code !== undefined || isOver(json.status)) return json;
    await pause(POLL_MS);
  }
}

async function runBatch(send: Send, counts: MixedCounts): Promise<string | null> {
  const lines = Array.from({ length: BATCH_LINES }, (_, index) => {
    const body = { model: MODEL, messages: [{ role: 'user', content: `Line ${index}.` }], max_tokens: 8 };
    return JSON.stringify({ custom_id: String(index), method: 'POST', url: '/v1/chat/completions', body });
  });
  const form = new FormData();
  form.set('purpose', 'batch');
  form.set('file', new Blob([lines.join('\n')]), 'lines.jsonl');
  const { json: file } = await send('POST', '/v1/files', form);
  const created = { input_file_id: file.id, endpoint: '/v1/chat/completions', completion_window: '24h' };
  const { json: batch } = await send('POST', '/v1/batches', created);
  const ended = await pollUntilOver(send, `/v1/batches/${batch.id}`);
  if (ended.status !== 'completed' || ended.request_counts.completed !== BATCH_LINES)
    return `batch: ${JSON.stringify(ended)}`;
  counts.batches += 1;
  counts.batchLines += BATCH_LINES;
  for (const id of [file.id, ended.output_file_id]) await send('DELETE', `/v1/files/${id}`);
  return null;
}

async function runBackgroundResponse(send: Send, counts: MixedCounts): Promise<string | null> {
  const request = { model: MODEL, input: 'Hello.', background: true, max_output_tokens: 32 };
  const { json: queued } = await send('POST', '/v1/responses', request);
  const ended = await pollUntilOver(send, `/v1/responses/${queued.id}`);
  if (ended.status !== 'completed' && ended.status !== 'incomplete') return `response: ${JSON.stringify(ended)}`;
  counts.backgroundResponses += 1;
  return null;
}

async function callSmallModels(send: Send, counts: MixedCounts): Promise<string | null> {
  const calls: [string, object][] = [
    ['/v1/embeddings', { model: 'embed-large-en-v1.5', input: 'A short text.' }],
    ['/v1/rerank', { model: 'reranker-v2-m3', query: 'text', documents: ['A short text.', 'Another one.'] }],
    ['/v1/moderations', { input: 'A short text.' }],
  ];
  for (const [path, body] of calls) {
    const { status, json } = await send('POST', path, body);
    if (status !== 200) return `${path}: ${JSON.stringify(json)}`;
    counts.smallModelCalls += 1;
  }
  return null;
}

async function sendBlockedPrompt(send: Send, counts: MixedCounts): Promise<string | null> {
  const messages = [{ role: 'user', content: `Tell me about ${BLOCKED_TOPIC}.` }];
  const { status, json } = await send('POST', '/v1/chat/completions', { model: MODEL, messages });
  await pause(POLL_MS);
  if (status !== 400 || json.error.code !== 'content_filtered') return `not blocked: ${JSON.stringify(json)}`;
  counts.blocked += 1;
  return null;
}
