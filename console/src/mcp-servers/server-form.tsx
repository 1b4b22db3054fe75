import { useState } from 'react';
import { api } from '../api/client.ts';
import type { Schema } from '../api/types.ts';
import { ChoiceField, PasswordField, TagsField, TextAreaField, TextField } from '../ui/fields.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { useMcpServerMessages } from './messages.ts';

/** A registered MCP server as the API lists it. */
export type McpServer = Schema<'McpServerResource'>;

const APPROVALS = ['always', 'never'] as const;

interface ServerFields {
  label: string;
  url: string;
  description: string;
  token: string;
  /** Null: a filter that the form does not show. */
  tools: string[] | null;
  approval: (typeof APPROVALS)[number] | null;
}

function toFields(server: McpServer | null): ServerFields {
  const tools = server?.allowed_tools ?? [];
  const approval = server?.require_approval ?? 'always';
  return {
    label: server?.label ?? '',
    url: server?.url ?? '',
    description: server?.description ?? '',
    token: '',
    tools: Array.isArray(tools) ? tools : null,
    approval: typeof approval === 'string' ? approval : null,
  };
}

const toBody = ({ label, url, description, token, tools, approval }: ServerFields) => ({
  label,
  url,
  description: description === '' ? null : description,
  ...(token !== '' && { authorization: token }),
  ...(tools !== null && { allowed_tools: tools.length === 0 ? null : tools }),
  ...(approval !== null && { require_approval: approval }),
});

/** Registers a server, or changes one. Null: a new server. Filters that the API has set stay as they are. */
export function ServerDialog({ server, onClose }: { server: McpServer | null; onClose(): void }) {
  const messages = useMcpServerMessages();
  const [fields, setFields] = useState(() => toFields(server));
  const set = (changes: Partial<ServerFields>) => setFields({ ...fields, ...changes });
  const submit = async () => {
    const body = toBody(fields);
    if (server === null) await api.POST('/v1/mcp-servers', { body });
    else await api.PUT('/v1/mcp-servers/{server_id}', { params: { path: { server_id: server.id } }, body });
  };
  const title = server === null ? messages.create : messages.edit;
  return (
    <FormDialog title={title} isNew={server === null} onClose={onClose} submit={submit} refreshes={['mcp-servers']}>
      <AddressFields fields={fields} set={set} isNew={server === null} />
      {fields.tools !== null && (
        <TagsField
          param="allowed_tools"
          label={messages.tools}
          description={messages.toolsHint}
          value={fields.tools}
          onChange={(tools) => set({ tools })}
        />
      )}
      {fields.approval !== null && (
        <ChoiceField
          label={messages.approval}
          description={messages.approvalHint}
          values={APPROVALS}
          labels={messages.approvals}
          value={fields.approval}
          onChange={(approval) => set({ approval })}
        />
      )}
    </FormDialog>
  );
}

interface AddressProps {
  fields: ServerFields;
  set(changes: Partial<ServerFields>): void;
  isNew: boolean;
}

function AddressFields({ fields, set, isNew }: AddressProps) {
  const messages = useMcpServerMessages();
  return (
    <>
      <TextField
        param="label"
        label={messages.label}
        description={messages.labelHint}
        required
        data-autofocus
        value={fields.label}
        onChange={(label) => set({ label })}
      />
      <TextField param="url" label={messages.url} required value={fields.url} onChange={(url) => set({ url })} />
      <TextAreaField
        param="description"
        label={messages.description}
        autosize
        value={fields.description}
        onChange={(description) => set({ description })}
      />
      <PasswordField
        param="authorization"
        label={messages.token}
        description={isNew ? messages.tokenHint : `${messages.tokenHint} ${messages.tokenKept}`}
        autoComplete="off"
        value={fields.token}
        onChange={(token) => set({ token })}
      />
    </>
  );
}
