/** A line of the source without the markers around it. `at`: its offset in the source. */
export interface SourceLine {
  text: string;
  at: number;
}

/** A block, with the lines of its text. */
export type Block =
  | { type: 'paragraph'; lines: SourceLine[] }
  | { type: 'heading'; level: number; lines: SourceLine[] }
  | { type: 'code'; language: string; text: string }
  | { type: 'quote'; blocks: Block[] }
  | { type: 'list'; start: number | null; items: Block[][] }
  | { type: 'table'; head: SourceLine[]; rows: SourceLine[][] }
  | { type: 'rule' };

/** A part of a line. `at`: its offset in the source. */
export type Inline =
  | { type: 'text'; text: string; at: number }
  | { type: 'code'; text: string; at: number }
  | { type: 'strong' | 'emphasis' | 'strike'; children: Inline[] }
  | { type: 'link'; href: string; children: Inline[] }
  | { type: 'break' };
