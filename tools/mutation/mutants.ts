import type { Node } from 'oxc-parser';
import { lineAt, parseSource, type Source, walk } from '../../test/architecture/source.ts';
import { EDITS } from './operators.ts';

/** Replacement of a span of text. `start` and `end` are UTF-16 offsets. */
export interface Edit {
  operator: string;
  start: number;
  end: number;
  replacement: string;
}

/** A small defect that can be planted in one file. */
export interface Mutant extends Edit {
  path: string;
  /** Line number, from 1. */
  line: number;
  /** The changed lines, trimmed, before and after the edit. */
  before: string;
  after: string;
}

/** Calls with human-readable text. */
const LOG_CALL = /(^|[.#])(logger|log)\b/;
/** Properties with human-readable text. */
const PROSE_KEYS: ReadonlySet<string> = new Set(['help', 'description', 'summary', 'tags', 'title', 'examples']);

/** Lists the mutants of a file that still parse. Skips types, log calls and descriptions. */
export function findMutants(path: string, text: string): Mutant[] {
  const source = parseSource(path, text);
  const edits: Edit[] = [];
  walk(source, (node, around) => {
    if (isSkipped(source, node, around)) return;
    for (const findEdits of EDITS) edits.push(...findEdits(node, around, text));
  });
  const distinct = new Map(edits.map((edit) => [`${edit.start}:${edit.end}:${edit.replacement}`, edit]));
  return [...distinct.values()]
    .filter((edit) => parses(path, applyEdit(text, edit)))
    .map((edit) => describe(source, edit));
}

/** Applies the edit to the text. */
export function applyEdit(text: string, { start, end, replacement }: Edit): string {
  return text.slice(0, start) + replacement + text.slice(end);
}

function isSkipped(source: Source, node: Node, around: readonly Node[]): boolean {
  return [...around, node].some((each) => {
    if (each.type === 'CallExpression') return isLogCall(source, each);
    if (each.type === 'ExpressionStatement') return isLogCall(source, each.expression);
    if (each.type === 'Property') return each.key.type === 'Identifier' && PROSE_KEYS.has(each.key.name);
    return isType(each) || each.type === 'ImportDeclaration';
  });
}

function isLogCall({ text }: Source, node: Node): boolean {
  return node.type === 'CallExpression' && LOG_CALL.test(text.slice(node.callee.start, node.callee.end));
}

/** Syntax removed by type stripping; `as`, `satisfies` and `!` contain an expression that remains. */
function isType({ type }: Node): boolean {
  if (!type.startsWith('TS')) return false;
  return !['TSAsExpression', 'TSSatisfiesExpression', 'TSNonNullExpression'].includes(type);
}

function parses(path: string, text: string): boolean {
  try {
    parseSource(path, text);
    return true;
  } catch {
    return false;
  }
}

function describe(source: Source, edit: Edit): Mutant {
  const { path, text } = source;
  const lineStart = text.lastIndexOf('\n', edit.start - 1) + 1;
  const nextLine = text.indexOf('\n', edit.end);
  const lineEnd = nextLine === -1 ? text.length : nextLine;
  const shown = (line: string) => line.replaceAll(/\s+/g, ' ').trim();
  return {
    ...edit,
    path,
    line: lineAt(source, edit.start),
    before: shown(text.slice(lineStart, lineEnd)),
    after: shown(text.slice(lineStart, edit.start) + edit.replacement + text.slice(edit.end, lineEnd)),
  };
}
