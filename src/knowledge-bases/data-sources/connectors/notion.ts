import { Type } from 'typebox';
import { MUST } from '../../../http/validation.ts';
import { COMMON_FIELDS, MAX_LISTED, REMOTE_FIELDS, Secret } from './config-fields.ts';
import type { Connector } from './connector.ts';
import { NOT_IMPLEMENTED } from './not-implemented.ts';

/** A UUID with or without dashes. */
const NotionId = Type.String({
  pattern: '^[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}$',
  [MUST]: 'be the id of a page or database: 32 hexadecimal digits, with or without dashes',
});
const Ids = (description: string) =>
  Type.Optional(Type.Array(NotionId, { minItems: 1, maxItems: MAX_LISTED, description }));

const Config = Type.Object({
  page_ids: Ids(
    'Pages with their subpages. Without `page_ids` and `database_ids`: everything that the integration can read.',
  ),
  database_ids: Ids('Databases with their pages.'),
  credentials: Type.Object({ integration_token: Secret }),
  ...COMMON_FIELDS,
  ...REMOTE_FIELDS,
});

/** Pages of a Notion workspace. */
export const notion: Connector<typeof Config> = {
  type: 'notion',
  config: Config,
  secretFields: ['credentials'],
  ...NOT_IMPLEMENTED,
};
