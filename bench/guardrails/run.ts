/**
 * Latency that a guardrail policy adds to a chat completion, by the length of the message, the number of topics, and
 * category scores. `npm run bench:guardrails -- [--quick] [--rounds N] [--json FILE]`; see bench/README.md.
 */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { mapCategories } from '../../src/engines/moderation-engine.ts';
import { resolveThresholds } from '../../src/guardrails/policy.ts';
import { PolicyEvaluator } from '../../src/guardrails/policy-evaluator.ts';
import type { TopicRule } from '../../src/guardrails/topic-matcher.ts';
import {
  BENCH_SCRATCH,
  describeMachine,
  formatMachine,
  runCommand,
  showProgress,
  writeResult,
} from '../harness/command.ts';
import { startQuire } from '../harness/quire-process.ts';
import { seededUniform } from '../harness/random-numbers.ts';
import { quantile, summarize } from '../harness/statistics.ts';
import { formatSummary, renderTable } from '../harness/text-table.ts';
import { chatRequest, findDefect, type Target } from '../http/chat-request.ts';
import { Connection } from '../http/connection.ts';
import { NumberedBytes } from '../http/serial-number.ts';
import { startMock } from '../mock-upstream/start-mock.ts';

const LENGTHS = [200, 10_000, 100_000];
const TOPIC_COUNTS = [0, 10, 1_000];
/** A process may apply a changed policy one second late. */
const POLICY_DELAY_MS = 1_200;
const WARMUP_REQUESTS = 30;
/** Evaluations in this process; the first half warms up. */
const EVALUATIONS = 1_000;

/** What a policy contains. */
interface Policy {
  topics: number;
  /** Whether category scores are needed: default thresholds, or all 1.0. */
  categories: boolean;
}

/** Latencies in milliseconds of one message length in one round. */
interface Window {
  round: number;
  length: number;
  /** Null: no enabled policy. */
  policy: Policy | null;
  latenciesMs: number[];
}

const POLICIES: Policy[] = [true, false].flatMap((categories) =>
  TOPIC_COUNTS.map((topics) => ({ topics, categories })),
);

const { values: flags } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    json: { type: 'string', default: join(BENCH_SCRATCH, 'guardrails.json') },
  },
});
const rounds = Number(flags.rounds ?? (flags.quick ? 1 : 5));
const requests = flags.quick ? 50 : 200;

/** Ordinary words in random order: no topic occurs in them, so nothing is flagged. */
function writeMessage(length: number, random: () => number): string {
  const words = 'order delivery the wheel please repair invoice for house river another bicycle measure of'.split(' ');
  let message = '';
  while (message.length < length)
    message += `${words[Math.floor(random() * words.length)]}${random() < 0.1 ? '. ' : ' '}`;
  return message.slice(0, length);
}

/** Half single words and half phrases, which share beginnings with each other and with the messages. */
function denyList(topics: number): TopicRule[] {
  const topic = (index: number): string => (index % 2 === 0 ? `wheelwright${index}` : `delivery number ${index}`);
  return Array.from({ length: topics }, (_, index) => ({ topic: topic(index), action: 'block' }));
}

function policyBody({ topics, categories }: Policy): object {
  const threshold = categories ? null : 1;
  return {
    enabled: true,
    thresholds: mapCategories(() => threshold),
    topic_deny_list: denyList(topics),
  };
}

