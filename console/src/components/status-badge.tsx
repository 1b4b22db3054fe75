import { Badge } from '@mantine/core';

const COLORS: Readonly<Record<string, string>> = {
  active: 'teal',
  completed: 'teal',
  processed: 'teal',
  ready: 'teal',
  processing: 'blue',
  in_progress: 'blue',
  validating: 'blue',
  finalizing: 'blue',
  indexing: 'blue',
  queued: 'gray',
  failed: 'red',
  error: 'red',
  expired: 'orange',
  cancelled: 'gray',
  cancelling: 'orange',
};

/** The state of a resource. */
export function StatusBadge({ status, label }: { status: string; label?: string }) {
  return (
    <Badge variant="light" color={COLORS[status] ?? 'gray'} tt="none" miw="max-content">
      {label ?? status}
    </Badge>
  );
}
