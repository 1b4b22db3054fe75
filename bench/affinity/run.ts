/**
 * Where a model has several servers: the share of cacheable prompt tokens that their prefix caches hit, with prefix
 * affinity, round robin and least outstanding requests. `npm run bench:affinity -- [--quick]`; see bench/README.md.
 */
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { ChatMessage, GenerationEngine, GenerationRequest } from '../../src/engines/engine.ts';
import { createUpstreamEngine } from '../../src/engines/upstream/upstream-engine.ts';
import { createLogger } from '../../src/lib/logger.ts';
import {
  BENCH_SCRATCH,
  describeMachine,
  formatMachine,
  logProgress,
  runCommand,
  writeResult,
} from '../harness/command.ts';
import { renderTable } from '../harness/text-table.ts';
import { type MockReplica, PrefixCache, startReplicas } from './mock-replicas.ts';
import { type Conversation, makeTrace } from './trace.ts';

const { values: flags } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'string', default: join(BENCH_SCRATCH, 'affinity.json') },
  },
});
const SEED = 7;
const CONVERSATIONS_PER_CLIENT = 3;
/** Servers, and conversations at the same time. */
const SIZES: [number, number][] = [
  [4, 64],
  [4, 16],
  [8, 128],
];
const MAX_THINK_MS = 400;
const never = new AbortController().signal;

/** Chooses the engine of a request; each has one server, or one engine has all. */
type Policy = (engines: readonly GenerationEngine[], inFlight: readonly number[], turn: number) => number;

const POLICIES: { name: string; perServer: boolean; choose: Policy }[] = [
  { name: 'round robin', perServer: true, choose: (engines, _, turn) => turn % engines.length },
  { name: 'least outstanding', perServer: true, choose: leastOutstanding },
  { name: 'prefix affinity', perServer: false, choose: () => 0 },
];

function leastOutstanding(engines: readonly GenerationEngine[], inFlight: readonly number[], turn: number): number {
  let best = turn % engines.length;
  for (let step = 0; step < engines.length; step += 1) {
    const at = (turn + step) % engines.length;
    if ((inFlight[at] ?? 0) < (inFlight[best] ?? 0)) best = at;
  }
  return best;
}

/** One policy on one trace. */
interface Outcome {
  policy: string;
  replicas: number;
  concurrency: number;
  requests: number;
  /** Hit tokens in percent of those that one cache with every prompt would hit. */
  hitPercent: number;
  /** Largest load of a replica, by the mean: of requests, and of time in flight. */
  requestLoad: number;
  busyLoad: number;
}

async function measure(policy: (typeof POLICIES)[0], replicas: number, concurrency: number): Promise<Outcome> {
  const ideal = new PrefixCache();
  let cacheable = 0;
  const servers = await startReplicas(replicas, (scope, prompt) => {
    cacheable += ideal.read(scope, prompt);
  });
  const urls = servers.map(({ server }) => server.baseUrl);
  const engines = (policy.perServer ? urls.map((url) => [url]) : [urls]).map((baseUrls) =>
    createUpstreamEngine({
      ...{ baseUrls, model: 'mock', apiKey: null, proxy: null, contextLength: null },
      logger: createLogger('silent'),
    }),
  );
  const inFlight = engines.map(() => 0);
  let turn = 0;
  const send = async (request: GenerationRequest): Promise<string> => {
    const at = policy.choose(engines, inFlight, turn++);
    inFlight[at] = (inFlight[at] ?? 0) + 1;
    let text = '';
    for await (const event of (engines[at] as GenerationEngine).generate(request, never)) {
      if (event.type === 'text-delta') text += event.text;
    }
    inFlight[at] = (inFlight[at] ?? 0) - 1;
    return text;
  };
  const trace = makeTrace(concurrency * CONVERSATIONS_PER_CLIENT, SEED).values();
  await Promise.all(Array.from({ length: concurrency }, () => converse(trace, send)));
  await Promise.all(engines.map((engine) => engine.close()));
  await Promise.all(servers.map(({ server }) => server.close()));
  return { policy: policy.name, replicas, concurrency, ...summarize(servers, cacheable) };
}

/** Plays conversations until the trace has ended. */
async function converse(
  trace: Iterator<Conversation>,
  send: (request: GenerationRequest) => Promise<string>,
): Promise<void> {
  for (let next = trace.next(); !next.done; next = trace.next()) {
    const { organization, system, turns } = next.value;
    const messages: ChatMessage[] = [{ role: 'system', content: system }];
    for (const { text, answerTokens } of turns) {
      messages.push({ role: 'user', content: text });
      messages.push({ role: 'assistant', content: await send(chatRequest(organization, [...messages], answerTokens)) });
      await pause(Math.random() * MAX_THINK_MS);
    }
  }
}

function chatRequest(scope: string, messages: ChatMessage[], maxTokens: number): GenerationRequest {
  return {
    prompt: { kind: 'chat', messages, tools: [], toolChoice: 'auto', parallelToolCalls: true },
    ...{ choices: 1, maxTokens, stop: [], format: { type: 'text' }, logprobs: null, promptLogprobs: false },
    sampling: { temperature: 0, topP: 1, presencePenalty: 0, frequencyPenalty: 0, seed: null, logitBias: {} },
    ...{ incremental: false, scope, priority: 'interactive', upstreamParameters: { user: scope } },
  };
}

function summarize(servers: readonly MockReplica[], cacheable: number) {
  const counts = servers.map((server) => server.counts);
  const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);
  const load = (values: number[]) => (Math.max(...values) * values.length) / sum(values);
  const requests = counts.map((each) => each.requests);
  return {
    requests: sum(requests),
    hitPercent: (100 * sum(counts.map(({ cachedTokens }) => cachedTokens))) / cacheable,
    requestLoad: load(requests),
    busyLoad: load(counts.map(({ busySeconds }) => busySeconds)),
  };
}

async function main(): Promise<void> {
  const machine = describeMachine();
  const outcomes: Outcome[] = [];
  for (const [replicas, concurrency] of SIZES.slice(0, flags.quick ? 1 : SIZES.length)) {
    for (const policy of POLICIES) {
      const outcome = await measure(policy, replicas, concurrency);
      outcomes.push(outcome);
      logProgress(
        `${replicas} servers, ${concurrency} conversations, ${policy.name}: ${outcome.hitPercent.toFixed(1)} %`,
      );
    }
  }
  const rows = outcomes.map((each) => [
    `${each.replicas}`,
    `${each.concurrency}`,
    each.policy,
    `${each.requests}`,
    `${each.hitPercent.toFixed(1)} %`,
    each.requestLoad.toFixed(2),
    each.busyLoad.toFixed(2),
  ]);
  const columns = [
    'servers',
    'conversations',
    'policy',
    'requests',
    'hits of cacheable tokens',
    'requests',
    'time in flight',
  ];
  console.log(
    renderTable({ title: 'Hits of prefix caches, and the largest load of a server by the mean', columns, rows }),
  );
  console.log(formatMachine(machine));
  await writeResult(flags.json, { machine, outcomes });
}

await runCommand(main);