async function sendPolicy(target: Target, method: string, path: string, body: object): Promise<{ id: string }> {
  const response = await fetch(`${target.origin}/v1/guardrail-policies${path}`, {
    method,
    headers: { ...target.headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${method} of the policy answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as { id: string };
}

async function measureWindow(target: Target, prompt: string): Promise<number[]> {
  const connection = await Connection.open(target.origin);
  const request = new NumberedBytes(chatRequest(target, { stream: false, prompt }));
  const latenciesMs: number[] = [];
  for (let sent = -WARMUP_REQUESTS; sent < requests; sent += 1) {
    const answer = await connection.exchange(request.next());
    const defect = findDefect(answer, { stream: false });
    if (defect !== undefined) throw new Error(defect);
    if (sent >= 0) latenciesMs.push(answer.totalMs);
  }
  connection.destroy();
  return latenciesMs;
}

/** Measures every policy in every round, each between two windows without a policy. */
async function measure(target: Target): Promise<Window[]> {
  const windows: Window[] = [];
  const { id } = await sendPolicy(target, 'POST', '', { name: 'bench', enabled: false, apply_to: ['both'] });
  const steps = [null, ...POLICIES.flatMap((policy) => [policy, null])];
  for (let round = 0; round < rounds; round += 1) {
    const random = seededUniform(round + 1);
    const messages = LENGTHS.map((length) => writeMessage(length, random));
    for (const [index, policy] of steps.entries()) {
      await sendPolicy(target, 'PUT', `/${id}`, policy === null ? { enabled: false } : policyBody(policy));
      await delay(POLICY_DELAY_MS);
      for (const message of messages) {
        windows.push({ round, length: message.length, policy, latenciesMs: await measureWindow(target, message) });
      }
      showProgress(round * steps.length + index + 1, rounds * steps.length, 'windows');
    }
  }
  return windows;
}

/** Difference of a quantile to that without a policy in the same round, over the rounds. */
function addedLatency(windows: readonly Window[], length: number, policy: Policy, q: number): string {
  const ofRound = (round: number, wanted: Policy | null): number[] =>
    windows
      .filter((window) => window.round === round && window.length === length && window.policy === wanted)
      .flatMap(({ latenciesMs }) => latenciesMs);
  const added = Array.from(
    { length: rounds },
    (_, round) => quantile(ofRound(round, policy), q) - quantile(ofRound(round, null), q),
  );
  return formatSummary(summarize(added), 2);
}

function printTables(windows: readonly Window[]): void {
  for (const length of LENGTHS) {
    console.log(
      renderTable({
        title: `Message of ${length.toLocaleString('en')} characters: added milliseconds`,
        columns: ['Policy', 'p50', 'p99'],
        rows: POLICIES.map((policy) => [
          `${policy.topics} topics, categories ${policy.categories ? 'on' : 'off'}`,
          addedLatency(windows, length, policy, 0.5),
          addedLatency(windows, length, policy, 0.99),
        ]),
      }),
      '\n',
    );
  }
}

/**
 * Time of the evaluation alone in this process, with given scores: topics and thresholds, without the model, HTTP and
 * other processes.
 */
async function printEvaluation(): Promise<void> {
  const scores = mapCategories(() => 0);
  const scoreTexts = async (texts: readonly string[]) => texts.map(() => scores);
  const rows: string[][] = [];
  for (const length of LENGTHS) {
    const message = writeMessage(length, seededUniform(1));
    for (const topics of TOPIC_COUNTS) {
      const policy = { blockOnFlag: true, thresholds: resolveThresholds({}), applyTo: ['both' as const] };
      const evaluator = new PolicyEvaluator({ ...policy, topicDenyList: denyList(topics), matchConfusables: false });
      const timesMs: number[] = [];
      for (let run = 0; run < EVALUATIONS; run += 1) {
        const startedAt = performance.now();
        await evaluator.evaluate({ scoreTexts }, [message], 'org');
        timesMs.push(performance.now() - startedAt);
      }
      const warm = timesMs.slice(EVALUATIONS / 2);
      rows.push([`${length}`, `${topics}`, quantile(warm, 0.5).toFixed(3), quantile(warm, 0.99).toFixed(3)]);
    }
  }
  const title = 'Topics and thresholds alone: milliseconds';
  console.log(renderTable({ title, columns: ['Characters', 'Topics', 'p50', 'p99'], rows }), '\n');
}

async function main(): Promise<void> {
  const machine = describeMachine();
  const mock = await startMock();
  const quire = await startQuire(`${mock.origin}/v1`);
  try {
    const windows = await measure({ origin: quire.origin, headers: { authorization: `Bearer ${quire.apiKey}` } });
    console.log(`\n${formatMachine(machine)}\n${rounds} rounds of ${requests} requests a window, one at a time.\n`);
    printTables(windows);
    await printEvaluation();
    await writeResult(flags.json, { machine, rounds, requests, windows });
  } finally {
    await quire.stop();
    await mock.stop();
  }
}

await runCommand(main);
