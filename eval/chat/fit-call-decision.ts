/**
 * Fits the weights of `packages/bundled-models/src/chat/call-decision.ts`: `fit-call-decision.ts DATA [--report]`.
 * Computes for each turn the margin of the model (logit of a call minus the largest other one) and the features, fits a
 * logistic regression on development turns with the margin as one input, and prints the weights in units of the margin,
 * cross-validated rates, and with `--report` the rates of the other halves.
 */
import { parseArgs } from 'node:util';
import {
  BUNDLED_MODELS,
  CHAT_TEMPLATE,
  extractCallFeatures,
  MAX_CALL_BIAS,
  MIN_CALL_BIAS,
  selectTool,
} from '@quire/bundled-models';
import type { Token } from 'node-llama-cpp';
import { readJsonLines } from '../../bench/harness/data-set.ts';
import { ChatTemplate } from '../../src/engines/llama/prompt/chat-template.ts';
import { asToken } from '../../src/engines/llama/runtime/bindings.ts';
import { openGguf } from '../../src/engines/llama/runtime/open-gguf.ts';
import { LlamaTokenizer } from '../../src/engines/llama/tokenizer/llama-tokenizer.ts';
import { TimeSlice } from '../../src/lib/time-slices.ts';
import { apiBank, bfcl, quiet, sgd, type ToolCase, turnsOf } from './tool-cases.ts';

const MODEL = BUNDLED_MODELS.chat.file;
const CONTEXT_TOKENS = 4_096;
/** Weight of the turns of each set: the sets differ in size and in how much their turns resemble requests. */
const SET_WEIGHTS: Readonly<Record<string, number>> = {
  'API-Bank': 2,
  'SGD, known': 2,
  'SGD, unseen': 1.5,
  'SGD, train': 1.5,
  'small talk': 3,
  'Taskmaster-4': 0.3,
  CLINC150: 1.5,
  Dolly: 1.5,
};
const FOLDS = 5;
/** Neighbouring turns share a fold, because they are of one dialogue. */
const FOLD_BLOCK = 25;
const STEPS = 400;
const STEP_SIZE = 0.05;
const L2 = 1;

interface Turn extends ToolCase {
  set: string;
  tool: number;
  margin: number;
  /** The features, and the margin last. */
  inputs: number[];
}

type Unread = Omit<Turn, 'tool' | 'margin' | 'inputs'>;

function spread<T>(items: readonly T[], most: number): T[] {
  if (items.length <= most) return [...items];
  return Array.from({ length: most }, (_, i) => items[Math.floor((i * items.length) / most)] as T);
}

const label = (set: string, cases: readonly ToolCase[]): Unread[] => cases.map((one) => ({ set, ...one }));
const isCall = ({ wanted }: ToolCase): boolean => wanted !== null;

function balance(cases: readonly ToolCase[], most: number): ToolCase[] {
  return [
    ...spread(cases.filter(isCall), most),
    ...spread(
      cases.filter((one) => !isCall(one)),
      most,
    ),
  ];
}

/** Turns of the sets of `npm run eval:chat`. */
function evaluationTurns(data: string, half: number, most: number): Unread[] {
  const [dialogues, single] = [sgd(data, half), bfcl(data, half)];
  return [
    ...label('SGD, known', balance(dialogues.known, most)),
    ...label('SGD, unseen', balance(dialogues.unseen, most)),
    ...label('BFCL, alone', spread(single.alone, most)),
    ...label('BFCL, among four', spread(single.among, most)),
    ...label('API-Bank', apiBank(data, half)),
    ...label('small talk', quiet(data, half)),
  ];
}

