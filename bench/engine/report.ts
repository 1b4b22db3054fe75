import { type Summary, summarize } from '../gateway/statistics.ts';
import type { RoundFigures } from './measure.ts';
import { quantileOf } from './workloads.ts';

/** A table for people, as Markdown. */
export interface Table {
  title: string;
  columns: string[];
  rows: string[][];
}

/** Median and, in brackets, the smallest and the largest; `-` where nothing was measured. */
export function cell(summary: Summary, digits: number): string {
  if (Number.isNaN(summary.median)) return '-';
  const [median, min, max] = [summary.median, summary.min, summary.max].map((value) => value.toFixed(digits));
  return `${median} (${min}..${max})`;
}

/** A table as Markdown, under its title. */
export function markdown({ title, columns, rows }: Table): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const rule = columns.map((_, at) => (at === 0 ? '---' : '---:'));
  return [`**${title}**`, '', line(columns), line(rule), ...rows.map(line)].join('\n');
}

/** The figures of all rounds of one model, beside `reference` where it took part: ratios are taken within a round. */
export function tablesOf(rounds: readonly RoundFigures[], model: string, reference: string): Table[] {
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
    ...names.map((name) => cell(summarize(of(name).map(figure)), 0)),
    ...names.flatMap((name) =>
      name === reference ? [] : [cell(summarize(ratios(of(name), of(reference), figure)), 2)],
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

function mixedTable(model: string, names: readonly string[], of: (name: string) => RoundFigures[]): Table {
  const first = (name: string): number[] => of(name).flatMap((figures) => figures.mixed.firstTokenMs);
  const gaps = (name: string): number[] => of(name).flatMap((figures) => figures.mixed.gapsMs);
  const rows: [string, (name: string) => number][] = [
    ['first token of a long prompt, p50', (name) => quantileOf(first(name), 0.5)],
    ['first token of a long prompt, p99', (name) => quantileOf(first(name), 0.99)],
    ['gap within a stream, p50', (name) => quantileOf(gaps(name), 0.5)],
    ['gap within a stream, p99', (name) => quantileOf(gaps(name), 0.99)],
    ['gap within a stream, longest', (name) => quantileOf(gaps(name), 1)],
  ];
  return {
    title: `${model}: prompts of 2,000 tokens arriving beside 4 streams, ms, all rounds together`,
    columns: ['', ...names],
    rows: rows.map(([what, figure]) => [
      what,
      ...names.map((name) => cell(summarize([figure(name)]), 1).split(' ')[0] ?? '-'),
    ]),
  };
}
