import { Paper, Text } from '@mantine/core';

/** A figure with its label, and a smaller text that explains it. */
export function Stat({ label, value, detail }: { label: string; value: string; detail?: string }) {
  return (
    <Paper withBorder px={14} pt="sm" pb="xs" miw={150}>
      <Text size="xs" c="dimmed">
        {label}
      </Text>
      <Text className="stat-value">{value}</Text>
      {detail !== undefined && (
        <Text size="xs" c="dimmed">
          {detail}
        </Text>
      )}
    </Paper>
  );
}
