import iconv from 'iconv-lite';
import { collapseWhitespace } from '../../lib/clean-text.ts';
import { readAllBytes } from '../content.ts';
import type { ExtractedDocument, Extraction, ReaderInput } from '../extracted-document.ts';
import { flattenMetadata, normalizeTitle } from '../flatten-metadata.ts';
import { invalidFile, MAX_WHOLE_TEXT_BYTES, tooLarge } from '../limits.ts';
import { BodyWriter } from '../office/body-writer.ts';
import { headingLevelByName, outlineToHeading } from '../office/heading-level.ts';
import { TextWriter } from '../text-writer.ts';
import { type RtfToken, readRtfTokens } from './rtf-tokens.ts';

/** Maximum nesting of groups. */
const MAX_DEPTH = 1_000;
const MAX_LIST_LEVEL = 8;
/** Code pages by character set of a font. Others have that of the document. */
const CHARACTER_SETS: Readonly<Record<number, number>> = {
  ...{ 77: 10_000, 128: 932, 129: 949, 134: 936, 136: 950, 161: 1253, 162: 1254, 163: 1258 },
  ...{ 177: 1255, 178: 1256, 186: 1257, 204: 1251, 222: 874, 238: 1250, 254: 437, 255: 850 },
};
/** Code pages that documents name by a word. */
const DOCUMENT_PAGES: Readonly<Record<string, number>> = { ansi: 1252, mac: 10_000, pc: 437, pca: 850 };
const MAC = 10_000;
// biome-ignore lint/suspicious/noControlCharactersInRegex: all code pages have them in common.
const ASCII = /^[\x00-\x7f]*$/;
/** Words and symbols that stand for characters. */
const CHARACTERS: Readonly<Record<string, string>> = {
  ...{ tab: '\t', line: '\n', '~': '\u00a0', _: '-', '\\': '\\', '{': '{', '}': '}', emspace: ' ', enspace: ' ' },
  ...{ emdash: '—', endash: '–', lquote: '‘', rquote: '’', ldblquote: '“', rdblquote: '”', bullet: '•', qmspace: ' ' },
  ...{ nestcell: ' ', nestrow: '; ' },
};
const PARAGRAPH_ENDS: ReadonlySet<string> = new Set(['par', 'sect', 'page', '\r', '\n']);
/** Destination groups without text of the document. Groups that begin with `\*` are skipped as well. */
const SKIPPED: ReadonlySet<string> = new Set(
  'info colortbl pict header headerl headerr headerf footer footerl footerr footerf fldinst xe tc txe rxe filetbl listtable revtbl nonshppict private objdata ftnsep ftnsepc ftncn aftnsep aftnsepc aftncn'.split(
    ' ',
  ),
);
/** Groups that are text, although a skipped group contains them or they begin with `\*`. */
const TEXT_GROUPS: ReadonlySet<string> = new Set(['shptxt', 'ud']);
/** Groups that are metadata. */
const INFO: ReadonlySet<string> = new Set(['title', 'author', 'subject', 'keywords']);
/** Groups that are read for something else than text. */
const TABLES: ReadonlySet<string> = new Set(['fonttbl', 'stylesheet', ...INFO]);

/** Properties of a group, which the groups within it inherit. */
interface Group {
  /** Null for text of the document. `listtext`: the marker of a list item. */
  destination: string | null;
  isHidden: boolean;
  /** Whether the group is only for programs that do not read the HTML within the file. */
  isHtmlSource: boolean;
  font: number;
  /** Characters that follow `\u` for programs without Unicode. */
  fallback: number;
  /** The note that ends with this group. */
  note: { writer: TextWriter; outer: BodyWriter<null>; paragraph: Paragraph } | null;
}

interface Paragraph {
  style: number;
  outline: number | null;
  isInTable: boolean;
  marker: string | null;
  level: number;
}

const PLAIN: Paragraph = { style: 0, outline: null, isInTable: false, marker: null, level: 0 };

/**
 * Reads Rich Text Format: headings by style or outline level, list items with their markers, tables as lines, notes
 * after the paragraph that refers to them. Skips pictures, hidden and deleted text, headers and footers.
 */
export async function* readRtf(input: ReaderInput): AsyncGenerator<Extraction> {
  yield { part: '', document: parseRtf(await readAllBytes(input, MAX_WHOLE_TEXT_BYTES)) };
}

