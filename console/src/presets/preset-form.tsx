import { SimpleGrid, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, body } from '../api/client.ts';
import type { Schema } from '../api/types.ts';
import { useKnowledgeBaseOptions } from '../api/use-knowledge-base-options.ts';
import { useModels } from '../api/use-models.ts';
import { REASONING_EFFORTS, TEMPERATURE, TOP_P } from '../api/values.ts';
import {
  MultiSelectField,
  NameField,
  NumberField,
  SelectField,
  SwitchField,
  TextAreaField,
  TextField,
} from '../ui/fields.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { usePresetMessages } from './messages.ts';

/** A preset with all fields, for owners. */
export type Preset = Schema<'ChatPresetResource'>;

/** Queries to refresh after a preset changes. */
export const PRESET_QUERIES = ['chat-presets'] as const;

const MCP_SERVERS = 100;

interface PresetFields {
  name: string;
  description: string;
  model: string | null;
  instructions: string;
  knowledgeBaseIds: string[];
  serverIds: string[];
  temperature: number | string;
  topP: number | string;
  maxTokens: number | string;
  effort: Preset['parameters']['reasoning_effort'] | null;
  published: boolean;
  isDefault: boolean;
}

const toFields = (preset: Preset | null): PresetFields => ({
  name: preset?.name ?? '',
  description: preset?.description ?? '',
  model: preset?.model ?? null,
  instructions: preset?.instructions ?? '',
  knowledgeBaseIds: preset?.knowledge_base_ids ?? [],
  serverIds: preset?.tools.map((tool) => tool.server_id) ?? [],
  temperature: preset?.parameters.temperature ?? '',
  topP: preset?.parameters.top_p ?? '',
  maxTokens: preset?.parameters.max_output_tokens ?? '',
  effort: preset?.parameters.reasoning_effort ?? null,
  published: preset?.published ?? false,
  isDefault: preset?.default ?? false,
});

/** Preserves `allowed_tools` of servers, which can only be set with the API. */
const toBody = (fields: PresetFields, tools: Preset['tools']) => ({
  name: fields.name,
  description: fields.description || null,
  model: fields.model,
  instructions: fields.instructions || null,
  knowledge_base_ids: fields.knowledgeBaseIds,
  tools: fields.serverIds.map(
    (id) => tools.find((tool) => tool.server_id === id) ?? { type: 'mcp' as const, server_id: id },
  ),
  parameters: {
    ...(typeof fields.temperature === 'number' && { temperature: fields.temperature }),
    ...(typeof fields.topP === 'number' && { top_p: fields.topP }),
    ...(typeof fields.maxTokens === 'number' && { max_output_tokens: fields.maxTokens }),
    ...(fields.effort != null && { reasoning_effort: fields.effort }),
  },
  published: fields.published,
  default: fields.isDefault,
});

/** Sheet that creates a preset, or edits `preset` if it is not null. */
export function PresetDialog({ preset, onClose }: { preset: Preset | null; onClose(): void }) {
  const messages = usePresetMessages();
  const [fields, setFields] = useState(() => toFields(preset));
  const set = (changes: Partial<PresetFields>) => setFields({ ...fields, ...changes });
  const submit = async () => {
    const body = toBody(fields, preset?.tools ?? []);
    if (preset === null) await api.POST('/v1/chat-presets', { body });
    else await api.PATCH('/v1/chat-presets/{preset_id}', { params: { path: { preset_id: preset.id } }, body });
  };
  return (
    <FormDialog
      title={preset === null ? messages.create : messages.edit}
      isNew={preset === null}
      size="lg"
      onClose={onClose}
      submit={submit}
      refreshes={PRESET_QUERIES}
    >
      <NameField maxLength={100} value={fields.name} onChange={(name) => set({ name })} />
      <TextField
        param="description"
        label={messages.description}
        description={messages.descriptionHint}
        maxLength={500}
        value={fields.description}
        onChange={(description) => set({ description })}
      />
      <TextAreaField
        param="instructions"
        label={messages.instructions}
        description={messages.instructionsHint}
        autosize
        minRows={4}
        maxRows={14}
        maxLength={100_000}
        value={fields.instructions}
        onChange={(instructions) => set({ instructions })}
      />
      <Sources fields={fields} set={set} />
      <Parameters fields={fields} set={set} />
      <SwitchField
        label={messages.published}
        description={messages.publishedHint}
        checked={fields.published}
        onChange={(published) => set({ published })}
      />
      <SwitchField label={messages.isDefault} checked={fields.isDefault} onChange={(isDefault) => set({ isDefault })} />
    </FormDialog>
  );
}

