import { Type } from 'typebox';
import { MUST } from '../../../http/validation.ts';
import { BY_SERVICE_ACCOUNT, COMMON_FIELDS, ServiceAccount } from './config-fields.ts';
import type { Connector } from './connector.ts';
import { NOT_IMPLEMENTED } from './not-implemented.ts';

/** Bucket naming rules of Google Cloud Storage. */
const BUCKET = {
  pattern:
    '^(?=.{3,222}$)(?!\\d+\\.\\d+\\.\\d+\\.\\d+$)[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?(\\.[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?)*$',
  [MUST]:
    'be 3 to 222 lower-case letters, digits, dashes and underscores, with dots between parts of at most 63 that begin and end with a letter or digit, and no IP address',
};
/** Maximum characters of an object name. */
const MAX_NAME_CHARACTERS = 1024;

const Config = Type.Object({
  bucket: Type.String(BUCKET),
  prefix: Type.Optional(
    Type.String({ maxLength: MAX_NAME_CHARACTERS, description: 'Only objects whose name starts with this prefix.' }),
  ),
  credentials: ServiceAccount,
  ...COMMON_FIELDS,
});

/** Objects of a Google Cloud Storage bucket. */
export const gcs: Connector<typeof Config> = {
  type: 'gcs',
  config: Config,
  ...BY_SERVICE_ACCOUNT,
  ...NOT_IMPLEMENTED,
};
