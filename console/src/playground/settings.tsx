import {
  Button,
  Group,
  MultiSelect,
  NumberInput,
  SegmentedControl,
  Select,
  Stack,
  Switch,
  TagsInput,
  Text,
  Textarea,
} from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQueries, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, body } from '../api/client.ts';
import { fill } from '../ui/language.tsx';
import { QueryError } from '../ui/states.tsx';
import { EditorDialog } from './editor.tsx';
import { usePlaygroundMessages } from './messages.ts';
import type { PlaygroundMode, PlaygroundSettings } from './request.ts';

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'];
const MAX_STOP_TEXTS = 4;
/** Pause after the last key before a search is sent. */
const SEARCH_PAUSE_MS = 250;
const EXAMPLE_TOOLS = [
  {
    type: 'function',
    function: {
      name: 'get_weather',
      description: 'Current weather of a city.',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    },
  },
];
const EXAMPLE_SCHEMA = {
  type: 'object',
  properties: { summary: { type: 'string' }, score: { type: 'integer' } },
  required: ['summary', 'score'],
  additionalProperties: false,
};

/** A partial change of the settings. */
export type ChangeSettings = (change: Partial<PlaygroundSettings>) => void;

interface SettingsProps {
  settings: PlaygroundSettings;
  onChange: ChangeSettings;
  /** The second model; null: one model. */
  compare: string | null;
  onCompare(model: string | null): void;
}

/** The parameters of the requests. */
export function PlaygroundSettingsPanel({ settings, onChange, compare, onCompare }: SettingsProps) {
  const playground = usePlaygroundMessages();
  return (
    <Stack gap="sm">
      <SegmentedControl
        fullWidth
        aria-label={playground.mode}
        data={[
          { value: 'chat', label: playground.modeChat },
          { value: 'responses', label: playground.modeResponses },
        ]}
        value={settings.mode}
        onChange={(mode) => onChange({ mode: mode as PlaygroundMode })}
      />
      <ModelFields settings={settings} onChange={onChange} compare={compare} onCompare={onCompare} />
      <Textarea
        label={playground.system}
        autosize
        minRows={2}
        maxRows={8}
        value={settings.system}
        onChange={(event) => onChange({ system: event.currentTarget.value })}
      />
      <ToolFields settings={settings} onChange={onChange} />
      <SamplingFields settings={settings} onChange={onChange} />
    </Stack>
  );
}

function ModelFields({ settings, onChange, compare, onCompare }: SettingsProps) {
  const playground = usePlaygroundMessages();
  const models = useQuery({ queryKey: ['models'], queryFn: () => body(api.GET('/v1/models')) });
  const bases = useKnowledgeBaseOptions(settings.knowledgeBases);
  const served = (models.data?.data ?? []).filter(({ capabilities }) => capabilities.chat_completion);
  const ids = served.map(({ id }) => id);
  const bundled = new Set(served.flatMap(({ id, backend }) => (backend.engine === 'bundled' ? [id] : [])));
  const options = (selected: string) =>
    (ids.includes(selected) ? ids : [selected, ...ids]).map((id) => ({
      value: id,
      label: bundled.has(id) ? fill(playground.bundledModel, { model: id }) : id,
    }));
  const other = ids.find((id) => id !== settings.model) ?? settings.model;
  return (
    <>
      <QueryError query={models} />
      <QueryError query={bases.query} />
      <Select
        label={compare === null ? playground.model : playground.firstModel}
        allowDeselect={false}
        searchable
        data={options(settings.model)}
        description={bundled.has(settings.model) ? playground.bundledHint : undefined}
        value={settings.model}
        onChange={(model) => model !== null && onChange({ model })}
      />
      {compare !== null && (
        <Select
          label={playground.secondModel}
          allowDeselect={false}
          searchable
          data={options(compare)}
          value={compare}
          onChange={onCompare}
        />
      )}
      <Switch
        label={playground.compare}
        checked={compare !== null}
        onChange={(event) => onCompare(event.currentTarget.checked ? other : null)}
      />
      <MultiSelect
        label={playground.knowledge}
        placeholder={settings.knowledgeBases.length === 0 ? playground.noKnowledge : undefined}
        clearable
        searchable
        clearButtonProps={{ 'aria-label': playground.clearKnowledge }}
        data={bases.options}
        // The server has searched already.
        filter={({ options }) => options}
        searchValue={bases.search}
        onSearchChange={bases.setSearch}
        value={[...settings.knowledgeBases]}
        onChange={(knowledgeBases) => onChange({ knowledgeBases })}
      />
    </>
  );
}

/** Knowledge bases by name: the newest ones that match the search on the server, and the selected ones. */
function useKnowledgeBaseOptions(selected: readonly string[]) {
  const [search, setSearch] = useState('');
  const [text] = useDebouncedValue(search.trim(), SEARCH_PAUSE_MS);
  const query = useQuery({
    queryKey: ['kb-options', text],
    queryFn: () =>
      body(
        api.GET('/v1/knowledge-bases', {
          params: { query: { limit: 100, order: 'desc', ...(text !== '' && { search: text }) } },
        }),
      ),
    placeholderData: keepPreviousData,
  });
  const named = useQueries({
    queries: selected.map((id) => ({
      queryKey: ['knowledge-base', id],
      queryFn: () => body(api.GET('/v1/knowledge-bases/{kb_id}', { params: { path: { kb_id: id } } })),
    })),
  });
  const names = new Map(selected.map((id, index) => [id, named[index]?.data?.name ?? id]));
  for (const { id, name } of query.data?.data ?? []) names.set(id, name);
  return { query, search, setSearch, options: [...names].map(([value, label]) => ({ value, label })) };
}

