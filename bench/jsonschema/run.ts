/** Evaluates the schema compiler; see bench/README.md. */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { BUNDLED_MODELS } from '@quire/bundled-models';
import { getLlama, type Llama, LlamaLogLevel } from 'node-llama-cpp';
import { CHECKOUT, runCommand, showProgress, writeResult } from '../harness/command.ts';
import { requireDataFiles } from '../harness/data-set.ts';
import { quantile } from '../harness/statistics.ts';
import { readArchive } from './archive.ts';
import { type Compiled, compile } from './compile.ts';
import { generate, startEngine } from './generate.ts';
import { ordered, parseExactly } from './instances.ts';
import { judgeSuite } from './suite.ts';
import { onlyRepeatsItems, validator } from './validate.ts';

const { values: flags } = parseArgs({
  options: {
    data: { type: 'string' },
    suite: { type: 'string' },
    outputs: { type: 'string', default: '200' },
    model: { type: 'string', default: BUNDLED_MODELS.chat.file },
    json: { type: 'string', default: join(CHECKOUT, '.scratch/bench/jsonschema.json') },
  },
});

interface Sheet {
  schemas: number;
  enforced: number;
  p50Ms: number;
  p99Ms: number;
  refused: Record<string, number>;
}

interface Test {
  valid: boolean;
  data: unknown;
}

function summarise(results: readonly Compiled[]): Sheet {
  const times = results.map((one) => one.ms);
  const refused = new Map<string, number>();
  for (const one of results) if (one.kind === 'refused') refused.set(one.keyword, (refused.get(one.keyword) ?? 0) + 1);
  return {
    schemas: results.length,
    enforced: results.filter((one) => one.kind === 'enforced').length,
    p50Ms: quantile(times, 0.5),
    p99Ms: quantile(times, 0.99),
    refused: Object.fromEntries([...refused].sort((a, b) => b[1] - a[1])),
  };
}

async function compileAll(folder: string): Promise<Sheet> {
  const files = readArchive(join(folder, 'jsonschemabench_dev.tar.gz'));
  const results = files.map((file, i) => {
    showProgress(i + 1, files.length, 'jsonschemabench');
    return compile(JSON.parse(file.text));
  });
  return summarise(results);
}

const openLlama = (): Promise<Llama> =>
  getLlama({ gpu: false, build: 'never', skipDownload: true, progressLogs: false, logLevel: LlamaLogLevel.disabled });

/** Compiles MaskBench's schemas, and checks which instances llama.cpp accepts with their grammars. */
async function judgeInstances(folder: string) {
  const llama = await openLlama();
  const files = readArchive(join(folder, 'maskbench_dev.tar.gz'));
  const found = {
    valid: 0,
    invalid: 0,
    wronglyAccepted: [] as string[],
    repeatedItems: [] as string[],
    otherOrder: [] as string[],
    wronglyRejected: [] as string[],
  };
  const results: Compiled[] = [];
  const schemas: Record<string, unknown>[] = [];
  for (const [i, file] of files.entries()) {
    showProgress(i + 1, files.length, 'maskbench');
    const { schema } = JSON.parse(file.text) as { schema: Record<string, unknown> };
    const { tests } = parseExactly(file.text) as { tests: Test[] };
    const result = compile(schema);
    results.push(result);
    if (result.kind === 'refused') continue;
    schemas.push(schema);
    const grammar = (await llama.createGrammar({ grammar: result.grammar })) as unknown as {
      _testText(text: string): boolean;
    };
    for (const [at, { valid, data }] of tests.entries()) {
      const name = `${file.name}#${at}`;
      found[valid ? 'valid' : 'invalid'] += 1;
      const asWritten = grammar._testText(JSON.stringify(data));
      const taken = asWritten || grammar._testText(JSON.stringify(ordered(data, [schema], schema)));
      if (taken && !valid) {
        const repeats = onlyRepeatsItems(schema, JSON.parse(JSON.stringify(data)));
        (repeats ? found.repeatedItems : found.wronglyAccepted).push(name);
      }
      if (valid && taken && !asWritten) found.otherOrder.push(name);
      if (valid && !taken) found.wronglyRejected.push(name);
    }
  }
  return { ...summarise(results), ...found, schemasEnforced: schemas };
}

