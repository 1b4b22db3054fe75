import { Type } from 'typebox';
import { accountOf, COMMON_FIELDS, ServiceAccount } from './config-fields.ts';
import type { Connector } from './connector.ts';
import { UNBUILT } from './unbuilt.ts';

/** 3 to 222 of these, at most 63 between two dots: the rules of Google Cloud Storage for buckets. */
const BUCKET =
  '^(?=.{3,222}$)(?!\\d+\\.\\d+\\.\\d+\\.\\d+$)[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?(\\.[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?)*$';
/** Characters of an object's name. */
const MAX_NAME_CHARACTERS = 1024;

const Config = Type.Object({
  bucket: Type.String({ pattern: BUCKET }),
  prefix: Type.Optional(
    Type.String({ maxLength: MAX_NAME_CHARACTERS, description: 'Only objects whose name begins so.' }),
  ),
  credentials: ServiceAccount,
  ...COMMON_FIELDS,
});

/** Objects of a bucket of Google Cloud Storage. */
export const gcs: Connector<typeof Config> = {
  type: 'gcs',
  config: Config,
  secretFields: ['credentials'],
  check: (config) => ({
    ...config,
    credentials: { service_account_json: accountOf(config.credentials.service_account_json) },
  }),
  ...UNBUILT,
};
