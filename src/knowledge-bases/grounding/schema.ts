import { type Static, Type } from 'typebox';

/** Fields of a chunk that was read for an answer, with its place in the document. */
export const CITED_CHUNK_FIELDS = {
  kb_id: Type.String(),
  document_id: Type.String(),
  document_name: Type.String(),
  chunk_id: Type.String(),
  score: Type.Number(),
  page: Type.Union([Type.Integer(), Type.Null()], {
    description:
      'Page or slide on which the passage begins, from 1; null for formats without pages. The passage is the chunk; of a citation, the sentences that the answer restates.',
  }),
  slide: Type.Union([Type.Integer(), Type.Null()], {
    description: 'Slide of a presentation, from 1; null for other formats.',
  }),
  cells: Type.Union([Type.String(), Type.Null()], {
    description: 'Cells of a sheet, such as `Costs!A2:C9`; null for formats without cells.',
  }),
  heading_path: Type.Array(Type.String(), { description: 'Headings above the passage, the highest level first.' }),
  document_start_index: Type.Integer({
    description:
      "Start of the passage in the document's text, in UTF-16 code units. The passage is the chunk; of a citation, the sentences of the chunk that the answer restates.",
  }),
  document_end_index: Type.Integer({ description: 'Offset after the last character of the passage.' }),
};

/** Places of a chunk whose pages or headings change within it. */
export const LaterPlaces = Type.Array(
  Type.Object({
    document_start_index: Type.Integer({ description: 'Offset from which on the text is there.' }),
    page: Type.Union([Type.Integer(), Type.Null()]),
    heading_path: Type.Array(Type.String()),
  }),
  { description: 'Pages and headings that begin within the chunk; absent when there are none.' },
);

/** Boxes of the lines of a chunk that OCR read, as they are stored. */
export const LineBoxes = Type.Array(Type.Array(Type.Integer(), { minItems: 7, maxItems: 7 }), {
  description:
    "Of text that OCR read: start and end in the document's text, page, and left, top, right and bottom of each line on the page, in thousandths of its width and height. Lines are separated where sentences end.",
});

/** Boxes of a passage that OCR read. */
const PageBoxes = Type.Array(
  Type.Object({
    page: Type.Integer({ description: 'From 1.' }),
    left: Type.Number({ minimum: 0, maximum: 1 }),
    top: Type.Number({ minimum: 0, maximum: 1 }),
    right: Type.Number({ minimum: 0, maximum: 1 }),
    bottom: Type.Number({ minimum: 0, maximum: 1 }),
  }),
  {
    description:
      'Where the passage is on pages that OCR read, line by line: distances from the left and upper edge of the page, in shares of its width and height. At most 200. Absent for text that OCR did not read.',
  },
);

export type PageBoxes = Static<typeof PageBoxes>;

const CitedChunk = Type.Object(CITED_CHUNK_FIELDS);

/** A chunk that was read for an answer. */
export type CitedChunk = Static<typeof CitedChunk>;

const SPAN_FIELDS = {
  start_index: Type.Integer({ description: 'Start of the cited part of the answer, in UTF-16 code units.' }),
  end_index: Type.Integer(),
};

/** Schema of a `file_citation`. The APIs differ in the file id of documents that were not uploaded. */
export const fileCitation = <FileId extends Parameters<typeof Type.Array>[0]>(fileId: FileId) =>
  Type.Object({
    type: Type.Literal('file_citation'),
    file_id: fileId,
    filename: Type.String(),
    index: Type.Integer({ description: 'End of the cited part of the answer, in UTF-16 code units.' }),
    ...CITED_CHUNK_FIELDS,
    ...SPAN_FIELDS,
    boxes: Type.Optional(PageBoxes),
  });

/** The fields of a `url_citation`. */
export const Link = Type.Object({
  url: Type.String({ description: 'With a text fragment or page number that leads to the passage, where possible.' }),
  title: Type.String(),
  ...SPAN_FIELDS,
});

export type Link = Static<typeof Link>;
