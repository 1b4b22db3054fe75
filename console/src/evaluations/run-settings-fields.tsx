import { Group, Select, Stack } from '@mantine/core';
import { useModels } from '../api/use-models.ts';
import { ChoiceField, SwitchField } from '../ui/fields.tsx';
import { useFormat } from '../ui/format.ts';
import { NumberInput } from '../ui/number-input.tsx';
import { useEvaluationMessages } from './messages.ts';
import { type RunSettings, SEARCH_TYPES, TOP_K, toSettings } from './run-settings.ts';

interface RunSettingsFieldsProps {
  settings: RunSettings;
  onChange(settings: RunSettings): void;
}

/** The fields of a form that say how a run searches and answers, and which model scores its answers. */
export function RunSettingsFields({ settings, onChange }: RunSettingsFieldsProps) {
  const texts = useEvaluationMessages();
  const change = (changes: Partial<RunSettings>) => onChange({ ...settings, ...changes });
  const isHybrid = settings.search_type === 'hybrid';
  return (
    <Stack gap="xs">
      <Group grow align="flex-end">
        <ChatModelField
          label={texts.model}
          placeholder={texts.searchOnly}
          value={settings.model}
          onChange={(model) => change({ model })}
        />
        <ChatModelField
          label={texts.judge}
          placeholder={texts.noJudge}
          disabled={settings.model === null}
          value={settings.model === null ? null : settings.judge_model}
          onChange={(judge_model) => change({ judge_model })}
        />
      </Group>
      <Group grow align="flex-end">
        <ChoiceField
          label={texts.searchType}
          values={SEARCH_TYPES}
          labels={texts.searchTypes}
          value={settings.search_type}
          onChange={(search_type) => change({ search_type })}
        />
        <NumberInput
          label={texts.hybridWeight}
          placeholder={texts.defaultWeight}
          min={0}
          max={1}
          step={0.1}
          disabled={!isHybrid}
          value={isHybrid ? (settings.hybrid_weight ?? '') : ''}
          onChange={(value) => change({ hybrid_weight: value === '' ? null : Number(value) })}
        />
        <NumberInput
          label={texts.topK}
          min={1}
          max={TOP_K.max}
          allowDecimal={false}
          value={settings.top_k}
          onChange={(value) => change({ top_k: value === '' ? TOP_K.default : Number(value) })}
        />
        <SwitchField label={texts.rerank} checked={settings.rerank} onChange={(rerank) => change({ rerank })} />
      </Group>
    </Stack>
  );
}

interface ChatModelFieldProps {
  label: string;
  placeholder?: string;
  disabled?: boolean;
  value: string | null;
  onChange(id: string | null): void;
}

/** Chooses a model that chats. */
export function ChatModelField(props: ChatModelFieldProps) {
  const models = (useModels().data?.data ?? []).filter(({ capabilities }) => capabilities.chat_completion);
  return <Select data={models.map(({ id }) => id)} clearable {...props} />;
}

/** Returns a function that lists the settings of a run by label, those of all chats left out. */
export function useDescribeSettings() {
  const texts = useEvaluationMessages();
  const format = useFormat();
  return (run: Parameters<typeof toSettings>[0]): [label: string, value: string][] => {
    const { model, search_type, hybrid_weight, top_k, rerank, rerank_model, judge_model } = toSettings(run);
    return [
      [texts.model, model ?? texts.searchOnly],
      ...(judge_model === null ? [] : [[texts.judge, judge_model] as [string, string]]),
      [texts.searchType, texts.searchTypes[search_type]],
      ...(hybrid_weight === null ? [] : [[texts.hybridWeight, format.number(hybrid_weight)] as [string, string]]),
      [texts.topK, format.number(top_k)],
      ...(rerank ? [[texts.reranker, rerank_model ?? texts.defaultReranker] as [string, string]] : []),
    ];
  };
}
