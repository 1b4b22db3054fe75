import { useRef, useState } from 'react';
import { api, body } from '../api/client.ts';
import { ChoiceField, NameField, PasswordField, TagsField } from '../ui/fields.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { fill } from '../ui/language.tsx';
import { useUpstreamMessages } from './upstream-messages.ts';
import { isStored, type StoredUpstream } from './upstreams.ts';

const PROTOCOLS = ['openai', 'anthropic'] as const;

interface UpstreamDialogProps {
  /** Null: a new server. */
  upstream: StoredUpstream | null;
  /** `added`: the new server; null: none was added. */
  onClose(added: StoredUpstream | null): void;
}

/** Adds a server, or changes one. */
export function UpstreamDialog({ upstream, onClose }: UpstreamDialogProps) {
  const texts = useUpstreamMessages();
  const [name, setName] = useState(upstream?.name ?? '');
  const [urls, setUrls] = useState(upstream?.base_urls ?? []);
  const [protocol, setProtocol] = useState(upstream?.protocol ?? 'openai');
  const [key, setKey] = useState('');
  const added = useRef<StoredUpstream | null>(null);
  const submit = async () => {
    const fields = { name, base_urls: urls, protocol, ...(key !== '' && { api_key: key }) };
    if (upstream === null) {
      const created = await body(api.POST('/v1/admin/upstreams', { body: fields }));
      added.current = isStored(created) ? created : null;
    } else {
      const params = { path: { upstream_id: upstream.id } };
      await api.PUT('/v1/admin/upstreams/{upstream_id}', { params, body: fields });
    }
  };
  const title = upstream === null ? texts.add : fill(texts.editTitle, { name: upstream.name });
  const hasKey = upstream?.has_api_key === true;
  return (
    <FormDialog
      title={title}
      isNew={upstream === null}
      onClose={() => onClose(added.current)}
      submit={submit}
      refreshes={['upstreams', 'engines']}
    >
      <NameField value={name} onChange={setName} />
      <TagsField
        param="base_urls"
        label={texts.urls}
        description={texts.urlsHint}
        required={urls.length === 0}
        acceptValueOnBlur
        value={urls}
        onChange={setUrls}
      />
      <ChoiceField
        param="protocol"
        label={texts.protocol}
        values={PROTOCOLS}
        labels={texts.protocols}
        value={protocol}
        onChange={setProtocol}
      />
      <PasswordField
        param="api_key"
        label={texts.key}
        description={hasKey ? `${texts.keyHint} ${texts.keyKept}` : texts.keyHint}
        autoComplete="off"
        value={key}
        onChange={setKey}
      />
    </FormDialog>
  );
}
