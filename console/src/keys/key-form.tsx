import { Checkbox, Group, SimpleGrid, Stack } from '@mantine/core';
import { useState } from 'react';
import { api, body } from '../api/client.ts';
import { useSession } from '../api/session.ts';
import { useKnowledgeBaseOptions } from '../api/use-knowledge-base-options.ts';
import { useModels } from '../api/use-models.ts';
import { BUDGET_PERIODS, KEY_NAME, KEY_SCOPES } from '../api/values.ts';
import { CheckboxGroupField, ChoiceField, MultiSelectField, NameField, NumberField, TextField } from '../ui/fields.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import type { ApiKey, CreatedKey } from './api-key.tsx';
import { type KeyFields, NEW_KEY, toFields, toProperties } from './key-properties.ts';
import { useKeyMessages } from './messages.ts';

/** Names of the limits in the API. */
const LIMIT_PARAMS = {
  requests: 'requests_per_minute',
  tokens: 'tokens_per_minute',
  concurrent: 'concurrent',
} as const;

/** Props of a dialog that creates a key. */
export interface CreateKeyDialogProps {
  onClose(): void;
  /** Called with the new key. Its secret is shown only once. */
  onCreated(key: CreatedKey): void;
}

/** Creates an API key. */
export function CreateKeyDialog({ onClose, onCreated }: CreateKeyDialogProps) {
  const keys = useKeyMessages();
  const common = useCommonMessages();
  const { organization } = useSession();
  const [fields, setFields] = useState(NEW_KEY);
  const submit = async () => {
    const properties = toProperties(fields, NEW_KEY);
    const request = { ...properties, organization_id: organization.id };
    onCreated(await body(api.POST('/v1/admin/keys', { body: request })));
  };
  const dialog = { title: keys.createTitle, onClose, submit, refreshes: ['keys'] };
  return (
    <FormDialog {...dialog} submitLabel={common.create} size="lg">
      <KeyFormFields fields={fields} onChange={setFields} />
    </FormDialog>
  );
}

/** Edits an API key. */
export function EditKeyDialog({ apiKey, onClose }: { apiKey: ApiKey; onClose(): void }) {
  const keys = useKeyMessages();
  const [before] = useState(() => toFields(apiKey));
  const [fields, setFields] = useState(before);
  const params = { path: { key_id: apiKey.id } };
  const submit = () => api.PATCH('/v1/admin/keys/{key_id}', { params, body: toProperties(fields, before) });
  return (
    <FormDialog title={keys.edit} size="lg" onClose={onClose} submit={submit} refreshes={['keys']}>
      <KeyFormFields fields={fields} onChange={setFields} />
    </FormDialog>
  );
}

interface FieldsProps {
  fields: KeyFields;
  onChange(fields: KeyFields): void;
  /** Whether the key is of the person, which gives no right to manage keys. */
  isOwn?: boolean;
}

/** The fields of a key. */
export function KeyFormFields({ fields, onChange, isOwn = false }: FieldsProps) {
  const keys = useKeyMessages();
  const set = (changes: Partial<KeyFields>) => onChange({ ...fields, ...changes });
  return (
    <>
      <NameField {...KEY_NAME} value={fields.name} onChange={(name) => set({ name })} />
      <ScopeFields fields={fields} set={set} isOwn={isOwn} />
      <KeyBounds fields={fields} set={set} />
      <Group>
        <TextField
          param="expires_at"
          type="date"
          label={keys.expires}
          description={keys.expiresHint}
          value={fields.expires}
          onChange={(expires) => set({ expires })}
        />
      </Group>
    </>
  );
}

/** The models, knowledge bases, limits and budget of a key or a policy. */
export function KeyBounds({ fields, set }: PartProps) {
  const keys = useKeyMessages();
  const models = useModels();
  const modelIds = new Set([...(models.data?.data.map(({ id }) => id) ?? []), ...fields.models]);
  return (
    <>
      <MultiSelectField
        param="models"
        label={keys.models}
        description={keys.modelsHint}
        data={[...modelIds]}
        value={fields.models}
        onChange={(value) => set({ models: value })}
        searchable
        clearable
      />
      <KnowledgeBaseField fields={fields} set={set} />
      <LimitFields fields={fields} set={set} />
      <BudgetFields fields={fields} set={set} />
    </>
  );
}

interface PartProps {
  fields: KeyFields;
  set(changes: Partial<KeyFields>): void;
}

function KnowledgeBaseField({ fields, set }: PartProps) {
  const keys = useKeyMessages();
  const bases = useKnowledgeBaseOptions(fields.knowledgeBases);
  return (
    <MultiSelectField
      param="knowledge_base_ids"
      label={keys.knowledgeBases}
      description={keys.knowledgeBasesHint}
      data={bases.options}
      // The server has searched already.
      filter={({ options }) => options}
      value={fields.knowledgeBases}
      onChange={(knowledgeBases) => set({ knowledgeBases })}
      searchable
      searchValue={bases.search}
      onSearchChange={bases.setSearch}
      clearable
    />
  );
}

function ScopeFields({ fields, set, isOwn }: PartProps & { isOwn: boolean }) {
  const keys = useKeyMessages();
  // The scope of operators is given by commands only, and kept by a key that has it.
  const scopes = KEY_SCOPES.filter((scope) =>
    scope === 'admin' || (isOwn && scope === 'keys') ? fields.scopes.includes(scope) : true,
  );
  return (
    <CheckboxGroupField
      param="scopes"
      label={keys.scopes}
      value={fields.scopes}
      onChange={(value) => set({ scopes: value })}
    >
      <Stack gap="xs" mt="xs">
        {scopes.map((scope) => (
          <Checkbox
            key={scope}
            value={scope}
            required={fields.scopes.length === 0}
            label={scope}
            description={keys.scopeHints[scope]}
          />
        ))}
      </Stack>
    </CheckboxGroupField>
  );
}

function LimitFields({ fields, set }: PartProps) {
  const keys = useKeyMessages();
  return (
    <SimpleGrid cols={{ base: 1, xs: 3 }}>
      {(['requests', 'tokens', 'concurrent'] as const).map((field) => (
        <NumberField
          key={field}
          param={`limits.${LIMIT_PARAMS[field]}`}
          label={keys.limits[field]}
          placeholder={keys.defaultLimit}
          min={1}
          allowDecimal={false}
          value={fields[field]}
          onChange={(value) => set({ [field]: value })}
        />
      ))}
    </SimpleGrid>
  );
}

function BudgetFields({ fields, set }: PartProps) {
  const keys = useKeyMessages();
  const hasBudget = typeof fields.budget === 'number';
  return (
    <SimpleGrid cols={{ base: 1, xs: 3 }}>
      <NumberField
        param="budget.limit_micros"
        label={keys.budget}
        placeholder={keys.unlimited}
        prefix="$"
        min={0}
        value={fields.budget}
        onChange={(value) => set({ budget: value })}
      />
      <ChoiceField
        label={keys.budgetPeriod}
        disabled={!hasBudget}
        values={BUDGET_PERIODS}
        labels={keys.periods}
        value={fields.budgetPeriod}
        onChange={(budgetPeriod) => set({ budgetPeriod })}
      />
      <NumberField
        param="budget.soft_limit_micros"
        label={keys.softLimit}
        placeholder={keys.noWarning}
        prefix="$"
        min={0}
        disabled={!hasBudget}
        value={fields.softLimit}
        onChange={(value) => set({ softLimit: value })}
      />
    </SimpleGrid>
  );
}
