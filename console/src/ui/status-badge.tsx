import type { CSSProperties } from 'react';
import { type StatusMessages, useStatusMessages } from './messages.ts';

/** Names of the messages `statuses`. */
export type Status = keyof StatusMessages;

/** Tokens of `console.css`. */
const COLORS: Readonly<Record<Status, 'ok' | 'accent' | 'faint' | 'bad' | 'warn'>> = {
  active: 'ok',
  completed: 'ok',
  processed: 'ok',
  up: 'ok',
  ready: 'ok',
  uploading: 'accent',
  processing: 'accent',
  running: 'accent',
  pulling: 'accent',
  in_progress: 'accent',
  validating: 'accent',
  finalizing: 'accent',
  indexing: 'accent',
  queued: 'faint',
  waiting: 'faint',
  uploaded: 'faint',
  not_loaded: 'faint',
  failed: 'bad',
  down: 'bad',
  revoked: 'bad',
  error: 'bad',
  rejected: 'warn',
  expired: 'warn',
  cancelled: 'faint',
  cancelling: 'warn',
};

/** The status of a resource: a dot with a word. */
export function StatusBadge({ status }: { status: Status }) {
  const statuses = useStatusMessages();
  return (
    <span className="status" style={{ '--status-color': `var(--${COLORS[status]})` } as CSSProperties}>
      {statuses[status]}
    </span>
  );
}
