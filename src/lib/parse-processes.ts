import { availableParallelism } from 'node:os';

/** Each process has connections to the database and memory of its own. */
const MAX_PROCESSES = 64;

/** Parses the value of `QUIRE_API_PROCESSES`. Throws an Error whose message completes the sentence "it ...". */
export function parseProcesses(value: unknown): number {
  const text = String(value);
  if (text.trim() === 'auto') return Math.min(MAX_PROCESSES, availableParallelism());
  const count = /^\s*\d{1,3}\s*$/.test(text) ? Number(text) : 0;
  if (count >= 1 && count <= MAX_PROCESSES) return count;
  throw new Error(`must be a number from 1 to ${MAX_PROCESSES}, or 'auto'`);
}
