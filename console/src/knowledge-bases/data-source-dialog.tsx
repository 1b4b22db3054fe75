import { Button, List, Paper, Stack, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiFailure, api, body } from '../api/client.ts';
import type { Schema } from '../api/types.ts';
import { DATA_SOURCE_NAME } from '../api/values.ts';
import { ChoiceField, NameField } from '../ui/fields.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { MutationError, QueryData } from '../ui/states.tsx';
import { SchemaFields } from './data-source-fields.tsx';
import { type Config, type FieldSchema, sourceSchemas, toConfig, toFormValues } from './data-source-schema.ts';
import { useDataSourceMessages } from './messages.ts';

/** Types of data sources that can be created. */
type SourceType = Schema<'ProbeDataSource'>['type'];
type StoredSource = Pick<Schema<'DataSource'>, 'id' | 'type' | 'name' | 'config'>;

interface DialogProps {
  kbId: string;
  /** The data source to edit; null for a new one. */
  source: StoredSource | null;
  onClose(): void;
}

/** Creates or edits a data source, with the fields that the API describes for its type. */
export function DataSourceDialog(props: DialogProps) {
  const schemas = useQuery(sourceSchemas);
  return <QueryData query={schemas}>{(data) => <DataSourceForm {...props} schemas={data} />}</QueryData>;
}

type FormProps = DialogProps & { schemas: ReadonlyMap<string, FieldSchema> };

function DataSourceForm({ kbId, source, onClose, schemas }: FormProps) {
  const sources = useDataSourceMessages();
  const common = useCommonMessages();
  const [type, setType] = useState((source?.type ?? 'web_crawl') as SourceType);
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
      submit={() => send(() => storeSource(kbId, source, { type, name, config: config() }))}
      refreshes={['data-sources', 'jobs', 'knowledge-base']}
      failure={failure}
      size="lg"
    >
      <ChoiceField
        label={sources.type}
        disabled={source !== null}
        values={[...schemas.keys()] as SourceType[]}
        labels={sources.types}
        value={type}
        onChange={changeType}
      />
      <NameField required={false} {...DATA_SOURCE_NAME} placeholder={type} value={name} onChange={setName} />
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

/** Creates the data source, or changes the stored one. */
async function storeSource(kbId: string, stored: StoredSource | null, source: Omit<StoredSource, 'id'>): Promise<void> {
  const { type, name, config } = source;
  if (stored === null) {
    const params = { path: { kb_id: kbId } };
    const created = { type, config, ...(name !== '' && { name }) } as never;
    await api.POST('/v1/knowledge-bases/{kb_id}/data-sources', { params, body: created });
  } else {
    const params = { path: { kb_id: kbId, ds_id: stored.id } };
    await api.PATCH('/v1/knowledge-bases/{kb_id}/data-sources/{ds_id}', { params, body: { name, config } });
  }
}

type TestResult = Schema<'DataSourceProbe'>;

interface TestedSource extends Pick<StoredSource, 'config'> {
  type: SourceType;
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
      <MutationError mutation={mutation} />
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
