import { UnstyledButton, VisuallyHidden } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Bell } from 'lucide-react';
import { useState } from 'react';
import { api, body } from '../api/client.ts';
import { useSession } from '../api/session.ts';
import { Icon } from '../ui/icon.tsx';
import { fill } from '../ui/language.tsx';
import { lazyPart } from '../ui/lazy-part.tsx';
import { useAlertMessages } from './alert-messages.ts';

/** Poll interval of open alerts. The service evaluates alerts twice a minute. */
const REFRESH_MS = 30_000;
/** Maximum number of alerts in the sheet. */
const MAX_ALERTS = 100;

const AlertSheet = lazyPart(() => import('./alert-sheet.tsx'), 'default');

/** Bell with the number of new alerts. Opens the alert sheet. `isCompact` hides the label. */
export function AlertBell({ isCompact = false }: { isCompact?: boolean }) {
  const messages = useAlertMessages();
  const { organization } = useSession();
  const [isOpen, setOpen] = useState(false);
  const [isLoaded, setLoaded] = useState(false);
  const open = () => {
    setLoaded(true);
    setOpen(true);
  };
  const { data } = useQuery({
    queryKey: ['alerts', organization.id, 'open'],
    queryFn: () =>
      body(api.GET('/v1/alerts', { params: { query: { status: 'open', order: 'desc', limit: MAX_ALERTS } } })),
    refetchInterval: REFRESH_MS,
  });
  const alerts = data?.data ?? [];
  const count = alerts.filter(({ acknowledged_at }) => acknowledged_at === null).length;
  const text = data?.has_more ? `${MAX_ALERTS}+` : String(count);
  const label = count === 0 ? messages.title : `${messages.title}: ${fill(messages.count, { count: text })}`;
  return (
    <>
      <UnstyledButton
        className="sidebar-item alert-bell"
        title={messages.title}
        data-compact={isCompact || undefined}
        onClick={open}
      >
        <Icon icon={Bell} />
        <VisuallyHidden>{label}</VisuallyHidden>
        <span className="sidebar-label" aria-hidden>
          {messages.title}
        </span>
        {count > 0 && (
          <span className="alert-count" aria-hidden>
            {text}
          </span>
        )}
      </UnstyledButton>
      {isLoaded && <AlertSheet isOpen={isOpen} alerts={alerts} onClose={() => setOpen(false)} />}
    </>
  );
}
