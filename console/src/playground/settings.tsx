import { Button, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useKnowledgeBaseOptions } from '../api/use-knowledge-base-options.ts';
import { useModels } from '../api/use-models.ts';
import { REASONING_EFFORTS, RESPONSE_FORMATS, STOP_TEXTS, TEMPERATURE, TOOL_CHOICES, TOP_P } from '../api/values.ts';
import { ChoiceField, SelectField, SwitchField, TextAreaField } from '../ui/fields.tsx';
import { FilterField } from '../ui/filter-field.tsx';
import { fill } from '../ui/language.tsx';
import { lazyPart } from '../ui/lazy-part.tsx';
import { MultiSelect, TagsInput } from '../ui/list-inputs.tsx';
import { NumberInput } from '../ui/number-input.tsx';
import { Segments } from '../ui/segments.tsx';
import { QueryError } from '../ui/states.tsx';
import { Hint } from '../ui/text.tsx';
import { usePlaygroundMessages } from './messages.ts';
import type { PlaygroundSettings } from './request.ts';

const EditorDialog = lazyPart(() => import('./editor.tsx'), 'EditorDialog');

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
      <Segments
        fullWidth
        label={playground.mode}
        values={['chat', 'responses'] as const}
        labels={playground.modes}
        value={settings.mode}
        onChange={(mode) => onChange({ mode })}
      />
      <ModelFields settings={settings} onChange={onChange} compare={compare} onCompare={onCompare} />
      <TextAreaField
        label={playground.system}
        autosize
        minRows={2}
        maxRows={8}
        value={settings.system}
        onChange={(system) => onChange({ system })}
      />
      <ToolFields settings={settings} onChange={onChange} />
      <SamplingFields settings={settings} onChange={onChange} />
    </Stack>
  );
}

function ModelFields({ settings, onChange, compare, onCompare }: SettingsProps) {
  const playground = usePlaygroundMessages();
  const models = useModels();
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
      <SelectField
        label={compare === null ? playground.model : playground.firstModel}
        allowDeselect={false}
        searchable
        data={options(settings.model)}
        description={bundled.has(settings.model) ? playground.bundledHint : undefined}
        value={settings.model}
        onChange={(model) => model !== null && onChange({ model })}
      />
      {compare !== null && (
        <SelectField
          label={playground.secondModel}
          allowDeselect={false}
          searchable
          data={options(compare)}
          value={compare}
          onChange={onCompare}
        />
      )}
      <SwitchField
        label={playground.compare}
        checked={compare !== null}
        onChange={(isComparing) => onCompare(isComparing ? other : null)}
      />
      <MultiSelect
        isOnDemand
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

type FieldsProps = Pick<SettingsProps, 'settings' | 'onChange'>;

function ToolFields({ settings, onChange }: FieldsProps) {
  const playground = usePlaygroundMessages();
  const [editor, setEditor] = useState<'tools' | 'schema' | null>(null);
  const tools: unknown[] = settings.tools === '' ? [] : JSON.parse(settings.tools);
  return (
    <>
      <EditorRow label={playground.tools} value={String(tools.length)} onEdit={() => setEditor('tools')} />
      {tools.length > 0 && (
        <ChoiceField
          label={playground.toolChoice}
          values={TOOL_CHOICES}
          value={settings.toolChoice}
          onChange={(toolChoice) => onChange({ toolChoice })}
        />
      )}
      <ChoiceField
        label={playground.format}
        values={RESPONSE_FORMATS}
        value={settings.format}
        onChange={(format) => onChange({ format })}
      />
      {settings.format === 'json_schema' && (
        <EditorRow
          label={playground.schema}
          value={settings.schema === '' ? playground.emptySchema : ''}
          onEdit={() => setEditor('schema')}
        />
      )}
      {editor !== null && (
        <EditorDialog
          title={playground[editor]}
          {...(editor === 'tools'
            ? { help: playground.toolsHelp, example: EXAMPLE_TOOLS, kind: 'array' }
            : { help: playground.schemaHelp, example: EXAMPLE_SCHEMA, kind: 'object' })}
          value={settings[editor]}
          onClose={() => setEditor(null)}
          onSave={(text) => onChange({ [editor]: text })}
        />
      )}
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
  const shared = { placeholder: playground.default };
  return (
    <>
      <Group grow align="flex-start">
        <NumberInput
          {...shared}
          label={playground.temperature}
          {...TEMPERATURE}
          step={0.1}
          value={settings.temperature}
          onChange={(temperature) => onChange({ temperature })}
        />
        <NumberInput
          {...shared}
          label="top_p"
          {...TOP_P}
          step={0.05}
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
      <FilterField
        isLabelled
        label={playground.effort}
        description={playground.effortHelp}
        placeholder={playground.default}
        data={REASONING_EFFORTS}
        value={settings.effort}
        onChange={(effort) => onChange({ effort })}
      />
      {isChat ? <ChatOnlyFields settings={settings} onChange={onChange} /> : <Hint>{playground.chatOnly}</Hint>}
    </>
  );
}

/** Parameters that the Responses API does not have, besides the seed. */
function ChatOnlyFields({ settings, onChange }: FieldsProps) {
  const playground = usePlaygroundMessages();
  return (
    <>
      <TagsInput
        isOnDemand
        label={playground.stopTexts}
        description={playground.stopHelp}
        maxTags={STOP_TEXTS.maxItems}
        value={settings.stop}
        onChange={(stop) => onChange({ stop })}
      />
      <SwitchField
        label={playground.logprobs}
        checked={settings.logprobs}
        onChange={(logprobs) => onChange({ logprobs })}
      />
    </>
  );
}
