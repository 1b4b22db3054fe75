import type { Extractor } from '../../src/extraction/extractor.ts';
import { column, makePdf } from '../../test/fixtures/documents-pdf.ts';
import { readFile, splitBytes } from './reading.ts';

/** A large input. `read` returns the number of documents. */
export interface LargeRead {
  name: string;
  read(extractor: Extractor): Promise<number>;
}

const WORDS = 'tide moon harbour water level chart sailor evening signal north anchor storm'.split(' ');

/** Generates a text of `words` words, different for each seed. */
function prose(words: number, seed: number): string {
  return Array.from({ length: words }, (_, i) => WORDS[(seed * 7 + i * i + (i >> 3)) % WORDS.length]).join(' ');
}

/** Large inputs: many pages, a long book, large tables and JSONL files. */
export const LARGE_READS: readonly LargeRead[] = [
  {
    name: '10,000 Markdown pages of 3 kB',
    read: async (extractor) => {
      let documents = 0;
      for (let page = 0; page < 10_000; page++) {
        const sections = Array.from(
          { length: 5 },
          (_, i) => `## Part ${i}\n\n${prose(60, page + i)}.\n\n- one\n- two\n\n\`\`\`\ncode ${i}\n\`\`\`\n`,
        );
        const text = `---\ntitle: Page ${page}\n---\n# Page ${page}\n\n${sections.join('\n')}`;
        documents += (await readFile(extractor, `page-${page}.md`, splitBytes(Buffer.from(text)))).documents;
      }
      return documents;
    },
  },
  {
    name: 'a PDF of 600 pages',
    read: async (extractor) => {
      const pages = Array.from({ length: 600 }, (_, page) => [
        { text: `Made-up book, page ${page + 1}`, x: 60, y: 760 },
        ...column(
          Array.from({ length: 50 }, (_line, i) => prose(11, page * 50 + i)),
          60,
          720,
        ),
      ]);
      return (await readFile(extractor, 'book.pdf', splitBytes(makePdf(pages)))).documents;
    },
  },
  {
    name: 'JSONL of 256 MB',
    read: async (extractor) =>
      (
        await readFile(
          extractor,
          'a.jsonl',
          repeated(() => `{"text":"${prose(400, 1)}","n":1}\n`),
        )
      ).documents,
  },
  {
    name: 'CSV of 256 MB',
    read: async (extractor) =>
      (
        await readFile(
          extractor,
          'a.csv',
          repeated(() => `12,${prose(12, 3)},"a, b"\n`, 'id,text,note\n'),
        )
      ).documents,
  },
];

/** Streams 256 MB of one row. */
async function* repeated(row: () => string, head = ''): AsyncGenerator<Uint8Array> {
  yield Buffer.from(head);
  const piece = Buffer.from(row().repeat(Math.ceil(1_000_000 / row().length)));
  for (let bytes = 0; bytes < 256_000_000; bytes += piece.length) yield piece;
}