interface PartProps {
  fields: PresetFields;
  set(changes: Partial<PresetFields>): void;
}

/** Fields for model, knowledge bases and MCP servers. */
function Sources({ fields, set }: PartProps) {
  const messages = usePresetMessages();
  const models = useModels().data?.data ?? [];
  const bases = useKnowledgeBaseOptions(fields.knowledgeBaseIds);
  const servers = useQuery({
    queryKey: ['mcp-servers', 'options'],
    queryFn: () => body(api.GET('/v1/mcp-servers', { params: { query: { limit: MCP_SERVERS } } })),
  });
  const labels = (servers.data?.data ?? []).map(({ id, label }) => ({ value: id, label }));
  return (
    <>
      <SelectField
        param="model"
        label={messages.model}
        placeholder={messages.anyModel}
        clearable
        searchable
        data={models.filter(({ capabilities }) => capabilities.chat_completion).map(({ id }) => id)}
        value={fields.model}
        onChange={(model) => set({ model })}
      />
      <MultiSelectField
        param="knowledge_base_ids"
        label={messages.knowledge}
        description={messages.knowledgeHint}
        searchable
        clearable
        maxValues={64}
        data={bases.options}
        searchValue={bases.search}
        onSearchChange={bases.setSearch}
        value={fields.knowledgeBaseIds}
        onChange={(knowledgeBaseIds) => set({ knowledgeBaseIds })}
      />
      {labels.length > 0 && (
        <MultiSelectField
          param="tools"
          label={messages.servers}
          description={messages.serversHint}
          clearable
          maxValues={16}
          data={labels}
          value={fields.serverIds}
          onChange={(serverIds) => set({ serverIds })}
        />
      )}
    </>
  );
}

function Parameters({ fields, set }: PartProps) {
  const messages = usePresetMessages();
  const placeholder = messages.modelDefault;
  return (
    <details>
      <Text component="summary" fw={500} size="sm" style={{ cursor: 'pointer' }}>
        {messages.parameters}
      </Text>
      <SimpleGrid cols={{ base: 1, sm: 2 }} mt="xs">
        <NumberField
          param="parameters.temperature"
          label={messages.temperature}
          placeholder={placeholder}
          step={0.1}
          {...TEMPERATURE}
          value={fields.temperature}
          onChange={(temperature) => set({ temperature })}
        />
        <NumberField
          param="parameters.top_p"
          label={messages.topP}
          placeholder={placeholder}
          step={0.05}
          {...TOP_P}
          value={fields.topP}
          onChange={(topP) => set({ topP })}
        />
        <NumberField
          param="parameters.max_output_tokens"
          label={messages.maxTokens}
          placeholder={placeholder}
          min={1}
          allowDecimal={false}
          value={fields.maxTokens}
          onChange={(maxTokens) => set({ maxTokens })}
        />
        <SelectField
          param="parameters.reasoning_effort"
          label={messages.effort}
          placeholder={placeholder}
          clearable
          data={REASONING_EFFORTS}
          value={fields.effort ?? null}
          onChange={(effort) => set({ effort: effort as PresetFields['effort'] })}
        />
      </SimpleGrid>
    </details>
  );
}