type FieldsProps = Pick<SettingsProps, 'settings' | 'onChange'>;

function ToolFields({ settings, onChange }: FieldsProps) {
  const playground = usePlaygroundMessages();
  const [editor, setEditor] = useState<'tools' | 'schema' | null>(null);
  const tools: unknown[] = settings.tools === '' ? [] : JSON.parse(settings.tools);
  return (
    <>
      <EditorRow label={playground.tools} value={String(tools.length)} onEdit={() => setEditor('tools')} />
      {tools.length > 0 && (
        <Select
          label={playground.toolChoice}
          allowDeselect={false}
          data={['auto', 'none', 'required']}
          value={settings.toolChoice}
          onChange={(toolChoice) => onChange({ toolChoice: toolChoice as PlaygroundSettings['toolChoice'] })}
        />
      )}
      <Select
        label={playground.format}
        allowDeselect={false}
        data={['text', 'json_object', 'json_schema']}
        value={settings.format}
        onChange={(format) => onChange({ format: format as PlaygroundSettings['format'] })}
      />
      {settings.format === 'json_schema' && (
        <EditorRow
          label={playground.schema}
          value={settings.schema === '' ? playground.emptySchema : ''}
          onEdit={() => setEditor('schema')}
        />
      )}
      <EditorDialog
        opened={editor === 'tools'}
        title={playground.tools}
        help={playground.toolsHelp}
        example={EXAMPLE_TOOLS}
        kind="array"
        value={settings.tools}
        onClose={() => setEditor(null)}
        onSave={(text) => onChange({ tools: text })}
      />
      <EditorDialog
        opened={editor === 'schema'}
        title={playground.schema}
        help={playground.schemaHelp}
        example={EXAMPLE_SCHEMA}
        kind="object"
        value={settings.schema}
        onClose={() => setEditor(null)}
        onSave={(schema) => onChange({ schema })}
      />
    </>
  );
}

function EditorRow({ label, value, onEdit }: { label: string; value: string; onEdit(): void }) {
  const playground = usePlaygroundMessages();
  return (
    <Group justify="space-between" wrap="nowrap">
      <Text size="sm" fw={500}>
        {label} {value}
      </Text>
      <Button size="xs" variant="default" onClick={onEdit} aria-label={`${playground.edit}: ${label}`}>
        {playground.edit}
      </Button>
    </Group>
  );
}

function SamplingFields({ settings, onChange }: FieldsProps) {
  const playground = usePlaygroundMessages();
  const isChat = settings.mode === 'chat';
  const shared = { placeholder: playground.default, hideControls: true };
  return (
    <>
      <Group grow align="flex-start">
        <NumberInput
          {...shared}
          label={playground.temperature}
          {...{ min: 0, max: 2, step: 0.1 }}
          value={settings.temperature}
          onChange={(temperature) => onChange({ temperature })}
        />
        <NumberInput
          {...shared}
          label="top_p"
          {...{ min: 0, max: 1, step: 0.05 }}
          value={settings.topP}
          onChange={(topP) => onChange({ topP })}
        />
      </Group>
      <Group grow align="flex-start">
        <NumberInput
          {...shared}
          label={playground.maxTokens}
          {...{ min: 1, allowDecimal: false }}
          value={settings.maxTokens}
          onChange={(maxTokens) => onChange({ maxTokens })}
        />
        {isChat && (
          <NumberInput
            {...shared}
            label={playground.seed}
            allowDecimal={false}
            value={settings.seed}
            onChange={(seed) => onChange({ seed })}
          />
        )}
      </Group>
      <Select
        label={playground.effort}
        description={playground.effortHelp}
        placeholder={playground.default}
        clearable
        data={EFFORTS}
        value={settings.effort}
        onChange={(effort) => onChange({ effort })}
      />
      {isChat ? (
        <ChatOnlyFields settings={settings} onChange={onChange} />
      ) : (
        <Text size="sm" c="dimmed">
          {playground.chatOnly}
        </Text>
      )}
    </>
  );
}

/** Parameters that the Responses API does not have, besides the seed. */
function ChatOnlyFields({ settings, onChange }: FieldsProps) {
  const playground = usePlaygroundMessages();
  return (
    <>
      <TagsInput
        label={playground.stopTexts}
        description={playground.stopHelp}
        maxTags={MAX_STOP_TEXTS}
        value={settings.stop}
        onChange={(stop) => onChange({ stop })}
      />
      <Switch
        label={playground.logprobs}
        checked={settings.logprobs}
        onChange={(event) => onChange({ logprobs: event.currentTarget.checked })}
      />
    </>
  );
}
