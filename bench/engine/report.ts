import { quantile, summarize } from '../harness/statistics.ts';
import { formatSummary, type TextTable } from '../harness/text-table.ts';
import type { RoundFigures } from './measure.ts';

/** Figures of all rounds of one model, with ratios to `reference` within a round if it took part. */
export function engineTables(rounds: readonly RoundFigures[], model: string, reference: string): TextTable[] {
  const names = [...new Set(rounds.map((figures) => figures.contender))];
  const concurrency = [...new Set(rounds.flatMap((figures) => figures.decode.map(({ requests }) => requests)))];
  const decodeOf = (requests: number, key: 'wholePerSecond' | 'decodePerSecond') => (figures: RoundFigures) =>
    figures.decode.find((figure) => figure.requests === requests)?.[key] ?? Number.NaN;
  const measures: [string, (figures: RoundFigures) => number][] = [
    ...concurrency.map((requests): [string, (figures: RoundFigures) => number] => [
      `${requests} at once, with prompts`,
      decodeOf(requests, 'wholePerSecond'),
    ]),
    ...concurrency.map((requests): [string, (figures: RoundFigures) => number] => [
      `${requests} at once, decoding only`,
      decodeOf(requests, 'decodePerSecond'),
    ]),
    ['prefill', (figures) => figures.prefillPerSecond],
    ['4 streams beside long prompts', (figures) => figures.mixed.streamsPerSecond],
  ];
  const of = (name: string): RoundFigures[] => rounds.filter((figures) => figures.contender === name);
  const speed = measures.map(([what, figure]) => [
    what,
    ...names.map((name) => formatSummary(summarize(of(name).map(figure)), 0)),
    ...names.flatMap((name) =>
      name === reference ? [] : [formatSummary(summarize(ratios(of(name), of(reference), figure)), 2)],
    ),
  ]);
  const ratioColumns = names.flatMap((name) => (name === reference ? [] : [`${name} / ${reference}`]));
  return [
    { title: `${model}: tokens per second`, columns: ['', ...names, ...ratioColumns], rows: speed },
    mixedTable(model, names, of),
  ];
}

function ratios(
  ours: readonly RoundFigures[],
  theirs: readonly RoundFigures[],
  figure: (figures: RoundFigures) => number,
): number[] {
  return ours.flatMap((figures) => {
    const other = theirs.find(({ round }) => round === figures.round);
    return other === undefined ? [] : [figure(figures) / figure(other)];
  });
}

function mixedTable(model: string, names: readonly string[], of: (name: string) => RoundFigures[]): TextTable {
  const first = (name: string): number[] => of(name).flatMap((figures) => figures.mixed.firstTokenMs);
  const gaps = (name: string): number[] => of(name).flatMap((figures) => figures.mixed.gapsMs);
  const rows: [string, (name: string) => number][] = [
    ['first token of a long prompt, p50', (name) => quantile(first(name), 0.5)],
    ['first token of a long prompt, p99', (name) => quantile(first(name), 0.99)],
    ['gap within a stream, p50', (name) => quantile(gaps(name), 0.5)],
    ['gap within a stream, p99', (name) => quantile(gaps(name), 0.99)],
    ['gap within a stream, longest', (name) => quantile(gaps(name), 1)],
  ];
  return {
    title: `${model}: prompts of 2,000 tokens arriving beside 4 streams, ms, all rounds together`,
    columns: ['', ...names],
    rows: rows.map(([what, figure]) => [
      what,
      ...names.map((name) => formatSummary(summarize([figure(name)]), 1).split(' ')[0] ?? '-'),
    ]),
  };
}
