import type { TestContext } from 'node:test';
import { Client } from 'pg';
import { withDeadline } from '../deadline.ts';

/** A statement that waits. */
export interface HeldStatement {
  /** Resolves when the statement waits. */
  reached(): Promise<void>;
  release(): void;
}

/** Which of the matching statements waits, from 1, and whether it waits before it runs or with its result. */
export interface HoldOptions {
  nth?: number;
  at?: 'start' | 'result';
}

type Query = (...args: unknown[]) => unknown;
type Callback = (...args: unknown[]) => void;

/**
 * Makes the n-th statement that matches wait until it is released: a race between two processes happens in the order
 * that the test chooses. Covers every statement of this Node process, inside of transactions or not. The end of the
 * test releases it.
 */
export function holdStatement(
  t: TestContext,
  matching: RegExp,
  { nth = 1, at = 'start' }: HoldOptions = {},
): HeldStatement {
  const reached = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const prototype = Client.prototype as unknown as { query: Query };
  const { query } = prototype;
  const wait = () => {
    reached.resolve();
    return released.promise;
  };
  let matches = 0;
  t.mock.method(prototype, 'query', function (this: Client, ...args: unknown[]) {
    if (!matching.test(statementText(args[0]))) return query.apply(this, args);
    matches += 1;
    if (matches !== nth) return query.apply(this, args);
    const callback = args.at(-1);
    const isAwaited = typeof callback !== 'function';
    if (at === 'start') {
      const sent = wait().then(() => query.apply(this, args));
      return isAwaited ? sent : undefined;
    }
    if (isAwaited) return (query.apply(this, args) as Promise<unknown>).finally(wait);
    const answer: Callback = (...results) => void wait().then(() => (callback as Callback)(...results));
    return query.apply(this, [...args.slice(0, -1), answer]);
  });
  t.after(() => released.resolve());
  return {
    reached: () => withDeadline(`a statement like ${matching}`, reached.promise),
    release: () => released.resolve(),
  };
}

function statementText(query: unknown): string {
  return typeof query === 'string' ? query : ((query as { text?: string } | undefined)?.text ?? '');
}
