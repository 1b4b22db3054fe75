import { Type } from 'typebox';
import { MUST } from '../../../http/validation.ts';
import { COMMON_FIELDS, Secret } from './config-fields.ts';
import type { Connector } from './connector.ts';
import { NOT_IMPLEMENTED } from './not-implemented.ts';

/** Bucket naming rules of Amazon S3. */
const BUCKET = {
  pattern: '^(?!\\d+\\.\\d+\\.\\d+\\.\\d+$)(?!.*\\.\\.)[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$',
  [MUST]:
    'be 3 to 63 lower-case letters, digits, dots and dashes that begin and end with a letter or digit, without two dots in a row, and no IP address',
};
/** Maximum characters of an object key. */
const MAX_KEY_CHARACTERS = 1024;

const Config = Type.Object({
  bucket: Type.String(BUCKET),
  prefix: Type.Optional(
    Type.String({ maxLength: MAX_KEY_CHARACTERS, description: 'Only objects whose key starts with this prefix.' }),
  ),
  region: Type.Optional(
    Type.String({
      pattern: '^[a-z0-9-]{1,64}$',
      [MUST]: 'be 1 to 64 lower-case letters, digits and dashes, such as us-east-1',
      default: 'us-east-1',
    }),
  ),
  credentials: Type.Object({ access_key_id: Secret, secret_access_key: Secret }),
  ...COMMON_FIELDS,
});

/** Objects of an Amazon S3 bucket. */
export const s3: Connector<typeof Config> = {
  type: 's3',
  config: Config,
  secretFields: ['credentials'],
  ...NOT_IMPLEMENTED,
};
