import { type Checker, lineAt, type Violation } from './source.ts';

/** Names that say nothing of what is in them, and so gather everything. */
const DRAWERS: ReadonlySet<string> = new Set(['util', 'helper', 'common', 'shared', 'manager', 'service', 'base']);
const KEBAB = /^[a-z0-9]+(-[a-z0-9]+)*$/;
const SUFFIX = /(\.test|\.config|\.d)?\.[jt]s$/;
const UNFINISHED = /\b(TODO|FIXME|XXX)\b/;

/** Names of files and folders: kebab-case, and none of the drawers. */
export const checkNames: Checker = ({ path }) => {
  const words = path.replace(SUFFIX, '').split('/');
  return words.flatMap((word): Violation[] => {
    const rule = nameRule(word);
    return rule === null ? [] : [{ path, line: 1, rule }];
  });
};

function nameRule(word: string): string | null {
  if (!KEBAB.test(word)) return `the name '${word}' is not kebab-case`;
  return DRAWERS.has(word.replace(/s$/, '')) ? `the name '${word}' does not say what is in it` : null;
}

/** What is unfinished is an issue, not a comment. */
export const checkUnfinished: Checker = (source) =>
  source.comments.flatMap((comment) => {
    const mark = UNFINISHED.exec(comment.value);
    if (mark === null) return [];
    return [{ path: source.path, line: lineAt(source, comment.start + mark.index), rule: `a comment says ${mark[0]}` }];
  });
