import { Button, List, Paper, Select, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiFailure, api, body } from '../api/client.ts';
import { TextField } from '../ui/fields.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { ErrorState, LoadingState } from '../ui/states.tsx';
import { SchemaFields } from './data-source-fields.tsx';
import { type Config, type FieldSchema, sourceSchemas, toConfig, toFormValues } from './data-source-schema.ts';
import { useDataSourceMessages } from './messages.ts';

/** Types of the API. */
export type SourceType = 'file_upload' | 'web_crawl' | 's3' | 'gcs' | 'confluence' | 'notion' | 'google_drive';

interface StoredSource {
  id: string;
  type: SourceType;
  name: string;
  config: Config;
}

interface DialogProps {
  kbId: string;
  /** The data source to edit; null for a new one. */
  source: StoredSource | null;
  onClose(): void;
}

/** Creates or edits a data source, with the fields that the API describes for its type. */
export function DataSourceDialog(props: DialogProps) {
  const schemas = useQuery(sourceSchemas);
  if (schemas.isPending) return <LoadingState />;
  if (schemas.isError) return <ErrorState error={schemas.error} onRetry={() => void schemas.refetch()} />;
  return <DataSourceForm {...props} schemas={schemas.data} />;
}

function DataSourceForm({
  kbId,
  source,
  onClose,
  schemas,
}: DialogProps & { schemas: ReadonlyMap<string, FieldSchema> }) {
  const sources = useDataSourceMessages();
  const common = useCommonMessages();
  const store = useStoreSource(kbId, source);
  const [type, setType] = useState<SourceType>(source?.type ?? 'web_crawl');
  const schema = schemas.get(type) ?? {};
  const [name, setName] = useState(source?.name ?? '');
  const [values, setValues] = useState<Config>(() => toFormValues(schema, source?.config ?? {}));
  const { failure, clearFailure, send } = useLastFailure();
  const config = () => toConfig(schema, values, source !== null);
  const changeType = (next: SourceType) => {
    setType(next);
    setValues(toFormValues(schemas.get(next) ?? {}, {}));
    clearFailure();
  };
  return (
    <FormDialog
      title={source === null ? sources.add : sources.edit}
      submitLabel={source === null ? common.create : common.save}
      onClose={onClose}
      submit={() => send(async () => store({ type, name, config: config() }))}
      failure={failure}
      size="lg"
    >
      <Select
        label={sources.type}
        allowDeselect={false}
        disabled={source !== null}
        data={[...schemas.keys()].map((value) => ({ value, label: sources.types[value as SourceType] ?? value }))}
        value={type}
        onChange={(next) => next !== null && changeType(next as SourceType)}
      />
      <TextField
        param="name"
        label={common.name}
        maxLength={256}
        placeholder={type}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <SchemaFields
        key={`fields of ${type}`}
        schema={schema}
        path="config"
        values={values}
        onChange={setValues}
        isStored={source !== null}
      />
      <ConnectionTest
        key={type}
        test={() => send(async () => testSource(kbId, { id: source?.id, type, config: config() }))}
      />
    </FormDialog>
  );
}

/** Keeps the error of the last request of the form, which is shown at its field too. */
function useLastFailure() {
  const [failure, setFailure] = useState<ApiFailure | null>(null);
  const clearFailure = () => setFailure(null);
  const send = async <T,>(request: () => Promise<T>): Promise<T> => {
    clearFailure();
    try {
      return await request();
    } catch (error) {
      if (error instanceof ApiFailure) setFailure(error);
      throw error;
    }
  };
  return { failure, clearFailure, send };
}

/** Returns the function that creates the data source, or changes the stored one. */
function useStoreSource(kbId: string, stored: StoredSource | null) {
  const queryClient = useQueryClient();
  return async ({ type, name, config }: Omit<StoredSource, 'id'>): Promise<void> => {
    if (stored === null) {
      const params = { path: { kb_id: kbId } };
      const created = { type, config, ...(name !== '' && { name }) } as never;
      await api.POST('/v1/knowledge-bases/{kb_id}/data-sources', { params, body: created });
    } else {
      const params = { path: { kb_id: kbId, ds_id: stored.id } };
      await api.PATCH('/v1/knowledge-bases/{kb_id}/data-sources/{ds_id}', { params, body: { name, config } });
    }
    const changed = ['data-sources', 'jobs', 'knowledge-base'];
    await Promise.all(changed.map((key) => queryClient.invalidateQueries({ queryKey: [key, kbId] })));
  };
}

interface TestResult {
  items: { name: string; uri?: string | null }[];
  has_more: boolean;
}

interface TestedSource extends Pick<StoredSource, 'type' | 'config'> {
  /** The stored data source, whose secrets are used where the config has none. */
  id: string | undefined;
}

function testSource(kbId: string, { id, type, config }: TestedSource): Promise<TestResult> {
  const params = { path: { kb_id: kbId } };
  const tested = { type, config, ...(id !== undefined && { data_source_id: id }) };
  return body(api.POST('/v1/knowledge-bases/{kb_id}/data-sources/test', { params, body: tested }));
}

/** Tests the config without storing it, and shows the first items. */
function ConnectionTest({ test }: { test(): Promise<TestResult> }) {
  const sources = useDataSourceMessages();
  const mutation = useMutation({ mutationFn: test });
  return (
    <Stack gap="xs" aria-live="polite">
      <Button
        variant="default"
        w="fit-content"
        loading={mutation.isPending}
        onClick={({ currentTarget }) => currentTarget.form?.reportValidity() && mutation.mutate()}
      >
        {sources.test}
      </Button>
      {mutation.isError && <ErrorState error={mutation.error} />}
      {mutation.isSuccess && (
        <Paper withBorder p="sm">
          <Text size="sm" fw={600}>
            {mutation.data.items.length === 0 ? sources.testEmpty : sources.testPassed}
          </Text>
          <List size="sm">
            {mutation.data.items.map(({ name, uri }) => (
              <List.Item key={`${name} ${uri}`} style={{ overflowWrap: 'anywhere' }}>
                {name}
              </List.Item>
            ))}
            {mutation.data.has_more && <List.Item>…</List.Item>}
          </List>
        </Paper>
      )}
    </Stack>
  );
}
