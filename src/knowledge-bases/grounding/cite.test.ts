import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { makeDocx, makeXlsx, makeZip, wordParagraph } from '../../../test/fixtures/documents-docx.ts';
import { makePdf } from '../../../test/fixtures/documents-pdf.ts';
import { chunkText } from '../../chunking/chunk-text.ts';
import type { DocumentFormat } from '../../extraction/formats.ts';
import { readDocument } from '../../extraction/read-document.ts';
import { cite, viewChunkText, viewCitedChunk } from './cite.ts';
import type { ContextChunk } from './gather-context.ts';

/** Characters of two code units each, before and in the passage. */
const FIRST = 'The 📚 library in Ashford 𝔸 has twelve floors.';
const PASSAGE = 'The ferry 🚢 to Skelby leaves the harbour at noon.';
const LAST = 'The bakery sells 🍞 bread and cakes.';
const TEXTS = [FIRST, PASSAGE, LAST];

const cell = (reference: string, text: string) => `<c r="${reference}" t="inlineStr"><is><t>${text}</t></is></c>`;
const slides = Object.fromEntries(
  TEXTS.map((text, i) => [
    `ppt/slides/s${i}.xml`,
    `<p:sld><p:cSld><p:spTree><p:sp><p:txBody><a:p><a:r><a:t>${text}</a:t></a:r></a:p></p:txBody></p:sp></p:spTree></p:cSld></p:sld>`,
  ]),
);
const pptx = {
  'ppt/presentation.xml': `<p:presentation><p:sldIdLst>${TEXTS.map((_, i) => `<p:sldId r:id="r${i}"/>`).join('')}</p:sldIdLst></p:presentation>`,
  'ppt/_rels/presentation.xml.rels': `<Relationships>${TEXTS.map((_, i) => `<Relationship Id="r${i}" Type="x/slide" Target="slides/s${i}.xml"/>`).join('')}</Relationships>`,
  ...slides,
};
/** A font with the characters that need two code units, by glyph names. */
const FONT =
  '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding << /BaseEncoding /WinAnsiEncoding /Differences [1 /u1F4DA /u1D538 /u1F6A2 /u1F35E] >> >>';
const pdfCodes = (text: string) =>
  Buffer.from(
    text.replace(/[📚𝔸🚢🍞]/gu, (character) => String.fromCharCode(['📚', '𝔸', '🚢', '🍞'].indexOf(character) + 1)),
    'latin1',
  ).toString('hex');

/** A file of each format with the three texts, and the place of the second one. */
const FILES: Partial<Record<DocumentFormat, { content: Buffer | string; place: Record<string, unknown> }>> = {
  text: { content: TEXTS.join('\n\n'), place: { page: null, heading_path: [] } },
  markdown: {
    content: `# Town\n\n${FIRST}\n\n## Harbour\n\n${PASSAGE}\n\n${LAST}`,
    place: { heading_path: ['Town', 'Harbour'] },
  },
  html: {
    content: `<h1>Town</h1><p>${FIRST}</p><h2>Harbour</h2><p>The <b>ferry</b> 🚢 to\n Skelby leaves&#32;the harbour at noon.</p><p>${LAST}</p>`,
    place: { heading_path: ['Harbour'] },
  },
  jsonl: { content: JSON.stringify({ text: TEXTS.join('\n\n') }), place: { page: null } },
  csv: { content: `name,text\n${TEXTS.map((text, i) => `no ${i},${text}`).join('\n')}`, place: { cells: 'A1:B4' } },
  docx: { content: makeDocx(TEXTS.map((text) => wordParagraph(text)).join('')), place: { page: null } },
  xlsx: {
    content: makeXlsx({
      Facts: `<sheetData>${TEXTS.map((text, i) => `<row r="${i + 1}">${cell(`B${i + 1}`, text)}</row>`).join('')}</sheetData>`,
    }),
    place: { cells: 'Facts!B1:B3' },
  },
  pptx: {
    content: makeZip(Object.entries(pptx).map(([name, content]) => ({ name, content }))),
    place: { page: 2, slide: 2 },
  },
  pdf: {
    content: makePdf(
      TEXTS.map((text) => [{ text: '', codes: pdfCodes(text), font: 0, x: 72, y: 700, size: 10 }]),
      { fonts: [FONT] },
    ),
    place: { page: 2, slide: null },
  },
};

