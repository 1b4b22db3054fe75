import { Group, Text } from '@mantine/core';
import { api } from '../api/client.ts';
import { useSession } from '../api/session.ts';
import type { Schema } from '../api/types.ts';
import { useNavigationMessages } from '../shell/messages.ts';
import { ConfirmButton } from '../ui/confirm.tsx';
import { useFormat } from '../ui/format.ts';
import { useCommonMessages } from '../ui/messages.ts';
import { Section } from '../ui/page.tsx';
import { ResourceTable } from '../ui/resource-table.tsx';
import { Tag } from '../ui/text.tsx';
import { describeBrowser } from './describe-browser.ts';
import { useSettingsMessages } from './messages.ts';

type OwnSession = Schema<'BrowserSession'>;

const REFRESHES = ['own-sessions'];

/** The browsers in which the user is signed in. */
export function SessionsSection() {
  const settings = useSettingsMessages();
  const nav = useNavigationMessages();
  const common = useCommonMessages();
  const format = useFormat();
  const { user } = useSession();
  return (
    <Section title={settings.sessions}>
      <ResourceTable<OwnSession>
        label={settings.sessions}
        queryKey={[...REFRESHES, user.id]}
        fetchPage={(query) => api.GET('/v1/browser-sessions', { params: { query } })}
        empty={common.none}
        columns={[
          { heading: settings.browser, cell: (session) => <BrowserName session={session} /> },
          { heading: settings.signedInAt, cell: ({ created_at: time }) => format.time(time) },
          { heading: settings.lastSeen, cell: ({ last_seen_at: time }) => format.time(time) },
        ]}
        actions={({ id, is_current: isCurrent, user_agent: userAgent }) =>
          !isCurrent && (
            <ConfirmButton
              label={nav.signOut}
              name={describeBrowser(userAgent) ?? settings.unknownBrowser}
              text={settings.signOutText}
              action={() => api.DELETE('/v1/browser-sessions/{session_id}', { params: { path: { session_id: id } } })}
              refreshes={REFRESHES}
            />
          )
        }
      />
      <Group>
        <ConfirmButton
          label={settings.signOutOthers}
          title={settings.sessions}
          text={settings.signOutOthersText}
          action={() => api.DELETE('/v1/session', { params: { query: { others: true } } })}
          refreshes={REFRESHES}
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
      {isCurrent && <Tag variant="default">{settings.thisBrowser}</Tag>}
    </Group>
  );
}
