import { Type } from 'typebox';
import { MUST } from '../../../http/validation.ts';
import { BY_SERVICE_ACCOUNT, COMMON_FIELDS, MAX_LISTED, REMOTE_FIELDS, ServiceAccount } from './config-fields.ts';
import type { Connector } from './connector.ts';
import { NOT_IMPLEMENTED } from './not-implemented.ts';

const FolderId = Type.String({
  pattern: '^[A-Za-z0-9_-]{1,128}$',
  [MUST]: "be the id of a folder, as at the end of its address: at most 128 letters, digits, '-' and '_'",
});

const Config = Type.Object({
  folder_ids: Type.Optional(
    Type.Array(FolderId, {
      minItems: 1,
      maxItems: MAX_LISTED,
      description: 'Default: all files that the account can read.',
    }),
  ),
  include_shared_drives: Type.Optional(Type.Boolean({ default: false })),
  credentials: ServiceAccount,
  ...COMMON_FIELDS,
  ...REMOTE_FIELDS,
});

/** Files of Google Drive. */
export const googleDrive: Connector<typeof Config> = {
  type: 'google_drive',
  config: Config,
  ...BY_SERVICE_ACCOUNT,
  ...NOT_IMPLEMENTED,
};
