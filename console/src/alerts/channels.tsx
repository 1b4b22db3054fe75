import { Alert, Button, Group, Stack } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { api, body } from '../api/client.ts';
import { useRefresh } from '../api/refresh.ts';
import { useSession } from '../api/session.ts';
import type { Schema } from '../api/types.ts';
import { ConfirmButton, FailureDialog, RowButton } from '../ui/confirm.tsx';
import { CopyText } from '../ui/copy-text.tsx';
import { Modal } from '../ui/dialogs.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { Page } from '../ui/page.tsx';
import { ResourceTable } from '../ui/resource-table.tsx';
import { EmptyState } from '../ui/states.tsx';
import { ItemName } from '../ui/text.tsx';
import { ChannelDialog } from './channel-dialog.tsx';
import { DeliveryLog } from './delivery-log.tsx';
import { useAlertChannelMessages } from './messages.ts';

type Channel = Schema<'AlertChannelResource'>;

/** Where alerts are sent to. */
export function AlertChannelsPage() {
  const messages = useAlertChannelMessages();
  const common = useCommonMessages();
  const { organization, scopes } = useSession();
  const [edited, setEdited] = useState<Channel | 'new' | null>(null);
  const [secret, setSecret] = useState<string | null>(null);
  const [shown, setShown] = useState<Channel | null>(null);
  const test = useTest(setShown);
  const create = <Button onClick={() => setEdited('new')}>{messages.create}</Button>;
  const actions = (channel: Channel) => (
    <Group gap={4}>
      <RowButton label={messages.test} name={channel.name} onClick={() => test.mutate(channel)} />
      <RowButton label={messages.log} name={channel.name} onClick={() => setShown(channel)} />
      {(!channel.instance_alerts || scopes.includes('admin')) && (
        <RowButton label={messages.editAction} name={channel.name} onClick={() => setEdited(channel)} />
      )}
      <ConfirmButton
        label={common.delete}
        name={channel.name}
        text={messages.deleteText}
        action={() => api.DELETE('/v1/alert-channels/{channel_id}', { params: { path: { channel_id: channel.id } } })}
        refreshes={['alert-channels']}
      />
    </Group>
  );
  return (
    <Page title={messages.title} intro={messages.intro} action={create}>
      <ResourceTable<Channel>
        label={messages.title}
        queryKey={['alert-channels', organization.id]}
        fetchPage={(query) => api.GET('/v1/alert-channels', { params: { query } })}
        empty={<EmptyState text={messages.empty}>{create}</EmptyState>}
        columns={[
          {
            heading: common.name,
            cell: ({ name, instance_alerts: hasInstance }) => (
              <ItemName name={name} note={hasInstance ? messages.instance : undefined} />
            ),
          },
          { heading: messages.type, cell: ({ type }) => messages.types[type] },
          { heading: messages.target, cell: ({ url, addresses }) => url ?? addresses.join(', ') },
        ]}
        actions={actions}
      />
      {edited !== null && (
        <ChannelDialog
          channel={edited === 'new' ? null : edited}
          onClose={() => setEdited(null)}
          onSecret={setSecret}
        />
      )}
      {shown !== null && <DeliveryLog channel={shown} onClose={() => setShown(null)} />}
      <FailureDialog title={messages.test} mutation={test} />
      <ChannelSecret secret={secret} onClose={() => setSecret(null)} />
    </Page>
  );
}

/** Sends a test to a channel, and calls `onSent`. */
function useTest(onSent: (channel: Channel) => void) {
  const refresh = useRefresh('alert-deliveries');
  return useMutation({
    mutationFn: ({ id }: Channel) =>
      body(api.POST('/v1/alert-channels/{channel_id}/test', { params: { path: { channel_id: id } } })),
    onSuccess: async (_delivery, channel) => {
      await refresh();
      onSent(channel);
    },
  });
}

/** Shows a new secret of a webhook once. Null: closed. */
function ChannelSecret({ secret, onClose }: { secret: string | null; onClose(): void }) {
  const messages = useAlertChannelMessages();
  const common = useCommonMessages();
  return (
    <Modal opened={secret !== null} onClose={onClose} title={messages.secretTitle} closeOnClickOutside={false}>
      <Stack>
        <Alert color="orange">{messages.secretText}</Alert>
        {secret !== null && <CopyText value={secret} />}
        <Group justify="flex-end">
          <Button onClick={onClose}>{common.close}</Button>
        </Group>
      </Stack>
    </Modal>
  );
}
