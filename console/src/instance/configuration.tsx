import { Alert, Badge, Code, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { api, body } from '../api/client.ts';
import type { paths } from '../api/schema.d.ts';
import { useModelMessages } from '../models/messages.ts';
import { DataTable } from '../ui/data-table.tsx';
import { fill } from '../ui/language.tsx';
import { Page } from '../ui/page.tsx';
import { SearchField } from '../ui/search-field.tsx';
import { ErrorState, LoadingState } from '../ui/states.tsx';
import { useConfigurationMessages } from './messages.ts';

type Configuration = paths['/v1/admin/configuration']['get']['responses'][200]['content']['application/json'];
type Setting = Configuration['settings'][number];

const route = getRouteApi('/shell/settings/instance');
/** Settings that bound requests, memory and time. */
const LIMITS: ReadonlySet<string> = new Set([
  'QUIRE_RATE_LIMITS',
  'QUIRE_BODY_LIMIT',
  'QUIRE_BATCH_CONCURRENCY',
  'QUIRE_MEMORY_LIMIT_MB',
  'QUIRE_USAGE_RETENTION_DAYS',
  'QUIRE_AUDIT_RETENTION_DAYS',
  'QUIRE_PREFIX_CACHE_MB',
  'QUIRE_BUNDLED_KEEP_ALIVE',
]);

/** The configuration in force, with the origin of every value. */
export function InstanceSettingsPage() {
  const configuration = useConfigurationMessages();
  const { q = '' } = route.useSearch();
  const navigate = route.useNavigate();
  const query = useQuery({ queryKey: ['configuration'], queryFn: () => body(api.GET('/v1/admin/configuration')) });
  return (
    <Page
      title={configuration.title}
      intro={configuration.intro}
      action={
        <SearchField
          label={configuration.setting}
          value={q}
          onSearch={(text) => void navigate({ search: text === '' ? {} : { q: text }, replace: true })}
        />
      }
    >
      {query.isPending && <LoadingState />}
      {query.isError && <ErrorState error={query.error} onRetry={() => void query.refetch()} />}
      {query.isSuccess && <Settings configuration={query.data} search={q} />}
    </Page>
  );
}

function Settings({ configuration: found, search }: { configuration: Configuration; search: string }) {
  const configuration = useConfigurationMessages();
  const term = search.toLowerCase();
  const matches = found.settings.filter(({ variable, file_key, description }) =>
    `${variable} ${file_key} ${description}`.toLowerCase().includes(term),
  );
  const limits = matches.filter(({ variable }) => LIMITS.has(variable));
  const others = matches.filter(({ variable }) => !LIMITS.has(variable));
  const file = found.file ?? '';
  return (
    <Stack gap="lg">
      <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
        {found.file === null ? configuration.noFile : fill(configuration.file, { path: file })}
      </Text>
      {found.unknown_variables.length > 0 && (
        <Alert color="yellow">{fill(configuration.unknown, { names: found.unknown_variables.join(', ') })}</Alert>
      )}
      {matches.length === 0 && <Text c="dimmed">{configuration.noneFound}</Text>}
      {limits.length > 0 && <SettingTable title={configuration.limits} settings={limits} file={file} />}
      {others.length > 0 && <SettingTable title={configuration.others} settings={others} file={file} />}
      {found.models.length > 0 && <ModelTable models={found.models} />}
    </Stack>
  );
}

interface SettingTableProps {
  title: string;
  settings: readonly Setting[];
  file: string;
}

function SettingTable({ title, settings, file }: SettingTableProps) {
  const configuration = useConfigurationMessages();
  return (
    <Stack gap="xs">
      <Title order={2} size="h4">
        {title}
      </Title>
      <DataTable
        label={title}
        items={settings}
        rowKey={({ variable }) => variable}
        columns={[
          {
            heading: configuration.setting,
            cell: ({ variable, file_key, description }) => (
              <div>
                <Text fw={500} style={{ overflowWrap: 'anywhere' }}>
                  {file_key ?? variable}
                </Text>
                <Text size="xs" c="dimmed" maw={560}>
                  {description.replaceAll('`', '')}
                </Text>
              </div>
            ),
          },
          { heading: configuration.value, cell: (setting) => <SettingValue setting={setting} /> },
          { heading: configuration.origin, cell: (setting) => <Origin setting={setting} file={file} /> },
        ]}
      />
    </Stack>
  );
}

function SettingValue({ setting: { value, default: standard, secret, origin } }: { setting: Setting }) {
  const configuration = useConfigurationMessages();
  const show = (one: Setting['value']) =>
    one === null ? configuration.unset : Array.isArray(one) ? one.join(', ') : String(one);
  if (secret && value !== null) return <Text size="sm">{configuration.hidden}</Text>;
  return (
    <div>
      {value === null ? (
        <Text size="sm" c="dimmed">
          {configuration.unset}
        </Text>
      ) : (
        <Code style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}>{show(value)}</Code>
      )}
      {origin !== 'default' && (
        <Text size="xs" c="dimmed">
          {fill(configuration.defaultValue, { value: show(standard) })}
        </Text>
      )}
    </div>
  );
}

/** The place where an operator changes the value. */
function Origin({ setting: { origin, line, variable }, file }: { setting: Setting; file: string }) {
  const configuration = useConfigurationMessages();
  const name = file.split('/').at(-1) ?? file;
  return (
    <Badge variant={origin === 'default' ? 'default' : 'light'} tt="none" miw="max-content">
      {fill(configuration.origins[origin], { file: name, line: line ?? '–', variable })}
    </Badge>
  );
}

function ModelTable({ models }: { models: Configuration['models'] }) {
  const configuration = useConfigurationMessages();
  const texts = useModelMessages();
  return (
    <Stack gap="xs">
      <Title order={2} size="h4">
        {configuration.models}
      </Title>
      <DataTable
        label={configuration.models}
        items={models}
        rowKey={({ id }) => id}
        columns={[
          { heading: texts.title, cell: ({ id }) => <Text fw={500}>{id}</Text> },
          {
            heading: configuration.binding,
            cell: ({ alias, engine, file, base_urls, upstream_model, has_api_key }) => (
              <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
                {[alias, engine, file, ...base_urls, upstream_model, has_api_key ? configuration.apiKey : null]
                  .filter((part) => part !== null)
                  .join(' · ')}
              </Text>
            ),
          },
        ]}
      />
    </Stack>
  );
}
