import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../api/client.ts';
import { useRefresh } from '../api/refresh.ts';
import { useMayWrite, useSession } from '../api/session.ts';
import { ConfirmButton, FailureDialog, RowButton } from '../ui/confirm.tsx';
import { numberColumn } from '../ui/data-table.tsx';
import { SwitchField } from '../ui/fields.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { Page } from '../ui/page.tsx';
import { ResourceTable } from '../ui/resource-table.tsx';
import { EmptyState } from '../ui/states.tsx';
import { ItemName, Tag } from '../ui/text.tsx';
import { usePresetMessages } from './messages.ts';
import { PRESET_QUERIES, type Preset, PresetDialog } from './preset-form.tsx';

/** Page of the chat presets of the organization, in the order that members see. */
export function PresetsPage() {
  const messages = usePresetMessages();
  const common = useCommonMessages();
  const { organization } = useSession();
  const mayWrite = useMayWrite();
  const { create = false } = useSearch({ from: '/shell/presets' });
  const navigate = useNavigate({ from: '/presets' });
  const [edited, setEdited] = useState<Preset | null>(null);
  const setCreating = (isCreating: boolean) =>
    void navigate({ search: isCreating ? { create: true } : {}, replace: true });
  const button = mayWrite ? <Button onClick={() => setCreating(true)}>{messages.create}</Button> : undefined;
  return (
    <Page title={messages.title} intro={messages.intro} action={button}>
      <ResourceTable<Preset>
        label={messages.title}
        queryKey={['chat-presets', organization.id, 'pages']}
        fetchPage={(query) => api.GET('/v1/chat-presets', { params: { query } })}
        empty={<EmptyState text={messages.empty}>{button}</EmptyState>}
        columns={[
          {
            heading: common.name,
            cell: (preset) => (
              <ItemName name={preset.name} note={preset.description}>
                {preset.default && <Tag>{messages.default}</Tag>}
              </ItemName>
            ),
          },
          { heading: messages.model, cell: ({ model }) => model ?? messages.anyModel },
          numberColumn(messages.knowledge, (preset) => preset.knowledge_base_ids.length),
          numberColumn(messages.servers, ({ tools }) => tools.length),
          { heading: messages.published, cell: (preset) => <PublishedSwitch preset={preset} /> },
        ]}
        actions={mayWrite ? (preset) => <PresetActions preset={preset} onEdit={() => setEdited(preset)} /> : null}
      />
      {create && mayWrite && <PresetDialog preset={null} onClose={() => setCreating(false)} />}
      {edited !== null && <PresetDialog preset={edited} onClose={() => setEdited(null)} />}
    </Page>
  );
}

function useChangePreset({ id }: Preset) {
  const refresh = useRefresh(...PRESET_QUERIES);
  return useMutation({
    mutationFn: (body: { published?: boolean; default?: boolean; position?: number }) =>
      api.PATCH('/v1/chat-presets/{preset_id}', { params: { path: { preset_id: id } }, body }),
    onSettled: refresh,
  });
}

function PresetActions({ preset, onEdit }: { preset: Preset; onEdit(): void }) {
  const messages = usePresetMessages();
  const common = useCommonMessages();
  const change = useChangePreset(preset);
  const { name, position } = preset;
  return (
    <>
      <RowButton label={messages.editAction} name={name} onClick={onEdit} />
      <RowButton
        label={preset.default ? messages.clearDefault : messages.makeDefault}
        name={name}
        onClick={() => change.mutate({ default: !preset.default })}
      />
      {position > 0 && (
        <RowButton label={messages.up} name={name} onClick={() => change.mutate({ position: position - 1 })} />
      )}
      <RowButton label={messages.down} name={name} onClick={() => change.mutate({ position: position + 1 })} />
      <ConfirmButton
        label={common.delete}
        name={name}
        text={messages.deleteText}
        action={() => api.DELETE('/v1/chat-presets/{preset_id}', { params: { path: { preset_id: preset.id } } })}
        refreshes={PRESET_QUERIES}
      />
      <FailureDialog title={name} mutation={change} />
    </>
  );
}

function PublishedSwitch({ preset }: { preset: Preset }) {
  const messages = usePresetMessages();
  const mayWrite = useMayWrite();
  const change = useChangePreset(preset);
  return (
    <>
      <SwitchField
        aria-label={`${messages.published}: ${preset.name}`}
        checked={change.isPending ? (change.variables.published ?? preset.published) : preset.published}
        disabled={!mayWrite}
        onChange={(published) => change.mutate({ published })}
      />
      <FailureDialog title={preset.name} mutation={change} />
    </>
  );
}
