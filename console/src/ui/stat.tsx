import { Paper, Text } from '@mantine/core';

/** A figure with its label, and a smaller text that explains it. */
export function Stat({ label, value, detail }: { label: string; value: string; detail?: string }) {
  return (
    <Paper withBorder p="md" miw={150}>
      <Text size="sm" c="dimmed">
        {label}
      </Text>
      <Text size="xl" fw={650} style={{ overflowWrap: 'anywhere' }}>
        {value}
      </Text>
      {detail !== undefined && (
        <Text size="xs" c="dimmed">
          {detail}
        </Text>
      )}
    </Paper>
  );
}
