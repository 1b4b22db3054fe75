import { type Static, Type } from 'typebox';
import { MAX_PAGES } from '../../extraction/limits.ts';
import { DocumentParams } from '../documents/schema.ts';

/** Path parameters of a page. */
export const PageParams = Type.Object({
  ...DocumentParams.properties,
  page: Type.Integer({ minimum: 1, maximum: MAX_PAGES, description: 'From 1.' }),
});

export type PageParams = Static<typeof PageParams>;

/** Query parameters of a page. */
export const PageQuery = Type.Object({
  chunk_id: Type.Optional(Type.String({ description: 'Marks the text of this chunk.' })),
  start: Type.Optional(
    Type.Integer({
      minimum: 0,
      description:
        "Marks the text from this offset of the document's text, in UTF-16 code units: `document_start_index` of a citation. With `end`, without `chunk_id`.",
    }),
  ),
  end: Type.Optional(
    Type.Integer({ minimum: 1, description: 'Offset after the marked text: `document_end_index` of a citation.' }),
  ),
  width: Type.Optional(
    Type.Integer({
      minimum: 100,
      maximum: 2000,
      default: 1000,
      description:
        'Width of the image in pixels. Less for a page that would have more than 8 million pixels, and for an image file with fewer columns.',
    }),
  ),
});

export type PageQuery = Static<typeof PageQuery>;
