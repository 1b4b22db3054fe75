import { Paper, Text } from '@mantine/core';

/** A figure with its label. */
export function Stat({ label, value }: { label: string; value: string }) {
  return (
    <Paper withBorder p="md" miw={150}>
      <Text size="sm" c="dimmed">
        {label}
      </Text>
      <Text size="xl" fw={650}>
        {value}
      </Text>
    </Paper>
  );
}
