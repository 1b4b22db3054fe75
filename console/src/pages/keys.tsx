import {
  Alert,
  Badge,
  Button,
  Checkbox,
  Code,
  Group,
  Modal,
  MultiSelect,
  NumberInput,
  Stack,
  Text,
  TextInput,
} from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, body } from '../api/client.ts';
import type { paths } from '../api/schema.d.ts';
import { type Session, useSession } from '../api/session.ts';
import { ConfirmButton } from '../components/confirm.tsx';
import { CopyText } from '../components/copy-text.tsx';
import { FormDialog } from '../components/form-dialog.tsx';
import { useFormat } from '../components/format.ts';
import { Page } from '../components/page.tsx';
import { ResourceTable } from '../components/resource-table.tsx';
import { useMessages } from '../messages/index.tsx';

type ApiKey = paths['/v1/admin/keys']['get']['responses'][200]['content']['application/json']['data'][number];
type Scope = Session['scopes'][number];

const KEY_SCOPES: readonly Scope[] = ['inference', 'files', 'knowledge', 'guardrails', 'keys'];
const DEFAULT_SCOPES: Scope[] = ['inference', 'files', 'knowledge', 'guardrails'];
const ROTATION_OVERLAP_SECONDS = 3_600;

/** API keys of the organization. */
export function KeysPage() {
  const { keys, common } = useMessages();
  const format = useFormat();
  const { organization } = useSession();
  const queryClient = useQueryClient();
  const [isCreating, setCreating] = useState(false);
  const [secret, setSecret] = useState<string | null>(null);
  const queryKey = ['keys', organization.id];
  const refresh = () => queryClient.invalidateQueries({ queryKey });
  return (
    <Page
      title={keys.title}
      intro={keys.intro}
      action={<Button onClick={() => setCreating(true)}>{keys.create}</Button>}
    >
      <ResourceTable<ApiKey>
        label={keys.title}
        queryKey={queryKey}
        fetchPage={(after) =>
          body(api.GET('/v1/admin/keys', { params: { query: { after, limit: 50, organization_id: organization.id } } }))
        }
        rowKey={(key) => key.id}
        empty={keys.empty}
        columns={[
          {
            heading: common.name,
            cell: (key) => (
              <div>
                <Text fw={500}>{key.name}</Text>
                <Code>…{key.hint}</Code>
              </div>
            ),
          },
          { heading: common.status, cell: (key) => <KeyStatus apiKey={key} /> },
          {
            heading: keys.scopes,
            cell: (key) => (
              <Group gap={4}>
                {key.scopes.map((scope) => (
                  <Badge key={scope} variant="default" tt="none">
                    {scope}
                  </Badge>
                ))}
              </Group>
            ),
          },
          {
            heading: keys.lastUsed,
            cell: (key) => (key.last_used_at === null ? common.never : format.time(key.last_used_at)),
          },
          {
            heading: keys.expiresAt,
            cell: (key) => (key.expires_at === null ? common.never : format.time(key.expires_at)),
          },
          {
            heading: common.actions,
            cell: (key) =>
              key.revoked_at === null && (
                <Group gap={4} wrap="nowrap">
                  <ConfirmButton
                    label={keys.rotate}
                    title={`${keys.rotate}: ${key.name}`}
                    text={keys.rotateText}
                    color="blue"
                    action={async () => {
                      const rotated = await body(
                        api.POST('/v1/admin/keys/{key_id}/rotate', {
                          params: { path: { key_id: key.id } },
                          body: { overlap_seconds: ROTATION_OVERLAP_SECONDS },
                        }),
                      );
                      setSecret(rotated.key);
                      await refresh();
                    }}
                  />
                  <ConfirmButton
                    label={keys.revoke}
                    title={`${keys.revoke}: ${key.name}`}
                    text={keys.revokeText}
                    action={async () => {
                      await api.POST('/v1/admin/keys/{key_id}/revoke', { params: { path: { key_id: key.id } } });
                      await refresh();
                    }}
                  />
                </Group>
              ),
          },
        ]}
      />
      {isCreating && (
        <CreateKeyDialog
          onClose={() => setCreating(false)}
          onCreated={(key) => {
            setSecret(key);
            void refresh();
          }}
        />
      )}
      <Modal opened={secret !== null} onClose={() => setSecret(null)} title={keys.created} size="lg">
        <Stack>
          <Alert color="orange">{keys.createdText}</Alert>
          <CopyText value={secret ?? ''} />
          <Group justify="flex-end">
            <Button onClick={() => setSecret(null)}>{common.close}</Button>
          </Group>
        </Stack>
      </Modal>
    </Page>
  );
}