/** Generates outputs for a sample of the enforced schemas and validates them with Ajv. */
async function judgeOutputs(schemas: readonly Record<string, unknown>[], wanted: number) {
  const engine = startEngine(flags.model);
  const found = { whole: 0, cut: 0, failed: 0, unjudged: 0, invalid: [] as { schema: unknown; text: string }[] };
  try {
    const step = Math.max(1, Math.floor(schemas.length / Math.max(1, wanted)));
    const chosen = schemas.filter((_, i) => i % step === 0).slice(0, wanted);
    for (const [i, schema] of chosen.entries()) {
      showProgress(i + 1, chosen.length, 'outputs');
      const check = validator(schema);
      const output = check === null ? null : await generate(engine, schema, i);
      if (check === null) found.unjudged += 1;
      else if (output === null) found.failed += 1;
      else if (output.isCut) found.cut += 1;
      else if (check(JSON.parse(output.text))) found.whole += 1;
      else found.invalid.push({ schema, text: output.text });
    }
  } finally {
    await engine.close();
  }
  return found;
}

const ARCHIVE_FILES = ['jsonschemabench_dev.tar.gz', 'maskbench_dev.tar.gz'].map((name) => `jsonschema/${name}`);

/** Runs a clone of JSON-Schema-Test-Suite. */
async function runSuite(folder: string): Promise<void> {
  const sheets = await judgeSuite(folder, await openLlama());
  for (const [engine, sheet] of Object.entries(sheets)) {
    process.stdout.write(
      `${engine.padEnd(8)} ${sheet.schemas} schemas: ${sheet.enforced} enforced, ${sheet.rejected} rejected by keyword; violated ${sheet.violated.length}, repeated items ${sheet.repeatedItems.length}\n`,
    );
    for (const violation of [...sheet.violated, ...sheet.repeatedItems]) process.stdout.write(`  ${violation}\n`);
  }
  await writeResult(flags.json, sheets);
  process.exit(Object.values(sheets).some(({ violated }) => violated.length > 0) ? 1 : 0);
}

async function main(): Promise<void> {
  if (flags.suite !== undefined) return runSuite(flags.suite);
  const folder = join(requireDataFiles(flags.data, ARCHIVE_FILES), 'jsonschema');
  const mask = await judgeInstances(folder);
  const { schemasEnforced, ...maskbench } = mask;
  const outputs = await judgeOutputs(schemasEnforced, Number(flags.outputs));
  const jsonschemabench = await compileAll(folder);
  const share = (sheet: Sheet): string =>
    `${sheet.enforced} of ${sheet.schemas} enforced (${((100 * sheet.enforced) / sheet.schemas).toFixed(1)} %), compile p50 ${sheet.p50Ms.toFixed(1)} ms, p99 ${sheet.p99Ms.toFixed(0)} ms`;
  process.stdout.write(`jsonschemabench  ${share(jsonschemabench)}\n`);
  process.stdout.write(`maskbench        ${share(maskbench)}\n`);
  process.stdout.write(
    `  instances: ${maskbench.invalid} invalid, wrongly accepted ${maskbench.wronglyAccepted.length}, accepted with repeated items ${maskbench.repeatedItems.length}; ${maskbench.valid} valid, wrongly rejected ${maskbench.wronglyRejected.length}, taken in the schema's order only ${maskbench.otherOrder.length}\n`,
  );
  process.stdout.write(
    `  outputs at temperature 2: ${outputs.whole} valid, ${outputs.invalid.length} invalid, ${outputs.cut} cut by max_tokens, ${outputs.failed} failed, ${outputs.unjudged} whose schema Ajv does not take\n`,
  );
  for (const [name, sheet] of [
    ['jsonschemabench', jsonschemabench],
    ['maskbench', maskbench],
  ] as const) {
    process.stdout.write(`Refused of ${name}, by keyword\n`);
    for (const [keyword, count] of Object.entries(sheet.refused))
      process.stdout.write(`  ${String(count).padStart(5)}  ${keyword}\n`);
  }
  await writeResult(flags.json, { jsonschemabench, maskbench, outputs });
  // The embedding of llama.cpp keeps the process alive.
  process.exit(maskbench.wronglyAccepted.length + outputs.invalid.length > 0 ? 1 : 0);
}

await runCommand(main);
