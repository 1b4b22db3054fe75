import { Button, Group } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../api/client.ts';
import { useMayWrite, useSession } from '../api/session.ts';
import { ConfirmButton, RowButton } from '../ui/confirm.tsx';
import { lazyPart } from '../ui/lazy-part.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { Page } from '../ui/page.tsx';
import { ResourceTable } from '../ui/resource-table.tsx';
import { EmptyState } from '../ui/states.tsx';
import { ItemName } from '../ui/text.tsx';
import { useMcpServerMessages } from './messages.ts';
import type { McpServer } from './server-form.tsx';

const ServerDialog = lazyPart(() => import('./server-form.tsx'), 'ServerDialog');

/** The MCP servers that the organization has registered. */
export function McpServersPage() {
  const messages = useMcpServerMessages();
  const common = useCommonMessages();
  const { organization } = useSession();
  const mayWrite = useMayWrite();
  const { create = false } = useSearch({ from: '/shell/mcp-servers' });
  const navigate = useNavigate({ from: '/mcp-servers' });
  const [edited, setEdited] = useState<McpServer | null>(null);
  const setCreating = (isCreating: boolean) =>
    void navigate({ search: isCreating ? { create: true } : {}, replace: true });
  const createButton = mayWrite ? <Button onClick={() => setCreating(true)}>{messages.create}</Button> : undefined;
  const actions = (server: McpServer) => (
    <Group gap={4}>
      <RowButton label={messages.editAction} name={server.label} onClick={() => setEdited(server)} />
      <ConfirmButton
        label={common.delete}
        name={server.label}
        text={messages.deleteText}
        action={() => api.DELETE('/v1/mcp-servers/{server_id}', { params: { path: { server_id: server.id } } })}
        refreshes={['mcp-servers']}
      />
    </Group>
  );
  const toolsText = ({ allowed_tools: tools }: McpServer) => {
    if (tools === null) return messages.allTools;
    return Array.isArray(tools) ? tools.join(', ') : messages.filtered;
  };
  return (
    <Page title={messages.title} intro={messages.intro} action={createButton}>
      <ResourceTable<McpServer>
        label={messages.title}
        queryKey={['mcp-servers', organization.id]}
        fetchPage={(query) => api.GET('/v1/mcp-servers', { params: { query } })}
        empty={<EmptyState text={messages.empty}>{createButton}</EmptyState>}
        columns={[
          { heading: messages.label, cell: ({ label }) => <ItemName name={label} /> },
          { heading: messages.url, cell: ({ url }) => url },
          { heading: messages.headers, cell: ({ header_names: names }) => names.join(', ') },
          { heading: messages.tools, cell: toolsText },
        ]}
        actions={mayWrite ? actions : null}
      />
      {create && mayWrite && <ServerDialog server={null} onClose={() => setCreating(false)} />}
      {edited !== null && <ServerDialog server={edited} onClose={() => setEdited(null)} />}
    </Page>
  );
}
