import { type Checker, isTest, lineAt, type Violation, violationAt, walk } from './source.ts';

/** Names that describe no content and attract unrelated code. */
const VAGUE_NAMES: ReadonlySet<string> = new Set(['util', 'helper', 'common', 'shared', 'manager', 'service', 'base']);
const KEBAB = /^[a-z0-9]+(-[a-z0-9]+)*$/;
const SUFFIX = /((\.slow)?\.test|\.config|\.d)?\.[jt]sx?$/;
/** Words that name no content. */
const VAGUE_VARIABLES: ReadonlySet<string> = new Set([
  'found',
  'given',
  'known',
  'told',
  'asked',
  'wanted',
  'meanwhile',
]);
/**
 * A function is named by a verb; `anyOf` and the like are keywords of JSON Schema, `startsWithSuffixOf` begins with a
 * verb.
 */
const NOUN_OF = /^(?!any|all|one|is|has|starts|ends|create|run)[a-z]\w*Of$/;
const SHIPPED = /^(src|packages|console\/src)\//;
const MAX_COMMENT_COLUMNS = 120;
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

/** Rejects variables named by a participle, and functions named `...Of` without a verb, in code that ships. */
export const checkIdentifiers: Checker = (source) => {
  if (isTest(source.path) || !SHIPPED.test(source.path)) return [];
  const violations: Violation[] = [];
  walk(source, (node) => {
    if (node.type !== 'VariableDeclarator' && node.type !== 'FunctionDeclaration') return;
    if (node.id?.type !== 'Identifier') return;
    const { name } = node.id;
    if (!VAGUE_VARIABLES.has(name) && !NOUN_OF.test(name)) return;
    violations.push(violationAt(source, node.id.start, `'${name}' does not say what it is or does`));
  });
  return violations;
};

/** Requires comments to be wrapped like code, except those with a URL and instructions to tools. */
export const checkCommentWidth: Checker = (source) =>
  source.comments.flatMap(({ start, end }) => {
    const first = lineAt(source, start);
    const lines = source.text.split('\n').slice(first - 1, lineAt(source, end));
    return lines.flatMap((line, i): Violation[] => {
      if (line.length <= MAX_COMMENT_COLUMNS || !/^\s*(\/\/|\/?\*)/.test(line) || /https?:|biome-ignore/.test(line))
        return [];
      return [{ path: source.path, line: first + i, rule: `a comment is wider than ${MAX_COMMENT_COLUMNS} columns` }];
    });
  });