/** Turns of training sets, and requests and questions with tools that do not fit. */
function trainingTurns(data: string): Unread[] {
  const every = (file: string, step: number): ToolCase[] =>
    turnsOf(readJsonLines<Parameters<typeof turnsOf>[0][number]>(data, file).filter((_, i) => i % step === 0));
  const lists = [
    ...bfcl(data, 0).among.map(({ tools }) => tools.slice(0, 2)),
    ...apiBank(data, 0).map(({ tools }) => tools),
  ];
  const unfit = (set: string, texts: readonly string[]): Unread[] =>
    texts.map((content, i) => {
      const tools = lists[(i * 7) % lists.length] ?? [];
      return { set, messages: [{ role: 'user', content }], tools, wanted: null };
    });
  const intents = readJsonLines<{ text: string; split: string }>(data, 'chat/clinc150_intents.jsonl.gz');
  const requests = intents.filter(({ split }) => !split.endsWith('test')).map(({ text }) => text);
  const dolly = readJsonLines<{ messages: { content: string }[] }>(data, 'chat/dolly_1000.jsonl.gz');
  return [
    ...label('SGD, train', balance(every('chat/sgd_tool_dialogues_train.jsonl.gz', 40), 300)),
    ...label('Taskmaster-4', balance(every('chat/taskmaster4_tool_dialogues.jsonl.gz', 30), 100)),
    ...unfit('CLINC150', spread(requests, 150)),
    ...unfit(
      'Dolly',
      spread(dolly, 100).map(({ messages }) => (messages[0]?.content ?? '').slice(0, 400)),
    ),
  ];
}

async function readMargins(turns: readonly Unread[]): Promise<Turn[]> {
  const { model } = await openGguf(MODEL, 'generation');
  const context = await model.createContext({ sequences: 1, contextSize: CONTEXT_TOKENS, threads: 1 });
  const tokenizer = new LlamaTokenizer(model);
  const controls = tokenizer.controlTokens.map(({ text }) => text);
  const { bosString, eosString } = model.tokens;
  const template = new ChatTemplate(CHAT_TEMPLATE, controls, { bos: bosString ?? '', eos: eosString ?? '' });
  const marker = tokenizer.definedToken(template.toolCallFormat.begin);
  const sequence = context.getSequence();
  const read: Turn[] = [];
  for (const turn of turns) {
    // The bias is zero after a tool result.
    if (turn.messages.at(-1)?.role !== 'user') continue;
    const index = selectTool(turn.tools, turn.messages);
    const tool = turn.tools[index];
    if (tool === undefined) continue;
    const { text, mark } = template.render(turn.messages, [tool]);
    const tokens = await tokenizer.tokenizePrompt(text, mark, 2 * CONTEXT_TOKENS, new TimeSlice(''));
    if (tokens.length >= CONTEXT_TOKENS) continue;
    await sequence.adaptStateToTokens(tokens.slice(0, -1).map(asToken), false);
    const added = tokens.slice(sequence.nextTokenIndex).map(asToken);
    const last = added.pop() as Token;
    const results = await sequence.controlledEvaluate([...added, [last, { generateNext: { probabilities: true } }]]);
    let [call, other] = [Number.MIN_VALUE, Number.MIN_VALUE];
    for (const [token, probability] of results.at(-1)?.next.probabilities ?? []) {
      if (token === marker) call = Math.max(call, probability);
      else other = Math.max(other, probability);
    }
    const margin = Math.max(-10, Math.min(10, Math.log(call / other)));
    const inputs = [...Object.values(extractCallFeatures(tool, turn.messages)), margin];
    read.push({ ...turn, tool: index, margin, inputs });
  }
  return read;
}

/**
 * Logistic regression by Adam, on standardised inputs. Returns the weights of the inputs in units of the last one, the
 * margin.
 */
