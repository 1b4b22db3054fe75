import { Group, Stack, Text, Title } from '@mantine/core';
import { type ComponentProps, type ReactNode, useEffect } from 'react';
import { PRODUCT } from './messages.ts';
import { UnfinishedQueries } from './states.tsx';

interface PageProps {
  title: string;
  intro?: string;
  action?: ReactNode;
  children: ReactNode;
}

/** Shows a title in the tab of the browser. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · ${PRODUCT}`;
  }, [title]);
}

/** A page with its title, a sentence about it and its main action. */
export function Page({ title, intro, action, children }: PageProps) {
  useTitle(title);
  return (
    <Stack gap="lg">
      <Group justify="space-between" align="flex-start">
        <div>
          <Title order={1} size="h2">
            {title}
          </Title>
          {intro !== undefined && (
            <Text c="dimmed" mt={4}>
              {intro}
            </Text>
          )}
        </div>
        {action}
      </Group>
      {children}
    </Stack>
  );
}

/** A part of a page with its heading. */
export function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Stack component="section">
      <Title order={2} size="h4">
        {title}
      </Title>
      {children}
    </Stack>
  );
}

/** A page whose queries have no data yet: their error, or a loading indicator. */
export function UnfinishedPage({ title, queries }: { title: string } & ComponentProps<typeof UnfinishedQueries>) {
  return (
    <Page title={title}>
      <UnfinishedQueries queries={queries} />
    </Page>
  );
}
