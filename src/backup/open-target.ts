import { resolve } from 'node:path';
import { openFolderTarget } from './folder-target.ts';
import type { BackupTarget } from './target.ts';

/** Opens the target that `QUIRE_BACKUP_URL` names. Throws an `OperatorError` for an invalid URL. */
export async function openTarget(url: string): Promise<BackupTarget> {
  if (/^s3:\/\//.test(url)) {
    // Loaded on demand: the S3 client is large.
    const { openS3Target } = await import('./s3-target.ts');
    return openS3Target(url);
  }
  return openFolderTarget(resolve(url));
}
