import { Type } from 'typebox';
import { invalidValue } from '../../../errors.ts';
import { COMMON_FIELDS, HttpUrl, MAX_LISTED, requirePlainUrl } from './config-fields.ts';
import type { Connector } from './connector.ts';
import { NOT_IMPLEMENTED } from './not-implemented.ts';

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

const Config = Type.Object({
  urls: Type.Array(HttpUrl, { minItems: 1, maxItems: MAX_LISTED, description: 'Start URLs of the crawl.' }),
  max_depth: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 20,
      default: 3,
      description: 'Maximum link distance from a start URL; 0: only the start URLs.',
    }),
  ),
  max_pages: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000, default: 100 })),
  include_patterns: Patterns('Only pages that match one of these patterns.'),
  exclude_patterns: Patterns('Excludes pages that match one of these patterns.'),
  ...COMMON_FIELDS,
});

/** Web pages. */
export const webCrawl: Connector<typeof Config> = {
  type: 'web_crawl',
  config: Config,
  secretFields: [],
  check(config) {
    config.urls.forEach((url, i) => {
      requirePlainUrl(url, `config.urls.${i}`);
    });
    for (const name of ['include_patterns', 'exclude_patterns'] as const) {
      config[name]?.forEach((pattern, i) => {
        requireGlob(pattern, `config.${name}.${i}`);
      });
    }
    return config;
  },
  ...NOT_IMPLEMENTED,
};

/** Throws 400 for a glob with unbalanced brackets or braces. A backslash escapes the next character. */
function requireGlob(pattern: string, param: string): void {
  const syntax = pattern.replaceAll(/\\./gs, '_').replaceAll(/\[!?\]?[^\]]*\]/g, '_');
  if (syntax.endsWith('\\')) throw invalidValue(param, 'must not end in a backslash');
  if (syntax.includes('[')) throw invalidValue(param, "has an unclosed '['");
  const braces = syntax.replaceAll(/[^{}]/g, '');
  if (!/^(\{\})*$/.test(braces)) throw invalidValue(param, "has unbalanced or nested '{' and '}'");
  if (braces.length > 2 * MAX_GROUPS) throw invalidValue(param, `must have at most ${MAX_GROUPS} brace groups`);
}
