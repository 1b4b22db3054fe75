import { Type } from 'typebox';
import { MUST } from '../../../http/validation.ts';
import { COMMON_FIELDS, HttpUrl, MAX_LISTED, requirePlainUrl, Secret } from './config-fields.ts';
import type { Connector } from './connector.ts';
import { UNBUILT } from './unbuilt.ts';

/** As Confluence makes them; those of people begin with a tilde. */
const SpaceKey = Type.String({
  pattern: '^~?[A-Za-z0-9._:-]{1,255}$',
  [MUST]:
    'be the key of a space, such as ENG or ~7120abc: at most 255 letters, digits, dots, dashes, underscores and colons',
});

const Config = Type.Object({
  url: HttpUrl,
  space_keys: Type.Optional(
    Type.Array(SpaceKey, {
      minItems: 1,
      maxItems: MAX_LISTED,
      description: 'All spaces that the account may read, unless given.',
    }),
  ),
  credentials: Type.Object({
    email: Type.String({
      pattern: '^[^@\\s]+@[^@\\s]+$',
      [MUST]: 'be an email address',
      maxLength: 320,
      description: 'Shown as `***`.',
    }),
    api_token: Secret,
  }),
  ...COMMON_FIELDS,
});

/** Pages of a Confluence. */
export const confluence: Connector<typeof Config> = {
  type: 'confluence',
  config: Config,
  secretFields: ['credentials'],
  secretsGoTo: ['url'],
  check(config) {
    requirePlainUrl(config.url, 'config.url');
    return config;
  },
  ...UNBUILT,
};
