import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** A span of a script with its execution count, as V8 writes it to `NODE_V8_COVERAGE`. */
interface CoverageRange {
  startOffset: number;
  endOffset: number;
  count: number;
}

interface CoverageReport {
  result: { url: string; functions: { ranges: CoverageRange[] }[] }[];
}

/** Executed spans `[start, end)` of a file, in UTF-16 offsets, sorted. Type stripping keeps offsets. */
export type CoveredSpans = readonly (readonly [start: number, end: number])[];

/** Returns the executed spans of each file over all processes of a run. Files that none of them loaded are missing. */
export function readCoverage(folder: string, root: string, paths: readonly string[]): Map<string, CoveredSpans> {
  const pathOfUrl = new Map(paths.map((path) => [pathToFileURL(join(root, path)).href, path]));
  const executed = new Map<string, Uint8Array>();
  const reports = existsSync(folder) ? readdirSync(folder) : [];
  for (const name of reports) {
    const { result } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as CoverageReport;
    for (const { url, functions } of result) {
      const path = pathOfUrl.get(url);
      if (path === undefined) continue;
      const painted = paintRanges(functions.flatMap(({ ranges }) => ranges));
      executed.set(path, union(executed.get(path), painted));
    }
  }
  return new Map([...executed].map(([path, offsets]) => [path, toSpans(offsets)]));
}

/** Marks executed offsets with 1. Ranges are nested; inner ones override outer ones. */
export function paintRanges(ranges: readonly CoverageRange[]): Uint8Array {
  const offsets = new Uint8Array(Math.max(0, ...ranges.map(({ endOffset }) => endOffset)));
  const outerFirst = ranges.toSorted((a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset);
  for (const { startOffset, endOffset, count } of outerFirst) offsets.fill(count > 0 ? 1 : 0, startOffset, endOffset);
  return offsets;
}

/** Whether the offset is in one of the spans. */
export function isCovered(spans: CoveredSpans | undefined, offset: number): boolean {
  return spans?.some(([start, end]) => start <= offset && offset < end) ?? false;
}

function union(a: Uint8Array | undefined, b: Uint8Array): Uint8Array {
  if (a === undefined) return b;
  const [longer, shorter] = a.length >= b.length ? [a, b] : [b, a];
  for (const [offset, ran] of shorter.entries()) if (ran === 1) longer[offset] = 1;
  return longer;
}

/** Converts the marks to spans. */
export function toSpans(offsets: Uint8Array): CoveredSpans {
  const spans: [number, number][] = [];
  for (let start = offsets.indexOf(1); start !== -1; ) {
    const zero = offsets.indexOf(0, start);
    const end = zero === -1 ? offsets.length : zero;
    spans.push([start, end]);
    start = offsets.indexOf(1, end);
  }
  return spans;
}
