import { describeError } from '../../lib/operator-error.ts';

/** A sentence for the error of a file that cannot be read. */
export function describeReadError(error: unknown): string {
  const [, why] = /^[A-Z]+: ([^,]+)/.exec(describeError(error)) ?? [];
  return `It cannot be read: ${why ?? describeError(error)}.`;
}
