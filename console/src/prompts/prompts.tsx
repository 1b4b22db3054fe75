import { Button, Text } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { api } from '../api/client.ts';
import { useSession } from '../api/session.ts';
import { ConfirmButton, RowButton } from '../ui/confirm.tsx';
import { numberColumn } from '../ui/data-table.tsx';
import { useFormat } from '../ui/format.ts';
import { useCommonMessages } from '../ui/messages.ts';
import { Page } from '../ui/page.tsx';
import { ResourceTable } from '../ui/resource-table.tsx';
import { AddressSearch } from '../ui/search-field.tsx';
import { EmptyState } from '../ui/states.tsx';
import { ItemName, Tag } from '../ui/text.tsx';
import { usePromptMessages } from './messages.ts';
import { CreatePromptDialog } from './prompt-form.tsx';
import type { Prompt } from './prompt-queries.ts';
import { PromptSheet } from './prompt-sheet.tsx';
import './prompts.css';

/** Page of the visible prompts, with the sheet of the open prompt. */
export function PromptsPage() {
  const messages = usePromptMessages();
  const common = useCommonMessages();
  const format = useFormat();
  const { organization } = useSession();
  const { q = '', prompt: openId, create = false } = useSearch({ from: '/shell/prompts' });
  const navigate = useNavigate({ from: '/prompts' });
  const change = (changes: { prompt?: string | undefined; create?: true | undefined }) =>
    void navigate({ search: (before) => ({ ...before, ...changes }), replace: true });
  const button = <Button onClick={() => change({ create: true })}>{messages.create}</Button>;
  const actions = (prompt: Prompt) => (
    <>
      <RowButton label={common.details} name={prompt.name} onClick={() => change({ prompt: prompt.id })} />
      {prompt.editable && <DeletePrompt prompt={prompt} />}
    </>
  );
  return (
    <>
      <Page title={messages.title} intro={messages.intro} action={button}>
        <AddressSearch label={messages.search} />
        <ResourceTable<Prompt>
          label={messages.title}
          queryKey={['prompts', organization.id, q]}
          fetchPage={(page) =>
            api.GET('/v1/prompts', { params: { query: { ...page, ...(q !== '' && { search: q }) } } })
          }
          empty={
            q === '' ? <EmptyState text={messages.empty}>{button}</EmptyState> : <EmptyState text={messages.noMatch} />
          }
          columns={[
            {
              heading: common.name,
              cell: ({ name, shared }) => <ItemName name={name}>{shared && <Tag>{messages.shared}</Tag>}</ItemName>,
            },
            {
              heading: messages.text,
              cell: ({ text }) => (
                <Text inherit lineClamp={1} maw="max(240px, 25vw)" className="breakable">
                  {text}
                </Text>
              ),
            },
            { heading: messages.variables, cell: ({ variables }) => variables.join(', ') },
            numberColumn(messages.version, ({ latest_version: version }) => version),
            { heading: messages.updated, cell: ({ updated_at: time }) => format.time(time) },
          ]}
          actions={actions}
          onOpen={({ id }) => change({ prompt: id })}
          openKey={openId}
        />
      </Page>
      {create && <CreatePromptDialog onClose={() => change({ create: undefined })} />}
      <PromptSheet id={openId ?? null} onClose={() => change({ prompt: undefined })} />
    </>
  );
}

function DeletePrompt({ prompt }: { prompt: Prompt }) {
  const messages = usePromptMessages();
  const common = useCommonMessages();
  return (
    <ConfirmButton
      label={common.delete}
      name={prompt.name}
      text={messages.deleteText}
      action={() => api.DELETE('/v1/prompts/{prompt_id}', { params: { path: { prompt_id: prompt.id } } })}
      refreshes={['prompts']}
    />
  );
}
