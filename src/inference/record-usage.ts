import type { Deps } from '../deps.ts';
import type { Call } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import type { UsageRecord } from '../lib/usage-record.ts';

/** Records what a call has used of a model. To be called once, when it has ended; resolves when the record is durable. */
export function recordUsage(
  deps: Pick<Deps, 'recordUsage' | 'now'>,
  { caller, requestId, endpoint }: Call,
  used: Pick<UsageRecord, 'model' | 'promptTokens' | 'cachedTokens' | 'completionTokens' | 'outcome'>,
): Promise<void> {
  const { organizationId, keyId } = caller;
  const createdAt = new Date(deps.now());
  return deps.recordUsage({ id: newId('usage'), organizationId, keyId, requestId, endpoint, ...used, createdAt });
}
