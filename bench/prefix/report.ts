import { summarize } from '../harness/statistics.ts';
import { formatSummary, type TextTable } from '../harness/text-table.ts';
import { type FirstToken, HITS } from './first-token.ts';
import type { OverheadRound, OverheadWindow } from './overhead.ts';
import type { Difference, Repeatability } from './repeatability.ts';
import type { TenantTimes } from './tenants.ts';

/** The hit rates of one trace: of each cache, by capacity in blocks. */
export interface TraceRates {
  trace: string;
  requests: number;
  distinctBlocks: number;
  ideal: number;
  rates: { capacityBlocks: number; paged: number; quire: number }[];
}

/** Times to the first token, and their part of the cold one's of the same round. */
export function firstTokenTable(found: readonly FirstToken[]): TextTable {
  const lengths = [...new Set(found.map(({ prefixTokens }) => prefixTokens))];
  const of = (hit: FirstToken['hit'], length: number): FirstToken[] =>
    found.filter((one) => one.hit === hit && one.prefixTokens === length);
  const rows = HITS.flatMap((hit) =>
    lengths.map((length) => {
      const own = of(hit, length);
      const parts = own.map(({ milliseconds, round }) => {
        const cold = of('cold', length).find((one) => one.round === round);
        return (milliseconds / (cold?.milliseconds ?? Number.NaN)) * 100;
      });
      const cached = summarize(own.map(({ cachedTokens }) => cachedTokens));
      const times = formatSummary(summarize(own.map(({ milliseconds }) => milliseconds)), 0);
      return [
        hit,
        String(length),
        formatSummary(cached, 0),
        times,
        hit === 'cold' ? '' : formatSummary(summarize(parts), 1),
      ];
    }),
  );
  return {
    title: 'Time to the first token',
    columns: ['found', 'tokens shared', 'tokens cached', 'ms', '% of cold (aim <= 10)'],
    rows,
  };
}

/** Throughput and CPU time with saved states, relative to those without, and their noise. */
export function overheadTable(rounds: readonly OverheadRound[]): TextTable {
  const row = (what: string, of: (round: OverheadRound) => OverheadWindow): string[] => {
    const speeds = rounds.map((round) => of(round).tokensPerSecond / round.off.tokensPerSecond);
    const cpu = rounds.map((round) => (of(round).cpuMs ?? Number.NaN) / (round.off.cpuMs ?? Number.NaN));
    return [what, withError(speeds), withError(cpu)];
  };
  return {
    title: 'Nothing is ever asked for twice: as a part of what the engine does that saves nothing (aim >= 0.99)',
    columns: ['', 'tokens per second', 'CPU of the model’s process per request'],
    rows: [row('cache on', ({ on }) => on), row('off again: the noise', ({ control }) => control)],
  };
}

/** The mean of ratios (of their logarithms, so that a ratio and its inverse weigh the same) with its standard error. */
function withError(ratios: readonly number[]): string {
  const logs = ratios.map(Math.log).filter(Number.isFinite);
  if (logs.length < 2) return '-';
  const mean = logs.reduce((sum, log) => sum + log, 0) / logs.length;
  const variance = logs.reduce((sum, log) => sum + (log - mean) ** 2, 0) / (logs.length - 1);
  const error = Math.exp(mean) * Math.sqrt(variance / logs.length);
  return `${Math.exp(mean).toFixed(3)} ± ${error.toFixed(3)}, median ${summarize([...ratios]).median.toFixed(3)}`;
}

/** How many greedy answers differed. */
export function repeatabilityTable(found: readonly { model: string; result: Repeatability }[]): TextTable {
  const differing = ({ count, medianCharacters }: Difference): string =>
    count === 0 ? '0' : `${count} (half of them after ${medianCharacters} characters)`;
  return {
    title: 'Greedy answers of 64 tokens that differ from the one given alone with nothing cached',
    columns: ['model', 'prompts', 'alone again', 'prompt cached', 'beside 15 others'],
    rows: found.map(({ model, result }) => [
      model,
      String(result.prompts),
      differing(result.again),
      differing(result.cached),
      differing(result.beside),
    ]),
  };
}

/** Parts of prompts that were found, by capacity. */
export function traceTable({ trace, requests, distinctBlocks, ideal, rates }: TraceRates): TextTable {
  const percent = (rate: number): string => (rate * 100).toFixed(1);
  return {
    title: `${trace}: ${requests} requests, ${distinctBlocks} distinct blocks; ideal ${percent(ideal)} % of blocks found`,
    columns: ['capacity, blocks', 'Quire, %', 'of the ideal, %', 'paged memory, %'],
    rows: rates.map(({ capacityBlocks, paged, quire }) => [
      String(capacityBlocks),
      percent(quire),
      percent(quire / ideal),
      percent(paged),
    ]),
  };
}

/** Timing of prompts that another organization has sent before. */
export function tenantsTable(times: TenantTimes): TextTable {
  const row = (what: string, values: readonly number[]): string[] => [what, formatSummary(summarize([...values]), 1)];
  return {
    title:
      `First token of a prompt of 1,000 tokens, milliseconds; ${times.cachedTokens} tokens came from a cache; ` +
      `chance alone makes such a difference with p = ${times.probability.toFixed(2)}`,
    columns: ['', 'time to first token'],
    rows: [
      row('another organization asked it before', times.askedByAnother),
      row('nobody asked it before', times.askedByNobody),
    ],
  };
}
