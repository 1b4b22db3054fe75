import { Button, Code, CopyButton, Group } from '@mantine/core';
import { useCommonMessages } from './messages.ts';

/** A text with a button that copies it. */
export function CopyText({ value }: { value: string }) {
  const common = useCommonMessages();
  return (
    <Group gap="xs" wrap="nowrap" align="flex-start">
      <Code block style={{ flex: 1, overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}>
        {value}
      </Code>
      <CopyButton value={value}>
        {({ copied, copy }) => (
          <Button size="xs" variant="light" color={copied ? 'teal' : undefined} onClick={copy}>
            {copied ? common.copied : common.copy}
          </Button>
        )}
      </CopyButton>
    </Group>
  );
}
