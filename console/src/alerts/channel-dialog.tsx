import { useState } from 'react';
import { api, body } from '../api/client.ts';
import { useSession } from '../api/session.ts';
import type { Schema } from '../api/types.ts';
import { ChoiceField, NameField, SwitchField, TagsField, TextField } from '../ui/fields.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { useAlertChannelMessages } from './messages.ts';

const TYPES = ['webhook', 'email'] as const;

interface ChannelDialogProps {
  /** Null: a new one. */
  channel: Schema<'AlertChannelResource'> | null;
  onClose(): void;
  /** Gets the secret of a webhook when it is made. */
  onSecret(secret: string): void;
}

/** Creates a channel, or changes one, whose type stays. */
export function ChannelDialog({ channel, onClose, onSecret }: ChannelDialogProps) {
  const messages = useAlertChannelMessages();
  const { scopes } = useSession();
  const [type, setType] = useState<(typeof TYPES)[number]>(channel?.type ?? 'webhook');
  const [name, setName] = useState(channel?.name ?? '');
  const [url, setUrl] = useState(channel?.url ?? '');
  const [addresses, setAddresses] = useState<string[]>(channel?.addresses ?? []);
  const [hasInstance, setInstance] = useState(channel?.instance_alerts ?? false);
  const [isSecretNew, setSecretNew] = useState(false);
  const submit = async () => {
    const target = type === 'webhook' ? { url } : { addresses };
    const fields = { name, ...target, instance_alerts: hasInstance };
    const params = { path: { channel_id: channel?.id ?? '' } };
    const changes = { ...fields, rotate_secret: isSecretNew };
    const { secret } = await body(
      channel === null
        ? api.POST('/v1/alert-channels', { body: { type, ...fields } })
        : api.PATCH('/v1/alert-channels/{channel_id}', { params, body: changes }),
    );
    if (secret !== null) onSecret(secret);
  };
  const title = channel === null ? messages.create : messages.edit;
  return (
    <FormDialog title={title} isNew={channel === null} onClose={onClose} submit={submit} refreshes={['alert-channels']}>
      <NameField maxLength={64} value={name} onChange={setName} />
      {channel === null && (
        <ChoiceField
          param="type"
          label={messages.type}
          values={TYPES}
          labels={messages.types}
          value={type}
          onChange={setType}
        />
      )}
      {type === 'webhook' ? (
        <TextField
          param="url"
          label={messages.url}
          description={messages.urlHint}
          required
          placeholder="https://hooks.example/quire"
          value={url}
          onChange={setUrl}
        />
      ) : (
        <TagsField
          param="addresses"
          label={messages.addresses}
          description={messages.addressesHint}
          value={addresses}
          onChange={setAddresses}
        />
      )}
      {channel?.type === 'webhook' && <NewSecret checked={isSecretNew} onChange={setSecretNew} />}
      {scopes.includes('admin') && <InstanceAlerts checked={hasInstance} onChange={setInstance} />}
    </FormDialog>
  );
}

function InstanceAlerts(props: { checked: boolean; onChange(isChecked: boolean): void }) {
  const messages = useAlertChannelMessages();
  return <SwitchField label={messages.instance} description={messages.instanceHint} {...props} />;
}

function NewSecret(props: { checked: boolean; onChange(isChecked: boolean): void }) {
  const messages = useAlertChannelMessages();
  return <SwitchField label={messages.newSecret} description={messages.newSecretHint} {...props} />;
}
