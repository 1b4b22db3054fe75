import { csvTable, jsonLines, markdownPage, pdf, plainNote, webPage, wordDocument } from './formats.ts';
import type { Writer, Writers } from './texts.ts';

/** A file to upload. */
export interface NewFile {
  name: string;
  content: string | Buffer;
}

/** What one knowledge base is filled with. */
export interface Workload {
  name: string;
  /** How many files of how much each. */
  files: number;
  /** Files of `--quick`. */
  quickFiles: number;
  ending: string;
  write(writer: Writer): string | Buffer;
  /** Megabytes of 2^20 bytes that the process may have at its peak beyond what it had before the first upload. */
  boundMb: number;
}

/**
 * What is held at once has a bound of its own: three documents in threads of extraction, a write of 512 chunks or two, the database's and
 * the index's caches. Most of the rest is what glibc keeps for each of LanceDB's threads (docs/decisions/0014-ingestion.md).
 */
const BOUND_MB = 600;
/** A PDF is read whole by pdf.js, which keeps what it has read of it until its end; there is only one. */
const PDF_BOUND_MB = 450;

/** All that is measured, by name. */
export const WORKLOADS: readonly Workload[] = [
  { name: 'txt', files: 1000, quickFiles: 20, ending: 'txt', write: plainNote, boundMb: BOUND_MB },
  { name: 'md', files: 10_000, quickFiles: 100, ending: 'md', write: markdownPage, boundMb: BOUND_MB },
  { name: 'csv', files: 10, quickFiles: 1, ending: 'csv', write: (to) => csvTable(to, 5000), boundMb: BOUND_MB },
  { name: 'jsonl', files: 2, quickFiles: 1, ending: 'jsonl', write: (to) => jsonLines(to, 2500), boundMb: BOUND_MB },
  { name: 'html', files: 1000, quickFiles: 20, ending: 'html', write: webPage, boundMb: BOUND_MB },
  { name: 'docx', files: 500, quickFiles: 10, ending: 'docx', write: wordDocument, boundMb: BOUND_MB },
  {
    name: 'pdf',
    files: 200,
    quickFiles: 5,
    ending: 'pdf',
    write: (to) => pdf(to, to.between(1, 10)),
    boundMb: PDF_BOUND_MB,
  },
  { name: 'book', files: 1, quickFiles: 1, ending: 'pdf', write: (to) => pdf(to, 600), boundMb: PDF_BOUND_MB },
];

/** The files of a workload, each made when it is asked for. The same round has the same files. */
export function* filesOf(workload: Workload, count: number, writers: Writers): Generator<NewFile> {
  for (let i = 0; i < count; i++) {
    yield { name: `${workload.name}-${i}.${workload.ending}`, content: workload.write(writers(i + 1)) };
  }
}
