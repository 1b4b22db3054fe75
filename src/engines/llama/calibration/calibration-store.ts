import { createHash } from 'node:crypto';
import { mkdir, open } from 'node:fs/promises';
import { cpus } from 'node:os';
import { dirname } from 'node:path';
import { Type } from 'typebox';
import { readJsonFile, writeJsonFile } from '../../../lib/json-file.ts';
import type { StepTime } from './calibration.ts';

/** Version of the measurements. Stored results of other versions are ignored. */
const VERSION = 2;
/** Maximum number of stored results. The oldest are dropped. */
const MAX_ENTRIES = 32;
/** Bytes at the start of a model file that identify it: they contain all metadata. */
const FINGERPRINT_BYTES = 1_048_576;

const StoredStepTimes = Type.Object({
  version: Type.Literal(VERSION),
  entries: Type.Array(
    Type.Object({
      key: Type.String(),
      times: Type.Array(
        Type.Object({
          threads: Type.Integer({ minimum: 1 }),
          slots: Type.Integer({ minimum: 1 }),
          tokens: Type.Integer({ minimum: 1 }),
          milliseconds: Type.Number({ exclusiveMinimum: 0 }),
        }),
        { minItems: 1 },
      ),
    }),
  ),
});

/** Returns the key of stored measurements: model, CPU, llama.cpp release and thread counts. */
export async function stepTimesKey(modelFile: string, runtime: string, threads: readonly number[]): Promise<string> {
  const file = await open(modelFile);
  try {
    const { size } = await file.stat();
    const { buffer, bytesRead } = await file.read(Buffer.alloc(FINGERPRINT_BYTES), 0, FINGERPRINT_BYTES, 0);
    const head = createHash('sha256').update(buffer.subarray(0, bytesRead)).digest('hex');
    const processors = cpus();
    return JSON.stringify([head, size, runtime, processors[0]?.model ?? '', processors.length, threads]);
  } finally {
    await file.close();
  }
}

/** Returns stored measurements; null when there are none or the file is damaged. Never throws. */
export async function readStepTimes(path: string, key: string): Promise<StepTime[] | null> {
  return (await readEntries(path)).find((entry) => entry.key === key)?.times ?? null;
}

/** Stores measurements. Two concurrent calls may lose the result of one, but never damage the file. */
export async function writeStepTimes(path: string, key: string, times: readonly StepTime[]): Promise<void> {
  const others = (await readEntries(path)).filter((entry) => entry.key !== key);
  const entries = [...others, { key, times }].slice(-MAX_ENTRIES);
  await mkdir(dirname(path), { recursive: true });
  await writeJsonFile(path, { version: VERSION, entries });
}

/** A file that is missing or damaged has no entries: measurements are repeated and written again. */
async function readEntries(path: string): Promise<{ key: string; times: StepTime[] }[]> {
  return (await readJsonFile(path, StoredStepTimes).catch(() => null))?.entries ?? [];
}