describe('cite', () => {
  for (const [format, { content, place }] of Object.entries(FILES)) {
    it(`points to the characters of the passage in the text of ${format}`, async () => {
      const bytes = Buffer.from(content);
      const input = { content: bytes, bytes: bytes.length, charset: null, chunkCharacters: 2000 };
      const [part] = await Array.fromAsync(readDocument(format as DocumentFormat, input));
      assert.ok(part !== undefined && 'document' in part);
      const { document } = part;
      const sizes = {
        type: 'recursive',
        chunkSizeTokens: format === 'csv' || format === 'xlsx' ? 60 : 16,
        chunkOverlapTokens: 0,
      } as const;
      const model = {
        countTokens: async (texts: readonly string[]) => texts.map((text) => text.length / 4),
        embed: async () => [],
      };
      const chunks = await chunkText(document, sizes, model, new AbortController().signal);
      const mimeType =
        format === 'pptx' ? 'application/vnd.openxmlformats-officedocument.presentationml.presentation' : null;
      const citable = chunks.map((chunk, i) => ({
        ...viewCitedChunk({ ...chunk, id: `chunk_${i}`, mimeType } as unknown as ContextChunk),
        file_id: null,
        source_uri: null,
        text: document.text.slice(chunk.startIndex, chunk.endIndex),
      }));
      const [citation, ...others] = cite('The ferry to Skelby leaves the harbour at noon.', citable);
      assert.deepEqual(others, []);
      const { document_start_index: start, document_end_index: end, ...fields } = citation?.file ?? assert.fail();
      assert.match(
        document.text.slice(start, end),
        /^(?:no 1 \| )?The ferry 🚢 to Skelby leaves the harbour at noon\.$/,
      );
      for (const [field, value] of Object.entries(place))
        assert.deepEqual(fields[field as keyof typeof fields], value, field);
    });
  }

  it('names the page and the headings where the passage begins, not where the chunk begins', () => {
    const texts = ['Bread costs two pounds.', 'The ferry to Skelby leaves the harbour at noon.', 'The museum is shut.'];
    const text = texts.join('\n\n');
    const second = texts[0]!.length + 2;
    const third = second + texts[1]!.length + 2;
    const chunk = {
      ...{ id: 'chunk_1', mimeType: null, startIndex: 100, endIndex: 100 + text.length, page: 1, cells: null },
      ...{ text, storedText: text, headingPath: ['Bread'] },
      laterPlaces: [
        { start: 100 + second, page: 2, headingPath: ['Boats', '"Ferry"'] },
        { start: 100 + third, page: 2, headingPath: ['Museum'] },
      ],
      boxes: null,
    } as unknown as ContextChunk;
    const citable = { ...viewCitedChunk(chunk), ...viewChunkText(chunk), file_id: null, source_uri: null };
    const places = texts.map((answer) => {
      const [citation] = cite(answer, [citable]);
      return [citation?.file.page, citation?.file.heading_path];
    });
    assert.deepEqual(places, [
      [1, ['Bread']],
      [2, ['Boats', '"Ferry"']],
      [2, ['Museum']],
    ]);
    for (const field of ['later_places', 'is_verbatim'])
      assert.ok(!(field in (cite(texts[1]!, [citable])[0]?.file ?? {})), field);
  });

  it('cites the whole chunk when its text was changed, whatever its length', () => {
    const passage = 'The ferry to Skelby leaves the harbour at noon.';
    // A removed character and an inserted space leave the length as it was, and shift the passage.
    const storedText = `\u200bBread costs two pounds. ${passage} Cake <s> is one.`;
    const text = `Bread costs two pounds. ${passage} Cake < s> is one.`;
    assert.equal(text.length, storedText.length);
    for (const [shown, expected] of [
      [storedText, [101 + 'Bread costs two pounds. '.length, 101 + `Bread costs two pounds. ${passage}`.length]],
      [text, [100, 100 + storedText.length]],
    ] as const) {
      const chunk = {
        ...{ id: 'chunk_1', mimeType: null, startIndex: 100, endIndex: 100 + storedText.length, page: 1, cells: null },
        ...{ headingPath: [], laterPlaces: null, boxes: null, text: shown, storedText },
      } as unknown as ContextChunk;
      const citable = { ...viewCitedChunk(chunk), ...viewChunkText(chunk), file_id: null, source_uri: null };
      const [citation] = cite(passage, [citable]);
      assert.deepEqual([citation?.file.document_start_index, citation?.file.document_end_index], expected);
    }
  });

  it('has the boxes of the passage on pages that OCR read, as shares of the page', () => {
    const texts = ['Bread costs two pounds.', 'The ferry to Skelby leaves the harbour at noon.'];
    const text = texts.join(' ');
    const second = 100 + texts[0]!.length + 1;
    const chunk = {
      ...{ id: 'chunk_1', mimeType: null, startIndex: 100, endIndex: 100 + text.length, page: 3, cells: null },
      ...{ headingPath: [], laterPlaces: null, text, storedText: text },
      boxes: [
        [100, second - 1, 3, 100, 200, 300, 220],
        [second, second + 20, 3, 310, 200, 900, 221],
        [second + 21, 100 + text.length, 4, 0, 0, 1000, 20],
      ],
    } as unknown as ContextChunk;
    const citable = { ...viewCitedChunk(chunk), ...viewChunkText(chunk), file_id: null, source_uri: null };
    const boxes = (answer: string, fields = {}) => cite(answer, [{ ...citable, ...fields }])[0]?.file.boxes;
    const first = { page: 3, left: 0.1, top: 0.2, right: 0.3, bottom: 0.22 };
    assert.deepEqual(boxes(texts[0]!), [first]);
    const ferry = [
      { page: 3, left: 0.31, top: 0.2, right: 0.9, bottom: 0.221 },
      { page: 4, left: 0, top: 0, right: 1, bottom: 0.02 },
    ];
    assert.deepEqual(boxes(texts[1]!), ferry);
    // A part of the chunk: its offsets are unknown, so the whole chunk is cited.
    assert.deepEqual(boxes(texts[1]!, { text: texts[1]! }), [first, ...ferry]);
    assert.equal(boxes(texts[0]!, { line_boxes: [] }), undefined);
    const many = Array.from({ length: 201 }, () => [100, 101, 1, 0, 0, 1, 1]);
    assert.equal(boxes(texts[0]!, { line_boxes: many })?.length, 200);
    assert.ok(!('line_boxes' in (cite(texts[0]!, [citable])[0]?.file ?? {})));
  });
});
