/** What a part of a document is. Chunks are cut between parts rather than inside of them. */
export type BlockKind = 'heading' | 'paragraph' | 'list-item' | 'code' | 'table' | 'other';

/** A part of a document's text: from the character at `start` up to, not including, the one at `end`. */
export interface Block {
  kind: BlockKind;
  start: number;
  end: number;
  /** Of a heading: 1 for the highest, to 6. */
  level?: number;
  /** The page on which it begins, from 1; absent where the format has no pages. */
  page?: number;
}

/** A document as text. Every format is brought to this, and everything after it works on this alone. */
export interface ExtractedText {
  text: string;
  /** In the order of the text, none inside another. Between them lies white space only. */
  blocks: readonly Block[];
}
