import { Anchor, Button, Group, List, Paper, Stack, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiFailure, api, body } from '../api/client.ts';
import type { Schema } from '../api/types.ts';
import { DATA_SOURCE_NAME } from '../api/values.ts';
import { Modal } from '../ui/dialogs.tsx';
import { NameField } from '../ui/fields.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { listInputs } from '../ui/list-inputs.tsx';
import { MutationError, QueryData } from '../ui/states.tsx';
import { Hint } from '../ui/text.tsx';
import { ConnectorGallery } from './connector-gallery.tsx';
import { CONNECTORS, type SourceType } from './connectors.ts';
import { SchemaFields } from './data-source-fields.tsx';
import { type Config, type FieldSchema, sourceSchemas, toConfig, toFormValues } from './data-source-schema.ts';
import { useDataSourceMessages } from './messages.ts';

type StoredSource = Pick<Schema<'DataSource'>, 'id' | 'type' | 'name' | 'config'>;

interface DialogProps {
  kbId: string;
  onClose(): void;
}

/** Adds a data source: connector selection, then the form in a sheet. */
export function AddDataSource(props: DialogProps) {
  const sources = useDataSourceMessages();
  const [type, setType] = useState<SourceType | null>(null);
  if (type !== null) return <DataSourceSheet {...props} type={type} source={null} onBack={() => setType(null)} />;
  return (
    <Modal opened onClose={props.onClose} title={sources.add} size="xl">
      <ConnectorGallery onChoose={setType} />
    </Modal>
  );
}

/** Sheet that edits a data source. */
export function EditDataSource({ source, ...props }: DialogProps & { source: StoredSource }) {
  return <DataSourceSheet {...props} type={source.type as SourceType} source={source} />;
}

interface SheetProps extends DialogProps {
  type: SourceType;
  /** Null for a new data source. */
  source: StoredSource | null;
  /** Returns to the connector selection. */
  onBack?(): void;
}

/** Form fields, generated from the API schema of the data source type. */
function DataSourceSheet(props: SheetProps) {
  const schemas = useQuery(sourceSchemas);
  const inputs = useQuery(listInputs);
  return (
    <QueryData query={inputs}>
      {() => (
        <QueryData query={schemas}>
          {(data) => <DataSourceForm {...props} schema={data.get(props.type) ?? {}} />}
        </QueryData>
      )}
    </QueryData>
  );
}

function DataSourceForm({ kbId, type, source, schema, onBack, onClose }: SheetProps & { schema: FieldSchema }) {
  const sources = useDataSourceMessages();
  const [name, setName] = useState(source?.name ?? '');
  const [values, setValues] = useState<Config>(() => toFormValues(schema, source?.config ?? {}));
  const { failure, send } = useLastFailure();
  const config = () => toConfig(schema, values, source !== null);
  return (
    <FormDialog
      title={`${source === null ? sources.add : sources.edit}: ${sources.types[type]}`}
      isNew={source === null}
      onClose={onClose}
      submit={() => send(() => storeSource(kbId, source, { type, name, config: config() }))}
      refreshes={['data-sources', 'jobs', 'knowledge-base']}
      failure={failure}
      isSheet
    >
      <Group justify="space-between" align="flex-start">
        <Hint flex="1 1 240px">{sources.needs[type]}</Hint>
        <Group gap="sm">
          {onBack !== undefined && (
            <Anchor component="button" type="button" size="sm" onClick={onBack}>
              {sources.otherKind}
            </Anchor>
          )}
          <Anchor href={CONNECTORS[type].guide} target="_blank" size="sm">
            {sources.guide}
          </Anchor>
        </Group>
      </Group>
      <NameField required={false} {...DATA_SOURCE_NAME} placeholder={type} value={name} onChange={setName} />
      <SchemaFields schema={schema} path="config" values={values} onChange={setValues} isStored={source !== null} />
      <ConnectionTest test={() => send(async () => testSource(kbId, { id: source?.id, type, config: config() }))} />
    </FormDialog>
  );
}

/** Keeps the error of the last request of the form, which is shown at its field too. */
function useLastFailure() {
  const [failure, setFailure] = useState<ApiFailure | null>(null);
  const send = async <T,>(request: () => Promise<T>): Promise<T> => {
    setFailure(null);
    try {
      return await request();
    } catch (error) {
      if (error instanceof ApiFailure) setFailure(error);
      throw error;
    }
  };
  return { failure, send };
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