function KeyStatus({ apiKey }: { apiKey: ApiKey }) {
  const { keys } = useMessages();
  const isExpired = apiKey.expires_at !== null && apiKey.expires_at * 1000 <= Date.now();
  const [label, color] =
    apiKey.revoked_at !== null ? [keys.revoked, 'red'] : isExpired ? [keys.expired, 'orange'] : [keys.active, 'teal'];
  return (
    <Badge variant="light" color={color} tt="none" miw="max-content">
      {label}
    </Badge>
  );
}

interface CreateKeyDialogProps {
  onClose(): void;
  /** Called with the secret, which is shown once. */
  onCreated(key: string): void;
}

function CreateKeyDialog({ onClose, onCreated }: CreateKeyDialogProps) {
  const { keys, common } = useMessages();
  const { organization } = useSession();
  const [name, setName] = useState('');
  const [scopes, setScopes] = useState<string[]>(DEFAULT_SCOPES);
  const [models, setModels] = useState<string[]>([]);
  const [days, setDays] = useState<number | string>('');
  const [budget, setBudget] = useState<number | string>('');
  const [requests, setRequests] = useState<number | string>('');
  const modelList = useQuery({
    queryKey: ['models'],
    queryFn: () => body(api.GET('/v1/models', { params: { query: { limit: 100 } } })),
  });
  const submit = async () => {
    const { key } = await body(
      api.POST('/v1/admin/keys', {
        body: {
          organization_id: organization.id,
          name,
          scopes: scopes as Scope[],
          models: models.length === 0 ? null : models,
          ...(typeof days === 'number' && { expires_in: days * 86_400 }),
          ...(typeof budget === 'number' && {
            budget: { period: 'month' as const, limit_micros: Math.round(budget * 1e6) },
          }),
          ...(typeof requests === 'number' && { limits: { requests_per_minute: requests } }),
        },
      }),
    );
    onCreated(key);
  };
  return (
    <FormDialog
      title={keys.createTitle}
      submitLabel={common.create}
      size="lg"
      isValid={scopes.length > 0}
      onClose={onClose}
      submit={submit}
    >
      <TextInput
        label={common.name}
        required
        data-autofocus
        maxLength={100}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <Checkbox.Group label={keys.scopes} value={scopes} onChange={setScopes}>
        <Group mt="xs">
          {KEY_SCOPES.map((scope) => (
            <Checkbox key={scope} value={scope} label={scope} />
          ))}
        </Group>
      </Checkbox.Group>
      <MultiSelect
        label={keys.models}
        description={keys.modelsHint}
        data={modelList.data?.data.map(({ id }) => id) ?? []}
        value={models}
        onChange={setModels}
        searchable
        clearable
      />
      <Group grow align="flex-start">
        <NumberInput
          label={keys.expires}
          description={keys.expiresHint}
          min={1}
          max={3650}
          allowDecimal={false}
          value={days}
          onChange={setDays}
        />
        <NumberInput label={keys.budget} description={keys.budgetHint} min={0} value={budget} onChange={setBudget} />
        <NumberInput
          label={keys.rpm}
          description={keys.rpmHint}
          min={1}
          allowDecimal={false}
          value={requests}
          onChange={setRequests}
        />
      </Group>
    </FormDialog>
  );
}
