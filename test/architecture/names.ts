import { type Checker, lineAt, type Violation } from './source.ts';

/** Names that describe no content and attract unrelated code. */
const VAGUE_NAMES: ReadonlySet<string> = new Set(['util', 'helper', 'common', 'shared', 'manager', 'service', 'base']);
const KEBAB = /^[a-z0-9]+(-[a-z0-9]+)*$/;
const SUFFIX = /((\.slow)?\.test|\.config|\.d)?\.[jt]sx?$/;
const UNFINISHED = /\b(TODO|FIXME|XXX)\b/;

/** Requires kebab-case names without the words of `VAGUE_NAMES`. */
export const checkNames: Checker = ({ path }) => {
  const words = path.replace(SUFFIX, '').split('/');
  return words.flatMap((word): Violation[] => {
    const rule = nameRule(word);
    return rule === null ? [] : [{ path, line: 1, rule }];
  });
};

function nameRule(word: string): string | null {
  if (!KEBAB.test(word)) return `the name '${word}' is not kebab-case`;
  return VAGUE_NAMES.has(word.replace(/s$/, '')) ? `the name '${word}' does not say what is in it` : null;
}

/** Rejects marks of unfinished work in comments; unfinished work belongs in issues. */
export const checkUnfinished: Checker = (source) =>
  source.comments.flatMap((comment) => {
    const mark = UNFINISHED.exec(comment.value);
    if (mark === null) return [];
    return [{ path: source.path, line: lineAt(source, comment.start + mark.index), rule: `a comment says ${mark[0]}` }];
  });
