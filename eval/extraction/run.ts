/** Evaluates the extraction of documents; see eval/README.md. */
import { parseArgs } from 'node:util';
import { runCommand } from '../../bench/harness/command.ts';
import { requireDataFiles } from '../../bench/harness/data-set.ts';
import {
  type MetricColumn,
  type MetricRow,
  metricColumn,
  renderMetricTable,
} from '../../bench/harness/metric-table.ts';
import { mean } from '../../bench/harness/statistics.ts';
import { documentFormat } from '../../src/extraction/formats.ts';
import { parsePage } from '../../src/extraction/html/parse-page.ts';
import { readTar, type TarFile } from './archives.ts';
import { LARGE_READS } from './large-files.ts';
import { type ReadResult, readFile, splitBytes, withPeak } from './reading.ts';
import { splitWords, tokenF1 } from './token-f1.ts';

const SETS = {
  readability: 'documents/readability.tar.gz',
  terrier: 'documents/terrier_mini.tar.gz',
  tika: 'documents/tika.tar.gz',
  unstructured: 'documents/unstructured.tar.gz',
};
const CODES = [
  'read',
  'unsupported_file',
  'no_text',
  'encrypted_file',
  'invalid_file',
  'too_large',
  'timeout',
  'server_error',
];
const number = (name: string, digits = 0): MetricColumn => ({ name, digits });

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

async function readPages(data: string): Promise<void> {
  const files = new Map(readTar(data, SETS.readability).map((file) => [file.path.replace(/^\.\//, ''), file]));
  const { result: scores, seconds } = await withPeak(async (extractor) => {
    const found: [string, number][] = [];
    for (const [path, file] of files) {
      if (!path.endsWith('/source.html')) continue;
      const folder = path.slice(0, -'source.html'.length);
      const { title = '' } = JSON.parse(String(files.get(`${folder}expected-metadata.json`)?.bytes ?? '{}'));
      // Separates words of adjacent elements, which textContent would join.
      const html = String(files.get(`${folder}expected.html`)?.bytes ?? '').replaceAll('<', ' <');
      const expected = `${title ?? ''} ${parsePage(html).body?.textContent ?? ''}`;
      const { text } = await readFile(extractor, file.name, splitBytes(file.bytes));
      found.push([folder, tokenF1(splitWords(expected), splitWords(text))]);
    }
    return found;
  });
  const values = scores.map(([, f1]) => f1);
  const rows: MetricRow[] = [
    { name: `mean of ${scores.length} pages`, cells: [mean(values), Math.min(...values), seconds] },
  ];
  for (const [name, f1] of scores) if (f1 < 0.95) rows.push({ name, cells: [f1, null, null] });
  say(
    `${renderMetricTable({ title: "Main content of pages, against readability's own", subject: 'page', columns: [metricColumn('F1'), metricColumn('lowest'), number('seconds', 1)], rows })}\n`,
  );
}

async function readFormats(data: string): Promise<void> {
  const files = readTar(data, SETS.terrier).filter(({ path }) => path.includes('simplefilecollection/document.'));
  const expected = splitWords(String(files.find(({ name }) => name === 'document.txt')?.bytes));
  const rows: MetricRow[] = [];
  await withPeak(async (extractor) => {
    for (const { name, bytes } of files) {
      if (documentFormat(name, null) === null) continue;
      rows.push({
        name,
        cells: [tokenF1(expected, splitWords((await readFile(extractor, name, splitBytes(bytes))).text))],
      });
    }
  });
  say(
    `${renderMetricTable({ title: 'One text in several formats, against its plain text', subject: 'file', columns: [metricColumn('F1')], rows })}\n`,
  );
}

async function readAll(data: string, set: 'tika' | 'unstructured'): Promise<void> {
  const files = readTar(data, SETS[set]);
  const { result, peakMb, seconds } = await withPeak(async (extractor) => {
    const readings: { file: TarFile; reading: ReadResult }[] = [];
    for (const file of files)
      readings.push({ file, reading: await readFile(extractor, file.name, splitBytes(file.bytes)) });
    return readings;
  });
  const formats = [...new Set(files.map(({ name }) => documentFormat(name, null) ?? 'other'))];
  const rows = formats.map((format) => {
    const some = result.filter(({ file }) => (documentFormat(file.name, null) ?? 'other') === format);
    return {
      name: format,
      cells: [some.length, ...CODES.map((code) => some.filter(({ reading }) => reading.outcome === code).length)],
    };
  });
  const title = `${set}: ${files.length} files in ${seconds.toFixed(0)} s, at most ${peakMb.toFixed(0)} MB of the process`;
  say(
    `${renderMetricTable({ title, subject: 'format', columns: [number('files'), ...CODES.map((code) => number(code))], rows })}\n`,
  );
  for (const { file, reading } of result) {
    if (!['read', 'unsupported_file'].includes(reading.outcome))
      say(`- ${file.name}: ${reading.outcome}. ${reading.message}`);
  }
  for (const { file, reading } of result)
    for (const warning of reading.warnings) say(`- ${file.name}: read. ${warning}`);
  const slow = result.toSorted((a, b) => b.reading.milliseconds - a.reading.milliseconds).slice(0, 5);
  say(
    `\nSlowest: ${slow.map(({ file, reading }) => `${file.name} ${(reading.milliseconds / 1000).toFixed(1)} s`).join(', ')}\n`,
  );
}

async function readLarge(): Promise<void> {
  const rows: MetricRow[] = [{ name: 'nothing', cells: [0, 0, process.memoryUsage.rss() / 1e6] }];
  for (const { name, read } of LARGE_READS) {
    const { result, peakMb, seconds } = await withPeak(read);
    rows.push({ name, cells: [result, seconds, peakMb] });
  }
  say(
    renderMetricTable({
      title: 'Large files',
      subject: 'file',
      columns: [number('documents'), number('seconds', 1), number('peak MB')],
      rows,
    }),
  );
}

await runCommand(async () => {
  const { values: flags } = parseArgs({ options: { data: { type: 'string' } } });
  const data = requireDataFiles(flags.data, Object.values(SETS));
  // First, because it measures memory.
  await readLarge();
  await readPages(data);
  await readFormats(data);
  await readAll(data, 'tika');
  await readAll(data, 'unstructured');
});
