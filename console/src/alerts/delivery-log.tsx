import type { CSSProperties } from 'react';
import { api } from '../api/client.ts';
import type { Schema } from '../api/types.ts';
import { Modal } from '../ui/dialogs.tsx';
import { useFormat } from '../ui/format.ts';
import { useCommonMessages } from '../ui/messages.ts';
import { ResourceTable } from '../ui/resource-table.tsx';
import { ItemName } from '../ui/text.tsx';
import { useAlertChannelMessages } from './messages.ts';

const COLORS = { pending: 'faint', delivered: 'ok', failed: 'bad' } as const;
/** Poll interval. Messages are usually delivered within two seconds. */
const REFRESH_MS = 2_000;

/** Deliveries of a channel, newest first, with their last errors. */
export function DeliveryLog({ channel, onClose }: { channel: Schema<'AlertChannelResource'>; onClose(): void }) {
  const messages = useAlertChannelMessages();
  const common = useCommonMessages();
  const format = useFormat();
  const params = { path: { channel_id: channel.id } };
  return (
    <Modal opened onClose={onClose} title={`${messages.log}: ${channel.name}`} size="xl">
      <ResourceTable<Schema<'AlertDeliveryResource'>>
        label={messages.log}
        queryKey={['alert-deliveries', channel.id]}
        fetchPage={(query) => api.GET('/v1/alert-channels/{channel_id}/deliveries', { params: { ...params, query } })}
        refreshMs={REFRESH_MS}
        empty={messages.logEmpty}
        columns={[
          {
            heading: messages.message,
            cell: ({ summary, last_error: error }) => <ItemName name={summary} note={error} />,
          },
          {
            heading: common.status,
            cell: ({ status }) => (
              <span className="status" style={{ '--status-color': `var(--${COLORS[status]})` } as CSSProperties}>
                {messages.states[status]}
              </span>
            ),
          },
          { heading: messages.attempts, cell: ({ attempts }) => format.number(attempts), isNumber: true },
          { heading: common.time, cell: ({ created_at: at }) => format.time(at) },
        ]}
      />
    </Modal>
  );
}
