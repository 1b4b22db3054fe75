import { ActionIcon, Group, Popover, Stack, Text, Title } from '@mantine/core';
import { Info } from 'lucide-react';
import { type ComponentProps, createContext, type ReactNode, useContext, useEffect } from 'react';
import { Icon } from './icon.tsx';
import { PRODUCT, useCommonMessages } from './messages.ts';
import { UnfinishedQueries } from './states.tsx';

interface PageProps {
  title: string;
  /** What the page is for, behind an information sign. */
  intro?: string;
  /** Links to the pages above this one. */
  parents?: ReactNode;
  /** The state of what the page shows, after the title. */
  state?: ReactNode;
  action?: ReactNode;
  /** Whether the content is as wide as the window, for tables of logs. */
  isWide?: boolean;
  children: ReactNode;
}

/** Links of the pages that share an entry of the navigation, shown below the title; null: none. */
export const PageTabs = createContext<ReactNode>(null);

/** Shows a title in the tab of the browser. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · ${PRODUCT}`;
  }, [title]);
}

/** A page: its head with title, state and main action, which stays in view, and its content. */
export function Page({ title, intro, parents, state, action, isWide = false, children }: PageProps) {
  useTitle(title);
  const tabs = useContext(PageTabs);
  return (
    <>
      <div className="page-head">
        <Group gap="xs" wrap="nowrap" miw={0}>
          {parents !== undefined && <div className="page-parents">{parents} /</div>}
          <Title order={1} className="page-title" title={title}>
            {title}
          </Title>
          {state}
          {intro !== undefined && <Introduction text={intro} />}
        </Group>
        <div className="page-action">{action}</div>
      </div>
      <Stack gap="md" className="page" data-wide={isWide || undefined}>
        {tabs !== null && (
          <nav className="page-tabs" aria-label={title}>
            {tabs}
          </nav>
        )}
        {children}
      </Stack>
    </>
  );
}

function Introduction({ text }: { text: string }) {
  const common = useCommonMessages();
  return (
    <Popover width={320} position="bottom-start">
      <Popover.Target>
        <ActionIcon aria-label={common.about} title={text}>
          <Icon icon={Info} />
        </ActionIcon>
      </Popover.Target>
      <Popover.Dropdown>
        <Text>{text}</Text>
      </Popover.Dropdown>
    </Popover>
  );
}

/** A part of a page with its heading. */
export function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Stack component="section" gap="xs">
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
