import { type Checker, isTest, lineAt, type Source, violationAt, walk } from './source.ts';

const EXCEPTION = /biome-ignore lint\/suspicious\/noExplicitAny: \S/;

/** Requires a reason for `any` on the line above, as biome does. */
export const checkAny: Checker = (source) => {
  const excused = linesBelow(source, EXCEPTION);
  const found: ReturnType<Checker> = [];
  walk(source, (node) => {
    if (node.type !== 'TSAnyKeyword' || excused.has(lineAt(source, node.start))) return;
    found.push(violationAt(source, node.start, 'any'));
  });
  return found;
};

/** Rejects non-null assertions outside tests. */
export const checkNonNull: Checker = (source) => {
  if (isTest(source.path)) return [];
  const found: ReturnType<Checker> = [];
  walk(source, (node) => {
    if (node.type === 'TSNonNullExpression') found.push(violationAt(source, node.end - 1, 'non-null assertion `!`'));
  });
  return found;
};

function linesBelow(source: Source, pattern: RegExp): Set<number> {
  const comments = source.comments.filter(({ value }) => pattern.test(value));
  return new Set(comments.map(({ end }) => lineAt(source, end) + 1));
}
