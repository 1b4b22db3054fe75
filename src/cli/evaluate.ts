import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { InvalidArgumentError } from 'commander';
import type { EvaluationResource, EvaluationResult } from '../evaluations/schema.ts';
import { parseJson } from '../lib/json.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { type ApiClient, openApiClient } from './api-client.ts';
import { CliCommand } from './command.ts';
import { describeReadError } from './ingest/find-documents.ts';
import { Interrupted, runInterruptible } from './interrupted.ts';
import { requireKnowledgeBase } from './knowledge-base.ts';
import { formatCount, formatTable, printResult } from './output.ts';
import { formatCredits, parseCount } from './parse-values.ts';
import { StatusLine } from './status-line.ts';

const DEFAULT_MODEL = 'general-8b';
const POLL_MS = 500;

/** A bound of a measure: `recall@5=0.8`. */
interface Threshold {
  name: string;
  value: number;
}

interface EvalOptions {
  questions?: string;
  generate?: number;
  model: string;
  retrievalOnly?: boolean;
  judge?: string;
  search?: string;
  hybridWeight?: number;
  topK?: number;
  rerank?: boolean;
  baseline?: string;
  failBelow: Threshold[];
  failAbove: Threshold[];
  seed?: number;
  json?: boolean;
}

/** `quire kb eval`. */
export function evaluateCommand(): CliCommand {
  return new CliCommand('eval')
    .summary('Measure the search and the answers of a knowledge base')
    .description(
      'Measure how well a knowledge base is searched and answered from, with questions of a JSONL file or generated ones. Exits with 1 below a threshold, when a question fails, and when it is worse than the baseline.',
    )
    .argument('<name>', 'Name or id')
    .option('--questions <file>', 'JSONL file: {"question", "answer", "document", "passage"} or {"unanswerable": true}')
    .option('--generate <count>', 'Generate a question for each of so many passages instead', parseCount)
    .option('--model <id>', 'Chat model that answers, and that generates questions', DEFAULT_MODEL)
    .option('--retrieval-only', 'Measure the search only')
    .option('--judge <model>', 'Chat model that scores the answers against their reference')
    .option('--search <type>', 'hybrid, vector or keyword')
    .option('--hybrid-weight <number>', 'Weight of the vectors in a hybrid search, 0 to 1', parseWeight)
    .option('--top-k <count>', 'Chunks that the model answers from, 1 to 50', parseCount)
    .option('--rerank', 'Rerank the results')
    .option('--baseline <id>', 'Evaluation to compare with')
    .option('--fail-below <measure=value>', 'Fail below a value; may be repeated', addThreshold, [])
    .option('--fail-above <measure=value>', 'Fail above a value; may be repeated', addThreshold, [])
    .option('--seed <number>', 'Seed of samples and comparisons', parseCount)
    .jsonOption()
    .examples(
      'kb eval Harbour --questions questions.jsonl --fail-below recall@5=0.8',
      'kb eval Harbour --generate 50 --baseline eval_01k...',
      'kb eval Harbour --questions questions.jsonl --judge general-70b',
    )
    .action(evaluate);
}

function parseWeight(text: string): number {
  if (!/^(?:0?\.\d+|[01](?:\.0+)?)$/.test(text)) throw new InvalidArgumentError('Expected a number from 0 to 1.');
  return Number(text);
}

function addThreshold(text: string, thresholds: Threshold[]): Threshold[] {
  const [, name, value] = /^([a-z]\w*(?:@\d+)?)=(\d+(?:\.\d+)?|\.\d+)$/.exec(text) ?? [];
  if (name === undefined) throw new InvalidArgumentError('Expected a measure and a value such as recall@5=0.8.');
  return [...thresholds, { name, value: Number(value) }];
}

async function evaluate(name: string, options: EvalOptions): Promise<void> {
  const api = await openApiClient();
  const { id } = await requireKnowledgeBase(api, name);
  const path = `/v1/knowledge-bases/${id}/evaluations`;
  const created = await api.json<EvaluationResource>('POST', path, await buildRequest(options));
  const line = new StatusLine(process.stderr);
  const evaluation = await runInterruptible((signal) =>
    watchEvaluation(api, `${path}/${created.id}`, line, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
      throw new Interrupted(`Stopped watching. Evaluation ${created.id} goes on.`);
    }),
  ).finally(() => line.end());
  const results = options.json
    ? await Array.fromAsync(api.list<EvaluationResult>(`${path}/${created.id}/results`))
    : undefined;
  printResult(options, { ...evaluation, results }, () => formatEvaluation(evaluation));
  requireSuccess(evaluation, options);
}

async function buildRequest(options: EvalOptions): Promise<object> {
  const { questions, generate, model, judge, baseline, seed, search, hybridWeight, topK, rerank } = options;
  if ((questions === undefined) === (generate === undefined))
    throw new OperatorError('Name either --questions FILE or --generate COUNT.');
  if (judge !== undefined && options.retrievalOnly)
    throw new OperatorError('--judge scores answers: leave --retrieval-only out.');
  const configuration = {
    ...(!options.retrievalOnly && { model }),
    ...(search !== undefined && { search_type: search }),
    ...(hybridWeight !== undefined && { hybrid_weight: hybridWeight }),
    ...(topK !== undefined && { top_k: topK }),
    ...(rerank && { rerank }),
  };
  return {
    ...(questions === undefined
      ? { generate: { count: generate, model } }
      : { questions: await readQuestions(questions) }),
    configuration,
    ...(judge !== undefined && { judge_model: judge }),
    ...(baseline !== undefined && { baseline_id: baseline }),
    ...(seed !== undefined && { seed }),
  };
}

