/**
 * Markdown of model output: paragraphs, headings, lists, quotes, fenced code, tables, emphasis, code, links. Raw HTML
 * and images stay text. Time is linear in the text for any input; nesting is bounded.
 */
import type { Block, SourceLine } from './syntax-tree.ts';

const MAX_DEPTH = 8;
const FENCE = /^ {0,3}(`{3,}|~{3,}(?!~))([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]|$)/;
const RULE = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-*+]|(\d{1,9})[.)])( +|\t|$)/;
const DELIMITER_ROW = /^ {0,3}\|?[ \t]*:?-+:?(?:[ \t]*\|[ \t]*:?-+:?)*(?:[ \t]*\|)?[ \t]*$/;

/**
 * Offsets at which the top-level blocks of a growing text start. `stable`: the result for a prefix of the text, whose
 * last block may grow; all earlier ones are final, so that a streamed text costs the length of its last block, not of
 * the text.
 */
export function splitBlocks(text: string, stable: readonly number[] = [0]): number[] {
  const starts = stable.slice(0, -1);
  let at = stable.at(-1) ?? 0;
  starts.push(at);
  let fence: string | null = null;
  let isBlank = false;
  let isInList = ITEM.test(lineAt(text, at));
  while (at < text.length) {
    const line = lineAt(text, at);
    const opened = FENCE.exec(line)?.[1];
    const isIndented = isInList && /^(?: |\t)/.test(line);
    if (fence === null && isBlank && line.trim() !== '' && !isIndented && !(isInList && ITEM.test(line))) {
      starts.push(at);
      isInList = ITEM.test(line);
    }
    if (opened !== undefined && fence === null) fence = opened;
    else if (fence !== null && isClosing(line, fence)) fence = null;
    isBlank = line.trim() === '';
    at += line.length + 1;
  }
  return starts;
}

const lineAt = (text: string, at: number): string => {
  const end = text.indexOf('\n', at);
  return text.slice(at, end === -1 ? undefined : end);
};

const isClosing = (line: string, fence: string): boolean => {
  const trimmed = line.trim();
  return trimmed.length >= fence.length && trimmed === (fence[0] ?? '').repeat(trimmed.length);
};

/** Parses a text into blocks. `at`: offset of the text in the source. */
export function parseBlocks(text: string, at = 0): Block[] {
  const lines: SourceLine[] = [];
  for (const line of text.split('\n')) {
    lines.push({ text: line, at });
    at += line.length + 1;
  }
  return parseLines(lines, 0);
}

function parseLines(lines: readonly SourceLine[], depth: number): Block[] {
  const blocks: Block[] = [];
  let index = 0;
  while (index < lines.length) {
    const line = lines[index];
    if (line === undefined) break;
    if (line.text.trim() === '') {
      index += 1;
      continue;
    }
    const { block, next } = parseBlock(lines, index, depth);
    blocks.push(block);
    index = next;
  }
  return blocks;
}

interface Parsed {
  block: Block;
  next: number;
}

function parseBlock(lines: readonly SourceLine[], index: number, depth: number): Parsed {
  const line = lines[index] ?? { text: '', at: 0 };
  const fence = FENCE.exec(line.text);
  if (fence !== null) return parseCode(lines, index, fence);
  const heading = HEADING.exec(line.text);
  if (heading !== null) {
    const { text, at } = trimStart({ text: line.text.slice(heading[0].length), at: line.at + heading[0].length });
    const content = { text: text.trimEnd().replace(/^#+$/, ''), at };
    return { block: { type: 'heading', level: heading[1]?.length ?? 1, lines: [content] }, next: index + 1 };
  }
  if (RULE.test(line.text)) return { block: { type: 'rule' }, next: index + 1 };
  if (depth < MAX_DEPTH && QUOTE.test(line.text)) return parseQuote(lines, index, depth);
  if (depth < MAX_DEPTH && ITEM.test(line.text)) return parseList(lines, index, depth);
  if (line.text.includes('|') && DELIMITER_ROW.test(lines[index + 1]?.text ?? '')) return parseTable(lines, index);
  let next = index + 1;
  while (next < lines.length && !startsBlock(lines, next, depth)) next += 1;
  return { block: { type: 'paragraph', lines: lines.slice(index, next).map(trimStart) }, next };
}

function startsBlock(lines: readonly SourceLine[], index: number, depth: number): boolean {
  const text = lines[index]?.text ?? '';
  if (text.trim() === '' || FENCE.test(text) || HEADING.test(text) || RULE.test(text)) return true;
  return depth < MAX_DEPTH && (QUOTE.test(text) || ITEM.test(text));
}

const trimStart = ({ text, at }: SourceLine): SourceLine => {
  const trimmed = text.trimStart();
  return { text: trimmed, at: at + text.length - trimmed.length };
};

function parseCode(lines: readonly SourceLine[], index: number, fence: RegExpExecArray): Parsed {
  let next = index + 1;
  while (next < lines.length && !isClosing(lines[next]?.text ?? '', fence[1] ?? '')) next += 1;
  const text = lines
    .slice(index + 1, next)
    .map((line) => line.text)
    .join('\n');
  return { block: { type: 'code', language: fence[2]?.trim().split(/\s/)[0] ?? '', text }, next: next + 1 };
}

function parseQuote(lines: readonly SourceLine[], index: number, depth: number): Parsed {
  let next = index;
  const inner: SourceLine[] = [];
  for (; next < lines.length; next += 1) {
    const { text, at } = lines[next] ?? { text: '', at: 0 };
    const marker = QUOTE.exec(text)?.[0];
    if (marker === undefined) break;
    inner.push({ text: text.slice(marker.length), at: at + marker.length });
  }
  return { block: { type: 'quote', blocks: parseLines(inner, depth + 1) }, next };
}

function parseList(lines: readonly SourceLine[], index: number, depth: number): Parsed {
  const first = ITEM.exec(lines[index]?.text ?? '');
  const isOrdered = first?.[3] !== undefined;
  const items: SourceLine[][] = [];
  let indent = 0;
  let next = index;
  for (; next < lines.length; next += 1) {
    const line = lines[next] ?? { text: '', at: 0 };
    const leading = line.text.length - line.text.trimStart().length;
    const marker = ITEM.exec(line.text);
    const isNested = items.length > 0 && leading >= Math.min(indent, 2) && leading > (first?.[1]?.length ?? 0);
    if (marker !== null && !isNested && !RULE.test(line.text) && (marker[3] !== undefined) === isOrdered) {
      indent = marker[0].length;
      items.push([{ text: line.text.slice(indent), at: line.at + indent }]);
      continue;
    }
    const isBlank = line.text.trim() === '';
    const wasBlank = lines[next - 1]?.text.trim() === '';
    if (!isBlank && !isNested && (wasBlank || startsBlock(lines, next, depth))) break;
    const cut = Math.min(leading, indent);
    items.at(-1)?.push({ text: line.text.slice(cut), at: line.at + cut });
  }
  const start = isOrdered ? Number(first?.[3]) : null;
  return { block: { type: 'list', start, items: items.map((item) => parseLines(item, depth + 1)) }, next };
}

function parseTable(lines: readonly SourceLine[], index: number): Parsed {
  const head = splitRow(lines[index]);
  const rows: SourceLine[][] = [];
  let next = index + 2;
  for (; next < lines.length; next += 1) {
    const line = lines[next];
    if (line === undefined || !line.text.includes('|')) break;
    rows.push(splitRow(line).slice(0, head.length));
  }
  return { block: { type: 'table', head, rows }, next };
}

/** Splits a row at `|`, which `\|` and code do not end. */
function splitRow(line: SourceLine | undefined): SourceLine[] {
  if (line === undefined) return [];
  const cells: SourceLine[] = [];
  let from = 0;
  for (let index = 0; index <= line.text.length; index += 1) {
    if (index < line.text.length && (line.text[index] !== '|' || line.text[index - 1] === '\\')) continue;
    const text = line.text.slice(from, index);
    cells.push({ ...trimStart({ text, at: line.at + from }), text: text.trim() });
    from = index + 1;
  }
  if (cells[0]?.text === '') cells.shift();
  if (cells.at(-1)?.text === '') cells.pop();
  return cells;
}
