import { csvTable, jsonLines, markdownPage, pdf, plainNote, webPage, wordDocument } from './formats.ts';
import type { Writer, Writers } from './texts.ts';

/** A file to upload. */
export interface WorkloadFile {
  name: string;
  content: string | Buffer;
}

/** Files for one knowledge base. */
export interface IngestWorkload {
  name: string;
  /** Number of files. */
  files: number;
  /** Files of `--quick`. */
  quickFiles: number;
  ending: string;
  write(writer: Writer): string | Buffer;
  /** Maximum growth of memory (MiB) from before the first upload to the peak. */
  boundMb: number;
}

/**
 * Memory is bounded by documents in extraction, one or two writes of 512 chunks, and the caches of database and index.
 * Most of the rest is kept by glibc for LanceDB's threads (docs/develop/decisions/0014-ingestion.md).
 */
const BOUND_MB = 600;
/** pdf.js keeps a whole PDF in memory. */
const PDF_BOUND_MB = 450;

/** All workloads. */
export const INGEST_WORKLOADS: readonly IngestWorkload[] = [
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

/** Generates the files of a workload lazily. Equal rounds have equal files. */
export function* generateFiles(workload: IngestWorkload, count: number, writers: Writers): Generator<WorkloadFile> {
  for (let i = 0; i < count; i++) {
    yield { name: `${workload.name}-${i}.${workload.ending}`, content: workload.write(writers(i + 1)) };
  }
}
