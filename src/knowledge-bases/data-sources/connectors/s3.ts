import { Type } from 'typebox';
import { COMMON_FIELDS, Secret } from './config-fields.ts';
import type { Connector } from './connector.ts';
import { UNBUILT } from './unbuilt.ts';

/** 3 to 63 of these, no two dots in a row, and not what looks like an IP address: the rules of Amazon S3 for buckets. */
const BUCKET = '^(?!\\d+\\.\\d+\\.\\d+\\.\\d+$)(?!.*\\.\\.)[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$';
/** Characters of an object's key. */
const MAX_KEY_CHARACTERS = 1024;

const Config = Type.Object({
  bucket: Type.String({ pattern: BUCKET }),
  prefix: Type.Optional(
    Type.String({ maxLength: MAX_KEY_CHARACTERS, description: 'Only objects whose key begins so.' }),
  ),
  region: Type.Optional(Type.String({ pattern: '^[a-z0-9-]{1,64}$', default: 'us-east-1' })),
  credentials: Type.Object({ access_key_id: Secret, secret_access_key: Secret }),
  ...COMMON_FIELDS,
});

/** Objects of a bucket of Amazon S3. */
export const s3: Connector<typeof Config> = { type: 's3', config: Config, secretFields: ['credentials'], ...UNBUILT };
