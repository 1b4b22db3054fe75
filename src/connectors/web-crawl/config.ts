import { Type } from 'typebox';
import { invalidValue } from '../../errors.ts';
import { COMMON_FIELDS, HttpUrl, MAX_LISTED, REMOTE_FIELDS } from '../config-fields.ts';

/** Maximum patterns in one list. */
const MAX_PATTERNS = 100;
/** Maximum brace groups of a pattern: each multiplies its alternatives. */
const MAX_GROUPS = 4;

const Patterns = (description: string) =>
  Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 1024 }), {
      maxItems: MAX_PATTERNS,
      description: `${description} Globs of whole URLs: \`*\` within a path segment, \`**\` across segments, \`?\`, \`[a-z]\`, \`{a,b}\`.`,
    }),
  );

/** Config of `web_crawl`. */
export const WebCrawlConfig = Type.Object({
  urls: Type.Array(HttpUrl, {
    minItems: 1,
    maxItems: MAX_LISTED,
    description: 'Start URLs of the crawl. Links to other hosts are not followed.',
  }),
  max_depth: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 20,
      default: 3,
      description: 'Maximum link distance from a start URL; 0: only the start URLs.',
    }),
  ),
  max_pages: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 100_000, default: 100, description: 'Maximum number of stored pages.' }),
  ),
  include_patterns: Patterns(
    'Only pages that match one of these patterns. Start URLs are read for their links anyway.',
  ),
  exclude_patterns: Patterns('Excludes pages that match one of these patterns.'),
  requests_per_second: Type.Optional(
    Type.Number({
      minimum: 0.1,
      maximum: 50,
      description: 'Maximum requests per second and host; default 10. The crawl delay of robots.txt can lower it.',
    }),
  ),
  ...COMMON_FIELDS,
  ...REMOTE_FIELDS,
});

/** Throws 400 for a glob with unbalanced brackets or braces. A backslash escapes the next character. */
export function requireGlob(pattern: string, param: string): void {
  const syntax = pattern.replaceAll(/\\./gs, '_').replaceAll(/\[!?\]?[^\]]*\]/g, '_');
  if (syntax.endsWith('\\')) throw invalidValue(param, 'must not end in a backslash');
  if (syntax.includes('[')) throw invalidValue(param, "has an unclosed '['");
  const braces = syntax.replaceAll(/[^{}]/g, '');
  if (!/^(\{\})*$/.test(braces)) throw invalidValue(param, "has unbalanced or nested '{' and '}'");
  if (braces.length > 2 * MAX_GROUPS) throw invalidValue(param, `must have at most ${MAX_GROUPS} brace groups`);
}
