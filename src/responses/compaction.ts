import type { Deps } from '../deps.ts';
import type { Call } from '../lib/caller.ts';
import { DecryptionError } from '../lib/secrets.ts';

/** Encrypts the summary of a conversation for its client. Only calls of the same organization can open it. */
export function sealCompaction({ secrets }: Pick<Deps, 'secrets'>, { caller }: Call, text: string): string {
  return secrets.seal(text, owner(caller.organizationId));
}

/** Decrypts a summary. Null: it was not made by this service for the organization. */
export function openCompaction({ secrets }: Pick<Deps, 'secrets'>, { caller }: Call, content: string): string | null {
  try {
    return secrets.open(content, owner(caller.organizationId));
  } catch (error) {
    if (error instanceof DecryptionError) return null;
    throw error;
  }
}

/** Not the id alone: what a caller sends must not open as another secret of the organization. */
const owner = (organizationId: string): string => `compaction of ${organizationId}`;