async function readQuestions(path: string): Promise<unknown[]> {
  const content = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new OperatorError(`${path}: ${describeReadError(error)}`);
  });
  const lines = content.replace(/^\ufeff/, '').split('\n');
  return lines.flatMap((line, index) => {
    if (line.trim() === '') return [];
    const question = parseJson(line);
    if (question === undefined) throw new OperatorError(`${path}: line ${index + 1} is not JSON.`);
    return [question];
  });
}

async function watchEvaluation(
  api: ApiClient,
  path: string,
  line: StatusLine,
  signal: AbortSignal,
): Promise<EvaluationResource> {
  for (;;) {
    const evaluation = await api.json<EvaluationResource>('GET', path, undefined, { signal });
    const { total, completed, failed, dropped } = evaluation.question_counts;
    line.show(evaluation.status, { done: completed + failed + dropped, total });
    if (evaluation.status !== 'queued' && evaluation.status !== 'running') return evaluation;
    await pause(POLL_MS, undefined, { signal });
  }
}

function formatEvaluation({
  id,
  status,
  question_counts,
  summary,
  comparison,
  cost_micros,
  judge_model,
}: EvaluationResource): string {
  const { total, completed, dropped } = question_counts;
  const number = (value: number | null | undefined) => (value === null || value === undefined ? '-' : value.toFixed(3));
  const rows = (summary?.measures ?? []).map(({ name, value, questions }) => {
    const compared = comparison?.measures.find((measure) => measure.name === name);
    if (compared === undefined) return [name, number(value), String(questions)];
    const { baseline, difference, low, high, verdict } = compared;
    return [
      name,
      number(value),
      String(questions),
      number(baseline),
      `${number(difference)} (${number(low)} to ${number(high)})`,
      verdict,
    ];
  });
  const header = [
    'MEASURE',
    'VALUE',
    'QUESTIONS',
    ...(comparison === null ? [] : ['BASELINE', 'DIFFERENCE (95 %)', 'VERDICT']),
  ];
  const latency = (['retrieval', 'answer'] as const).flatMap((name) => {
    const { p50 = null, p95 } = summary?.latency_ms[name] ?? {};
    return p50 === null ? [] : [`${name} ${p50} ms (95 %: ${p95} ms)`];
  });
  return [
    `Evaluation ${id}: ${status}, ${completed} of ${formatCount(total - dropped, 'question')} completed.`,
    ...(rows.length === 0 ? [] : ['', formatTable([header, ...rows]), '']),
    ...(latency.length === 0 ? [] : [`Median duration: ${latency.join(', ')}.`]),
    `Cost: ${formatCredits(cost_micros)} credits.`,
    ...(judge_model === null ? [] : [`Answers scored by ${judge_model}.`]),
    ...(comparison === null
      ? []
      : [`Compared with ${comparison.baseline_id}: ${VERDICTS[comparison.verdict]}${JUDGED[comparison.judged]}`]),
  ].join('\n');
}

const VERDICTS = {
  better: 'better.',
  worse: 'worse.',
  mixed: 'some measures are better, others worse.',
  unclear: 'no difference beyond chance.',
} as const;

const JUDGED = {
  neither: '',
  both: '',
  baseline_only: ' Only the baseline was scored by a judge model; its measures are not compared.',
  evaluation_only: ' The baseline was not scored by a judge model; its measures are not compared.',
  different_models: ' Other judge models scored the baseline; their measures are not compared.',
} as const;

/** Throws unless the evaluation has passed, so that the exit code says so. */
function requireSuccess(
  { status, error, question_counts, summary, comparison }: EvaluationResource,
  options: EvalOptions,
): void {
  if (status !== 'completed') throw new OperatorError(error?.message ?? `The evaluation is ${status}.`);
  if (question_counts.failed > 0) throw new OperatorError(`${formatCount(question_counts.failed, 'question')} failed.`);
  const check = (thresholds: readonly Threshold[], isMissed: (value: number, bound: number) => boolean, side: string) =>
    thresholds.flatMap(({ name, value: bound }) => {
      const measure = summary?.measures.find((one) => one.name === name);
      if (measure === undefined) return [`${name} was not measured`];
      return isMissed(measure.value, bound) ? [`${name} is ${measure.value.toFixed(3)}, ${side} ${bound}`] : [];
    });
  const missed = [
    ...check(options.failBelow, (value, bound) => value < bound, 'below'),
    ...check(options.failAbove, (value, bound) => value > bound, 'above'),
  ];
  if (missed.length > 0) throw new OperatorError(`${missed.join('; ')}.`);
  if (comparison?.verdict === 'worse') throw new OperatorError('The knowledge base is worse than in the baseline.');
}
