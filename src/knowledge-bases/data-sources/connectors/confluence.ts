import { Type } from 'typebox';
import { MUST } from '../../../http/validation.ts';
import { COMMON_FIELDS, HttpUrl, MAX_LISTED, REMOTE_FIELDS, requirePlainUrl, Secret } from './config-fields.ts';
import type { Connector } from './connector.ts';
import { NOT_IMPLEMENTED } from './not-implemented.ts';

/** Space keys; those of personal spaces begin with a tilde. */
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
      description: 'Default: all spaces that the account can read.',
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
  ...REMOTE_FIELDS,
});

/** Pages of a Confluence site. */
export const confluence: Connector<typeof Config> = {
  type: 'confluence',
  config: Config,
  secretFields: ['credentials'],
  secretDestinations: ['url'],
  check(config) {
    requirePlainUrl(config.url, 'config.url');
    return config;
  },
  ...NOT_IMPLEMENTED,
};
