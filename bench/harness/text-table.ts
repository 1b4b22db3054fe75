import type { Summary } from './statistics.ts';

/** A table of formatted cells. */
export interface TextTable {
  title: string;
  columns: string[];
  rows: string[][];
}

/** Formats a summary as `median (min..max)`; `-` when nothing was measured. */
export function formatSummary(summary: Summary, digits: number): string {
  if (Number.isNaN(summary.median)) return '-';
  const [median, min, max] = [summary.median, summary.min, summary.max].map((value) => value.toFixed(digits));
  return `${median} (${min}..${max})`;
}

/** Renders a Markdown table under its title. The first column is left-aligned, the others right-aligned. */
export function renderTable({ title, columns, rows }: TextTable): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const rule = columns.map((_, index) => (index === 0 ? '---' : '---:'));
  return [`**${title}**`, '', line(columns), line(rule), ...rows.map(line)].join('\n');
}
