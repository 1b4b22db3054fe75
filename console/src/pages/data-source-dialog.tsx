import { Button, List, Paper, Select, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiFailure, api, body } from '../api/client.ts';
import { TextField } from '../components/fields.tsx';
import { FormDialog } from '../components/form-dialog.tsx';
import { ErrorState, LoadingState } from '../components/states.tsx';
import { useMessages } from '../messages/index.tsx';
import { SchemaFields } from './data-source-fields.tsx';
import { type Config, type FieldSchema, sourceSchemas, toConfig, toFormValues } from './data-source-schema.ts';

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
  const { sources, common } = useMessages();
  const queryClient = useQueryClient();
  const [type, setType] = useState<SourceType>(source?.type ?? 'web_crawl');
  const schema = schemas.get(type) ?? {};
  const [name, setName] = useState(source?.name ?? '');
  const [values, setValues] = useState<Config>(() => toFormValues(schema, source?.config ?? {}));
  const [failure, setFailure] = useState<ApiFailure | null>(null);
  const changeType = (next: SourceType) => {
    setType(next);
    setValues(toFormValues(schemas.get(next) ?? {}, {}));
    setFailure(null);
  };
  /** Runs a request with the config; its error is shown at the field too. */
  const send = async <T,>(request: (config: Config) => Promise<T>): Promise<T> => {
    setFailure(null);
    try {
      return await request(toConfig(schema, values, source !== null));
    } catch (error) {
      if (error instanceof ApiFailure) setFailure(error);
      throw error;
    }
  };
  const save = () =>
    send(async (config) => {
      const request =
        source === null
          ? api.POST('/v1/knowledge-bases/{kb_id}/data-sources', {
              params: { path: { kb_id: kbId } },
              body: { type, config, ...(name !== '' && { name }) } as never,
            })
          : api.PATCH('/v1/knowledge-bases/{kb_id}/data-sources/{ds_id}', {
              params: { path: { kb_id: kbId, ds_id: source.id } },
              body: { name, config },
            });
      await request;
      await Promise.all(
        ['data-sources', 'jobs', 'knowledge-base'].map((key) =>
          queryClient.invalidateQueries({ queryKey: [key, kbId] }),
        ),
      );
    });
  return (
    <FormDialog
      title={source === null ? sources.add : sources.edit}
      submitLabel={source === null ? common.create : common.save}
      onClose={onClose}
      submit={save}
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
        test={() =>
          send((config) =>
            body(
              api.POST('/v1/knowledge-bases/{kb_id}/data-sources/test', {
                params: { path: { kb_id: kbId } },
                body: { type, config, ...(source !== null && { data_source_id: source.id }) },
              }),
            ),
          )
        }
      />
    </FormDialog>
  );
}

interface TestResult {
  items: { name: string; uri?: string | null }[];
  has_more: boolean;
}

/** Tests the config without storing it, and shows the first items. */
function ConnectionTest({ test }: { test(): Promise<TestResult> }) {
  const { sources } = useMessages();
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