function fit(turns: readonly Turn[]): number[] {
  const size = turns[0]?.inputs.length ?? 0;
  const mean = Array.from(
    { length: size },
    (_, j) => turns.reduce((sum, { inputs }) => sum + (inputs[j] ?? 0), 0) / turns.length,
  );
  const deviation = mean.map(
    (m, j) => Math.sqrt(turns.reduce((sum, { inputs }) => sum + ((inputs[j] ?? 0) - m) ** 2, 0) / turns.length) || 1,
  );
  // The first input is the constant 1.
  const rows = turns.map(({ inputs }) =>
    inputs.map((x, j) => (j === 0 ? 1 : (x - (mean[j] ?? 0)) / (deviation[j] ?? 1))),
  );
  const importance = turns.map(({ set }) => SET_WEIGHTS[set] ?? 1);
  const total = importance.reduce((sum, each) => sum + each, 0);
  const weights: number[] = mean.map(() => 0);
  const [first, second] = [mean.map(() => 0), mean.map(() => 0)];
  for (let step = 1; step <= STEPS; step++) {
    const gradient = weights.map((weight, j) => (j === 0 ? 0 : (L2 * weight) / rows.length));
    for (const [i, row] of rows.entries()) {
      const sum = row.reduce((all, x, j) => all + x * (weights[j] ?? 0), 0);
      const error = ((importance[i] ?? 1) * (1 / (1 + Math.exp(-sum)) - Number(isCall(turns[i] as Turn)))) / total;
      for (const [j, x] of row.entries()) gradient[j] = (gradient[j] ?? 0) + error * x;
    }
    for (const [j, slope] of gradient.entries()) {
      first[j] = 0.9 * (first[j] ?? 0) + 0.1 * slope;
      second[j] = 0.99 * (second[j] ?? 0) + 0.01 * slope * slope;
      const rate = STEP_SIZE / (Math.sqrt((second[j] ?? 0) / (1 - 0.99 ** step)) + 1e-8);
      weights[j] = (weights[j] ?? 0) - (rate * (first[j] ?? 0)) / (1 - 0.9 ** step);
    }
  }
  const plain = weights.map((weight, j) => (j === 0 ? weight : weight / (deviation[j] ?? 1)));
  plain[0] = plain.reduce((sum, weight, j) => (j === 0 ? sum : sum - weight * (mean[j] ?? 0)), plain[0] ?? 0);
  return plain.map((weight) => weight / (plain.at(-1) ?? 1));
}

function biasOf(weights: readonly number[], { inputs }: Turn): number {
  const sum = inputs.slice(0, -1).reduce((all, x, j) => all + x * (weights[j] ?? 0), 0);
  return Math.max(MIN_CALL_BIAS, Math.min(MAX_CALL_BIAS, sum));
}

/** Prints calls of turns that call and replies of turns that talk, of the model alone and with the bias. */
function printRates(title: string, turns: readonly Turn[], bias: (turn: Turn, at: number) => number): void {
  process.stdout.write(`${title}\n`);
  const biases = new Map(turns.map((turn, at) => [turn, bias(turn, at)]));
  for (const set of new Set(turns.map((turn) => turn.set))) {
    const rate = (calls: boolean, withBias: boolean): string => {
      const chosen = turns.filter((turn) => turn.set === set && isCall(turn) === calls);
      const right = chosen.filter(
        (turn) => turn.margin + (withBias ? (biases.get(turn) ?? 0) : 0) > 0 === calls,
      ).length;
      return chosen.length === 0 ? '-' : `${(right / chosen.length).toFixed(3)} of ${chosen.length}`;
    };
    process.stdout.write(
      `  ${set}: calls ${rate(true, false)} -> ${rate(true, true)}, replies ${rate(false, false)} -> ${rate(false, true)}\n`,
    );
  }
}

const { values, positionals } = parseArgs({ allowPositionals: true, options: { report: { type: 'boolean' } } });
const [data = ''] = positionals;
const turns = await readMargins([...evaluationTurns(data, 0, 200), ...trainingTurns(data)]);
const fold = (at: number): number => Math.floor(at / FOLD_BLOCK) % FOLDS;
const byFold = Array.from({ length: FOLDS }, (_, held) => fit(turns.filter((_turn, at) => fold(at) !== held)));
printRates('development, cross-validated', turns, (turn, at) => biasOf(byFold[fold(at)] ?? [], turn));
const weights = fit(turns);
const names = Object.keys(extractCallFeatures({ function: { name: 'f' } }, []));
process.stdout.write(`${names.map((name, j) => `  ${name}: ${(weights[j] ?? 0).toFixed(2)},`).join('\n')}\n`);
if (values.report === true) {
  printRates('report', await readMargins(evaluationTurns(data, 1, 150)), (turn) => biasOf(weights, turn));
}
// The embedding of llama.cpp keeps the process alive.
process.exit(0);
