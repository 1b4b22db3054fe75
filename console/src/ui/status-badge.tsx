import { Badge } from '@mantine/core';
import { type StatusMessages, useStatusMessages } from './messages.ts';

/** Names of the messages `statuses`. */
export type Status = keyof StatusMessages;

const COLORS: Readonly<Record<Status, string>> = {
  active: 'teal',
  completed: 'teal',
  processed: 'teal',
  up: 'teal',
  ready: 'teal',
  uploading: 'blue',
  processing: 'blue',
  running: 'blue',
  pulling: 'blue',
  in_progress: 'blue',
  validating: 'blue',
  finalizing: 'blue',
  indexing: 'blue',
  queued: 'gray',
  waiting: 'gray',
  uploaded: 'gray',
  not_loaded: 'gray',
  failed: 'red',
  down: 'red',
  revoked: 'red',
  error: 'red',
  rejected: 'orange',
  expired: 'orange',
  cancelled: 'gray',
  cancelling: 'orange',
};

/** The status of a resource. */
export function StatusBadge({ status }: { status: Status }) {
  const statuses = useStatusMessages();
  return (
    <Badge variant="light" color={COLORS[status]} tt="none" miw="max-content">
      {statuses[status]}
    </Badge>
  );
}
