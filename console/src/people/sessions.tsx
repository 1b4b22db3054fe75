import { Badge, Group, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { api, body } from '../api/client.ts';
import { useSession } from '../api/session.ts';
import { useNavigationMessages } from '../shell/messages.ts';
import { ConfirmButton } from '../ui/confirm.tsx';
import { useFormat } from '../ui/format.ts';
import { useCommonMessages } from '../ui/messages.ts';
import { Section } from '../ui/page.tsx';
import { type ItemOf, ResourceTable } from '../ui/resource-table.tsx';
import { describeBrowser } from './describe-browser.ts';
import { useSettingsMessages } from './messages.ts';

/** Query key of the sessions of the user. */
export const SESSIONS_KEY = ['own-sessions'] as const;

const fetchSessions = (after: string | undefined) =>
  body(api.GET('/v1/browser-sessions', { params: { query: { after, limit: 50 } } }));
type OwnSession = ItemOf<typeof fetchSessions>;

/** The browsers in which the user is signed in. */
export function SessionsSection() {
  const settings = useSettingsMessages();
  const nav = useNavigationMessages();
  const common = useCommonMessages();
  const format = useFormat();
  const queryClient = useQueryClient();
  const { user } = useSession();
  const refresh = () => queryClient.invalidateQueries({ queryKey: SESSIONS_KEY });
  return (
    <Section title={settings.sessions}>
      <ResourceTable<OwnSession>
        label={settings.sessions}
        queryKey={[...SESSIONS_KEY, user.id]}
        fetchPage={fetchSessions}
        rowKey={({ id }) => id}
        empty={common.none}
        columns={[
          { heading: settings.browser, cell: (session) => <BrowserName session={session} /> },
          { heading: settings.signedInAt, cell: ({ created_at: time }) => format.time(time) },
          { heading: settings.lastSeen, cell: ({ last_seen_at: time }) => format.time(time) },
          {
            heading: common.actions,
            cell: ({ id, is_current: isCurrent, user_agent: userAgent }) =>
              !isCurrent && (
                <ConfirmButton
                  label={nav.signOut}
                  title={describeBrowser(userAgent) ?? settings.unknownBrowser}
                  text={settings.signOutText}
                  action={async () => {
                    await api.DELETE('/v1/browser-sessions/{session_id}', { params: { path: { session_id: id } } });
                    await refresh();
                  }}
                />
              ),
          },
        ]}
      />
      <Group>
        <ConfirmButton
          label={settings.signOutOthers}
          title={settings.sessions}
          text={settings.signOutOthersText}
          action={async () => {
            await api.DELETE('/v1/session', { params: { query: { others: true } } });
            await refresh();
          }}
        />
      </Group>
    </Section>
  );
}

function BrowserName({ session: { user_agent: userAgent, is_current: isCurrent } }: { session: OwnSession }) {
  const settings = useSettingsMessages();
  return (
    <Group gap="xs">
      <Text title={userAgent ?? undefined}>{describeBrowser(userAgent) ?? settings.unknownBrowser}</Text>
      {isCurrent && (
        <Badge variant="default" tt="none">
          {settings.thisBrowser}
        </Badge>
      )}
    </Group>
  );
}