/** Parses RTF. Throws `invalid_file` for other content, `too_large` above the maximum nesting. */
export function parseRtf(bytes: Uint8Array): ExtractedDocument {
  const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
  if (!/^[^{]{0,16}\{\\rtf/.test(source)) throw invalidFile('The file is not RTF: it does not begin with {\\rtf.');
  const body = new RtfBody();
  for (const token of readRtfTokens(source)) body.push(token);
  return body.finish();
}

/** Follows the state of a document (Rich Text Format 1.9.1). */
class RtfBody {
  readonly #writer = new TextWriter();
  #body = new BodyWriter<null>(this.#writer);
  readonly #groups: Group[] = [];
  #group: Group = { destination: null, isHidden: false, isHtmlSource: false, font: -1, fallback: 1, note: null };
  #paragraph: Paragraph = { ...PLAIN };
  /** Whether the next word is the first of its group. */
  #isFirst = false;
  /** Whether the first word of the group was `\*`: unless the next one is known, the group is not text. */
  #isStarred = false;
  #isRowOpen = false;
  /** Bytes of text that are not decoded yet. */
  #bytes = '';
  /** Characters to skip after `\u`. */
  #skipped = 0;
  #codePage = 1252;
  #defaultFont = -1;
  readonly #fontPages = new Map<number, number>();
  readonly #styles = new Map<number, { name: string; outline: number | null }>();
  readonly #fields: Record<string, string> = {};

  constructor() {
    this.#body.openParagraph(null);
  }

  push(token: RtfToken): void {
    const isFirst = this.#isFirst;
    this.#isFirst = token.type === 'open';
    if (token.type === 'bytes') {
      this.#pushBytes(token.text);
      return;
    }
    this.#flush();
    if (token.type === 'open') this.#openGroup();
    else if (token.type === 'close') this.#closeGroup();
    else this.#pushWord(token.word, token.value, isFirst);
  }

  finish(): ExtractedDocument {
    this.#flush();
    while (this.#groups.length > 0) this.#closeGroup();
    this.#paragraph.isInTable = false;
    this.#endParagraph();
    const { title, ...fields } = this.#fields;
    return { ...this.#writer.finish(), title: normalizeTitle(title), metadata: flattenMetadata(fields) };
  }

  #openGroup(): void {
    if (this.#groups.length >= MAX_DEPTH) throw tooLarge(`its groups are nested more than ${MAX_DEPTH} levels deep`);
    this.#groups.push(this.#group);
    this.#group = { ...this.#group, note: null };
    this.#skipped = 0;
  }

  #closeGroup(): void {
    const { note } = this.#group;
    if (note !== null) {
      this.#endParagraph();
      note.outer.appendNote(collapseWhitespace(note.writer.finish().text));
      this.#body = note.outer;
      this.#paragraph = note.paragraph;
    }
    this.#group = this.#groups.pop() ?? this.#group;
    this.#skipped = 0;
  }

  #pushWord(word: string, value: number | null, isFirst: boolean): void {
    const isStarred = this.#isStarred;
    this.#isStarred = word === '*' && isFirst;
    const character = CHARACTERS[word];
    // The text for programs without Unicode; `\ud` has the Unicode version.
    if (this.#group.destination === 'upr' && word !== 'ud') return;
    if (character !== undefined && this.#skipped > 0) this.#skipped -= 1;
    else if (character !== undefined) this.#pushText(character);
    else if (TEXT_GROUPS.has(word)) this.#group.destination = null;
    else if (TABLES.has(word)) this.#group.destination = word;
    else if (word === 'listtext' || word === 'pntext') this.#group.destination ??= 'listtext';
    else if (word === 'upr') this.#group.destination = word;
    else if (isStarred || SKIPPED.has(word)) this.#group.destination = 'skipped';
    else if (!this.#setCharacterProperty(word, value)) this.#setParagraphProperty(word, value ?? 0);
  }

  /** Returns false for words that are none. */
  #setCharacterProperty(word: string, value: number | null): boolean {
    const isOn = value !== 0;
    if (word === 'u' && value !== null) {
      this.#pushText(String.fromCharCode(value & 0xffff));
      this.#skipped = this.#group.fallback;
    } else if (word === 'uc') this.#group.fallback = Math.max(0, value ?? 1);
    else if (word === 'v' || word === 'deleted') this.#group.isHidden = isOn;
    else if (word === 'htmlrtf') this.#group.isHtmlSource = isOn;
    else if (word === 'plain') Object.assign(this.#group, { isHidden: false, font: this.#defaultFont });
    else if (word === 'f') this.#group.font = value ?? -1;
    else if (word === 'fcharset') this.#setFontPage(value ?? 0);
    else if (word === 'deff') this.#defaultFont = this.#group.font = value ?? -1;
    else if (word === 'ansicpg') this.#codePage = value || this.#codePage;
    else if (DOCUMENT_PAGES[word] !== undefined) this.#codePage = DOCUMENT_PAGES[word];
    else return false;
    return true;
  }

  #setFontPage(characterSet: number): void {
    const page = CHARACTER_SETS[characterSet];
    if (this.#group.destination === 'fonttbl' && page !== undefined) this.#fontPages.set(this.#group.font, page);
  }

  #setParagraphProperty(word: string, value: number): void {
    const { destination } = this.#group;
    if (word === 's') this.#paragraph.style = value;
    else if (word === 'outlinelevel' && destination === 'stylesheet') this.#defineStyle({ outline: value });
    else if (destination !== null) return;
    else if (PARAGRAPH_ENDS.has(word)) this.#endParagraph();
    else if (word === 'pard') this.#paragraph = { ...PLAIN, marker: this.#paragraph.marker };
    else if (word === 'outlinelevel') this.#paragraph.outline = value;
    else if (word === 'ilvl') this.#paragraph.level = Math.min(Math.max(0, value), MAX_LIST_LEVEL);
    else if (word === 'intbl') this.#paragraph.isInTable = true;
    else if (word === 'cell') this.#endCell();
    else if (word === 'row') this.#isRowOpen = false;
    else if (word === 'footnote') this.#openNote();
  }

  #defineStyle(change: { name?: string; outline?: number }): void {
    const { style } = this.#paragraph;
    this.#styles.set(style, { name: '', outline: null, ...this.#styles.get(style), ...change });
  }

  #openNote(): void {
    const writer = new TextWriter();
    this.#group.note = { writer, outer: this.#body, paragraph: this.#paragraph };
    this.#paragraph = { ...PLAIN };
    this.#body = new BodyWriter(writer);
    this.#body.openParagraph(null);
  }

  #pushBytes(bytes: string): void {
    const skipped = Math.min(this.#skipped, bytes.length);
    this.#skipped -= skipped;
    this.#bytes += bytes.slice(skipped);
  }

  #flush(): void {
    const text = this.#bytes;
    if (text === '') return;
    this.#bytes = '';
    this.#pushText(ASCII.test(text) ? text : this.#decode(text));
  }

  #decode(text: string): string {
    const page = this.#fontPages.get(this.#group.font) ?? this.#codePage;
    const encoding = page === MAC ? 'macroman' : `cp${page}`;
    return iconv.decode(Buffer.from(text, 'latin1'), iconv.encodingExists(encoding) ? encoding : 'cp1252');
  }

  #pushText(text: string): void {
    const { destination, isHidden, isHtmlSource } = this.#group;
    if (destination === null && !isHidden && !isHtmlSource) this.#body.append(text);
    else if (destination === 'listtext') this.#paragraph.marker = (this.#paragraph.marker ?? '') + text;
    else if (destination === 'stylesheet') this.#defineStyle({ name: text.replace(/;.*/s, '').trim() });
    else if (destination !== null && INFO.has(destination))
      this.#fields[destination] = (this.#fields[destination] ?? '') + text;
  }

  #endParagraph(): void {
    if (this.#paragraph.isInTable) this.#openRow();
    else if (this.#body.isInTable) this.#body.closeTable();
    this.#body.closeParagraph((text, _, writer) => this.#writeParagraph(text, writer));
    this.#body.openParagraph(null);
    this.#paragraph.marker = null;
  }

  #endCell(): void {
    this.#paragraph.isInTable = true;
    this.#endParagraph();
    this.#body.closeCell();
  }

  #openRow(): void {
    if (!this.#body.isInTable) this.#body.openTable();
    if (!this.#isRowOpen) this.#body.openRow();
    this.#isRowOpen = true;
  }

  #writeParagraph(text: string, writer: TextWriter): void {
    const { outline, style, marker, level } = this.#paragraph;
    const { name = '', outline: styleOutline = null } = this.#styles.get(style) ?? {};
    const heading = outlineToHeading(outline ?? styleOutline ?? -1) ?? headingLevelByName(name);
    const sign = /^\(?\w{1,6}[.)]/.exec(marker?.trim() ?? '')?.[0] ?? '-';
    if (heading !== null) writer.write('heading', text.replace(/\s+/g, ' '), { level: heading });
    else if (marker !== null) writer.write('list-item', `${'  '.repeat(level)}${sign} ${text}`);
    else writer.write('paragraph', text);
  }
}
