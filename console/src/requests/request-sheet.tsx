import { useMediaQuery } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { api, body } from '../api/client.ts';
import { Drawer } from '../ui/dialogs.tsx';
import { lazyPart } from '../ui/lazy-part.tsx';
import { QueryData } from '../ui/states.tsx';
import { useRequestMessages } from './messages.ts';
import { routeName } from './request-columns.tsx';

const RequestView = lazyPart(() => import('./request-view.tsx'), 'RequestView');

/** Screens with room for the sheet, as in `console.css`. */
const WIDE = '(min-width: 75em)';

/** Shows a request beside its children, or above them on narrow screens. `id`: null: none is open. */
export function RequestSheet({ id, onClose, children }: { id: string | null; onClose(): void; children: ReactNode }) {
  const messages = useRequestMessages();
  const hasRoom = useMediaQuery(WIDE, false, { getInitialValueInEffect: false });
  const query = useQuery({
    queryKey: ['request', id],
    queryFn: () => body(api.GET('/v1/requests/{request_id}', { params: { path: { request_id: id ?? '' } } })),
    enabled: id !== null,
  });
  const { data } = query;
  const title = data === undefined ? messages.title : [routeName(data.route), data.model].filter(Boolean).join(' · ');
  return (
    <>
      <div className={id === null ? undefined : 'beside-panel'}>{children}</div>
      <Drawer
        opened={id !== null}
        onClose={onClose}
        position="right"
        size="var(--panel-width)"
        withOverlay={!hasRoom}
        lockScroll={!hasRoom}
        trapFocus={!hasRoom}
        shadow="none"
        title={title}
        classNames={{ content: 'sheet' }}
      >
        <QueryData query={query}>{(request) => <RequestView request={request} />}</QueryData>
      </Drawer>
    </>
  );
}
