import { Button, Group, Select, Stack, Text, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { api } from '../api/client.ts';
import { loadPage } from '../api/load-page.ts';
import { useRefresh } from '../api/refresh.ts';
import { ConfirmButton } from '../ui/confirm.tsx';
import { Drawer } from '../ui/dialogs.tsx';
import { useFormat } from '../ui/format.ts';
import { fill } from '../ui/language.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { MoreButton } from '../ui/resource-table.tsx';
import { MutationError, QueryData } from '../ui/states.tsx';
import { ValidatedForm } from '../ui/validated-form.tsx';
import { usePromptMessages } from './messages.ts';
import { type PromptDraft, PromptFields } from './prompt-form.tsx';
import { PROMPT_QUERIES, type Prompt, type PromptVersion, usePrompt, usePromptVersions } from './prompt-queries.ts';

const PromptChanges = lazy(async () => ({
  default: (await loadPage(() => import('./prompt-changes.tsx'))).PromptChanges,
}));

/** A prompt with its versions, at the right. Null: closed. */
export function PromptSheet({ id, onClose }: { id: string | null; onClose(): void }) {
  const messages = usePromptMessages();
  const query = usePrompt(id);
  return (
    <Drawer
      opened={id !== null}
      onClose={onClose}
      position="right"
      size={560}
      title={query.data?.name ?? messages.title}
      classNames={{ content: 'sheet' }}
    >
      <QueryData query={query}>
        {(prompt) => (
          <Stack gap="lg">
            {prompt.editable ? (
              <EditPrompt key={prompt.latest_version} prompt={prompt} />
            ) : (
              <pre className="prompt-text">{prompt.text}</pre>
            )}
            <Versions prompt={prompt} />
          </Stack>
        )}
      </QueryData>
    </Drawer>
  );
}

function EditPrompt({ prompt }: { prompt: Prompt }) {
  const messages = usePromptMessages();
  const common = useCommonMessages();
  const refresh = useRefresh(...PROMPT_QUERIES);
  const [draft, setDraft] = useState<PromptDraft>({ name: prompt.name, text: prompt.text, shared: prompt.shared });
  const hasNewText = draft.text !== prompt.text;
  const hasChanges = hasNewText || draft.name !== prompt.name || draft.shared !== prompt.shared;
  const mutation = useMutation<unknown, Error, void>({
    mutationFn: async () => {
      const params = { path: { prompt_id: prompt.id } };
      const { name, text, shared } = draft;
      if (name !== prompt.name || shared !== prompt.shared)
        await api.PATCH('/v1/prompts/{prompt_id}', { params, body: { name, shared } });
      if (hasNewText) await api.POST('/v1/prompts/{prompt_id}/versions', { params, body: { text } });
      await refresh();
    },
  });
  return (
    <ValidatedForm mutation={mutation}>
      <Stack>
        <PromptFields draft={draft} onChange={setDraft} />
        <MutationError mutation={mutation} />
        <Group justify="flex-end">
          <Button type="submit" disabled={!hasChanges} loading={mutation.isPending}>
            {hasNewText ? fill(messages.saveVersion, { number: prompt.latest_version + 1 }) : common.save}
          </Button>
        </Group>
      </Stack>
    </ValidatedForm>
  );
}

function Versions({ prompt }: { prompt: Prompt }) {
  const messages = usePromptMessages();
  const query = usePromptVersions(prompt.id);
  return (
    <section>
      <Title order={2} size="h4">
        {messages.history}
      </Title>
      <QueryData query={query}>
        {({ pages }) => {
          const versions = pages.flatMap(({ data }) => data);
          return (
            <>
              {versions.map((version) => (
                <Version key={version.id} version={version} versions={versions} prompt={prompt} />
              ))}
              <MoreButton query={query} />
            </>
          );
        }}
      </QueryData>
    </section>
  );
}

interface VersionProps {
  version: PromptVersion;
  /** The loaded versions of the prompt. */
  versions: readonly PromptVersion[];
}

function Version({ version, versions, prompt }: VersionProps & { prompt: Prompt }) {
  const messages = usePromptMessages();
  const format = useFormat();
  const name = fill(messages.numbered, { number: version.version });
  const isNewest = version.version === prompt.latest_version;
  return (
    <details className="prompt-version">
      <summary>
        {name}{' '}
        <Text span size="sm" c="dimmed">
          {[format.time(version.created_at), ...(isNewest ? [messages.newest] : [])].join(' · ')}
        </Text>
      </summary>
      <Stack gap="xs" align="flex-start">
        <VersionText version={version} versions={versions} />
        {prompt.editable && !isNewest && (
          <ConfirmButton
            label={messages.restore}
            name={name}
            text={messages.restoreText}
            color="accent"
            action={() =>
              api.POST('/v1/prompts/{prompt_id}/versions', {
                params: { path: { prompt_id: prompt.id } },
                body: { text: version.text },
              })
            }
            refreshes={PROMPT_QUERIES}
          />
        )}
      </Stack>
    </details>
  );
}

/** The text of a version, or what changed between it and a chosen one. */
function VersionText({ version, versions }: VersionProps) {
  const messages = usePromptMessages();
  const [otherId, setOtherId] = useState<string | null>(null);
  const others = versions.filter(({ id }) => id !== version.id);
  const other = others.find(({ id }) => id === otherId);
  const text = <pre className="prompt-text">{version.text}</pre>;
  const isFirst = other === undefined || version.version < other.version;
  return (
    <>
      {others.length > 0 && (
        <Select
          label={messages.compare}
          clearable
          data={others.map(({ id, version: number }) => ({ value: id, label: fill(messages.numbered, { number }) }))}
          value={other?.id ?? null}
          onChange={setOtherId}
        />
      )}
      {other === undefined ? (
        text
      ) : (
        <Suspense fallback={text}>
          <PromptChanges before={isFirst ? version : other} after={isFirst ? other : version} />
        </Suspense>
      )}
    </>
  );
}
