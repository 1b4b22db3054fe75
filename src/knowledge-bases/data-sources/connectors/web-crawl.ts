import { Type } from 'typebox';
import { invalidValue } from '../../../errors.ts';
import { COMMON_FIELDS, HttpUrl, MAX_LISTED, requirePlainUrl } from './config-fields.ts';
import type { Connector } from './connector.ts';
import { UNBUILT } from './unbuilt.ts';

/** Patterns of one list. */
const MAX_PATTERNS = 100;
/** Groups in braces of one pattern: each multiplies what the pattern stands for. */
const MAX_GROUPS = 4;

const Patterns = (description: string) =>
  Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 1024 }), {
      maxItems: MAX_PATTERNS,
      description: `${description} Globs of whole URLs: \`*\` within a step of the path, \`**\` over steps, \`?\`, \`[a-z]\`, \`{a,b}\`.`,
    }),
  );

const Config = Type.Object({
  urls: Type.Array(HttpUrl, { minItems: 1, maxItems: MAX_LISTED, description: 'Where the crawl begins.' }),
  max_depth: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 20,
      default: 3,
      description: 'Links from a start; 0: only the starts.',
    }),
  ),
  max_pages: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000, default: 100 })),
  include_patterns: Patterns('Only pages that match one of these.'),
  exclude_patterns: Patterns('No page that matches one of these.'),
  ...COMMON_FIELDS,
});

/** Pages of the web. */
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
  ...UNBUILT,
};

/** Throws 400 for a pattern whose brackets and braces do not pair. A backslash takes the sign behind it as it is. */
function requireGlob(pattern: string, param: string): void {
  const signs = pattern.replaceAll(/\\./gs, '_').replaceAll(/\[!?\]?[^\]]*\]/g, '_');
  if (signs.endsWith('\\')) throw invalidValue(param, 'must not end in a backslash');
  if (signs.includes('[')) throw invalidValue(param, "has a '[' without its ']'");
  const braces = signs.replaceAll(/[^{}]/g, '');
  if (!/^(\{\})*$/.test(braces)) throw invalidValue(param, "has a '{' or '}' without the other, or one inside another");
  if (braces.length > 2 * MAX_GROUPS) throw invalidValue(param, `must have at most ${MAX_GROUPS} groups in braces`);
}
