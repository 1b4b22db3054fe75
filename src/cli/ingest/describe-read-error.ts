import { reasonOf } from '../../lib/start-error.ts';

/** A sentence for the error of a file that cannot be read. */
export function describeReadError(error: unknown): string {
  const [, why] = /^[A-Z]+: ([^,]+)/.exec(reasonOf(error)) ?? [];
  return `It cannot be read: ${why ?? reasonOf(error)}.`;
}
