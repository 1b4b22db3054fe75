/** Evaluates `POST /v1/chat/completions` of the bundled chat model; eval/README.md says what is measured. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { runCommand } from '../../bench/harness/command.ts';
import { requireDataFiles } from '../../bench/harness/data-set.ts';
import { readRun, resultFiles, writeRun } from '../../bench/harness/evaluation.ts';
import { type MetricTable, renderMetricTable } from '../../bench/harness/metric-table.ts';
import { startQuire } from '../../bench/harness/quire-process.ts';
import { connectService } from '../../bench/harness/service-client.ts';
import type { EvaluatedModel } from './chat-client.ts';
import { QUESTION_FILES, qed, squad, xquad } from './question-cases.ts';
import { type QuestionPart, questionTable } from './question-table.ts';
import { talkTable } from './talk-table.ts';
import { apiBank, bfcl, quiet, sgd, TOOL_FILES } from './tool-cases.ts';
import { type ToolPart, toolTable } from './tool-table.ts';

/** A model id that is served by the bundled model by default. */
const BUNDLED = 'general-8b';
/** Characters per token on English text. */
const CHARACTERS_PER_TOKEN = 3.2;

const SHEETS = ['questions', 'tools', 'talk'];

async function main(): Promise<void> {
  const { values: flags } = parseArgs({
    options: {
      data: { type: 'string' },
      weights: { type: 'string', multiple: true, default: [] },
      half: { type: 'string', default: 'report' },
      most: { type: 'string', default: '300' },
      only: { type: 'string', multiple: true, default: SHEETS },
      before: { type: 'string' },
      json: { type: 'string' },
    },
  });
  const data = requireDataFiles(flags.data, [...Object.values(QUESTION_FILES), ...Object.values(TOOL_FILES)]);
  const files = resultFiles('chat', flags);
  const half = flags.half === 'development' ? 0 : 1;
  const folder = mkdtempSync(join(tmpdir(), 'quire-eval-'));
  const raw = flags.weights.map(
    (file, i): EvaluatedModel => ({ id: `weights-${i}`, name: `${file.split('/').pop()} alone` }),
  );
  const models = Object.fromEntries(
    raw.map(({ id }, i) => [id, { engine: 'local', file: resolve(flags.weights[i] ?? '') }]),
  );
  // JSON is a subset of YAML.
  writeFileSync(join(folder, 'quire.yaml'), JSON.stringify({ models }));
  const quire = await startQuire(undefined, [], {
    QUIRE_LOCAL_CALIBRATION: 'off',
    QUIRE_CONFIG: join(folder, 'quire.yaml'),
  });
  const tables: MetricTable[] = [];
  try {
    const service = await connectService({ url: quire.origin, key: quire.apiKey });
    const backend = await service.servedBackend(BUNDLED);
    process.stdout.write(`${BUNDLED}: ${backend.model} (bundled)\n\n`);
    const subjects = [{ id: BUNDLED, name: 'bundled' }, ...raw];
    const before = readRun(files.before);
    const add = (table: MetricTable): void => {
      tables.push(table);
      process.stdout.write(`${renderMetricTable(table, before?.tables)}\n\n`);
    };
    if (flags.only.includes('questions')) {
      for (const part of questionParts(data, Number(flags.most)))
        add(await questionTable(service, subjects, part, half));
    }
    if (flags.only.includes('tools')) {
      for (const part of toolParts(data, Number(flags.most), half)) add(await toolTable(service, subjects, part));
    }
    if (flags.only.includes('talk')) add(await talkTable(service, subjects));
    writeRun(files.json, { at: new Date().toISOString(), backends: { [BUNDLED]: backend }, tables });
  } finally {
    await quire.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

function questionParts(data: string, most: number): QuestionPart[] {
  const [real, held, typed] = [xquad(data), squad(data), qed(data)];
  const ofTokens = (tokens: number) => ({ characters: tokens * CHARACTERS_PER_TOKEN });
  return [
    { name: 'XQuAD, five passages', set: real, amount: { passages: 5 }, most },
    { name: 'SQuAD held back, five passages', set: held, amount: { passages: 5 }, most },
    { name: 'QED, five passages', set: typed, amount: { passages: 5 }, most },
    { name: 'XQuAD, one passage', set: real, amount: { passages: 1 }, most },
    { name: 'XQuAD, 1,000 tokens', set: real, amount: ofTokens(1_000), most: Math.ceil(most / 3) },
    { name: 'XQuAD, 2,000 tokens', set: real, amount: ofTokens(2_000), most: Math.ceil(most / 3) },
    // Near the context of the bundled model, which 4,000 tokens exceed: the last passage and the question are added to
    // this size.
    { name: 'XQuAD, 3,000 tokens', set: real, amount: ofTokens(3_000), most: Math.ceil(most / 3) },
  ];
}

function toolParts(data: string, most: number, half: number): ToolPart[] {
  const [dialogues, single] = [sgd(data, half), bfcl(data, half)];
  return [
    { name: 'SGD, known tools', cases: dialogues.known, most: Math.ceil(most / 2) },
    { name: 'SGD, tools never seen', cases: dialogues.unseen, most: Math.ceil(most / 2) },
    { name: 'BFCL simple, the one tool', cases: single.alone, most: Math.ceil(most / 3) },
    { name: 'BFCL simple, among four', cases: single.among, most: Math.ceil(most / 3) },
    { name: 'API-Bank', cases: apiBank(data, half), most: Math.ceil(most / 3) },
    { name: 'small talk with tools', cases: quiet(data, half), most: Math.ceil(most / 3) },
  ];
}

await runCommand(main);
