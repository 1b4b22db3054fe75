import { Alert, Code, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { api, body } from '../api/client.ts';
import type { Schema } from '../api/types.ts';
import { useModelMessages } from '../models/messages.ts';
import { DataTable } from '../ui/data-table.tsx';
import { fill } from '../ui/language.tsx';
import { Page, Section } from '../ui/page.tsx';
import { AddressSearch } from '../ui/search-field.tsx';
import { QueryData } from '../ui/states.tsx';
import { Hint, ItemName, Tag } from '../ui/text.tsx';
import { useConfigurationMessages } from './messages.ts';

type Configuration = Schema<'Configuration'>;
type Setting = Schema<'ConfiguredSetting'>;

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
  const query = useQuery({ queryKey: ['configuration'], queryFn: () => body(api.GET('/v1/admin/configuration')) });
  return (
    <Page
      title={configuration.title}
      intro={configuration.intro}
      action={<AddressSearch label={configuration.setting} />}
    >
      <QueryData query={query}>{(data) => <Settings data={data} search={q} />}</QueryData>
    </Page>
  );
}

function Settings({ data, search }: { data: Configuration; search: string }) {
  const configuration = useConfigurationMessages();
  const matches = data.settings.filter(({ variable, file_key, description }) =>
    `${variable} ${file_key} ${description}`.toLowerCase().includes(search.toLowerCase()),
  );
  const limits = matches.filter(({ variable }) => LIMITS.has(variable));
  const others = matches.filter(({ variable }) => !LIMITS.has(variable));
  const file = data.file ?? '';
  return (
    <Stack gap="lg">
      <Hint className="breakable">
        {data.file === null ? configuration.noFile : fill(configuration.file, { path: file })}
      </Hint>
      {data.unknown_variables.length > 0 && (
        <Alert color="yellow">{fill(configuration.unknown, { names: data.unknown_variables.join(', ') })}</Alert>
      )}
      {matches.length === 0 && <Text c="dimmed">{configuration.noneFound}</Text>}
      {limits.length > 0 && <SettingTable title={configuration.limits} settings={limits} file={file} />}
      {others.length > 0 && <SettingTable title={configuration.others} settings={others} file={file} />}
      {data.models.length > 0 && <ModelTable models={data.models} />}
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
    <Section title={title}>
      <DataTable
        label={title}
        items={settings}
        rowKey={({ variable }) => variable}
        columns={[
          {
            heading: configuration.setting,
            cell: ({ variable, file_key, description }) => (
              <ItemName name={file_key ?? variable} note={description.replaceAll('`', '')} />
            ),
          },
          { heading: configuration.value, cell: (setting) => <SettingValue setting={setting} /> },
          { heading: configuration.origin, cell: (setting) => <Origin setting={setting} file={file} /> },
        ]}
      />
    </Section>
  );
}

function SettingValue({ setting: { value, default: standard, secret, origin } }: { setting: Setting }) {
  const configuration = useConfigurationMessages();
  const show = (one: Setting['value']) =>
    one === null ? configuration.unset : Array.isArray(one) ? one.join(', ') : String(one);
  if (secret && value !== null) return <Text size="sm">{configuration.hidden}</Text>;
  return (
    <div>
      {value === null ? <Hint>{configuration.unset}</Hint> : <Code className="plain-text">{show(value)}</Code>}
      {origin !== 'default' && <Hint size="xs">{fill(configuration.defaultValue, { value: show(standard) })}</Hint>}
    </div>
  );
}

/** The place where an operator changes the value. */
function Origin({ setting: { origin, line, variable }, file }: { setting: Setting; file: string }) {
  const configuration = useConfigurationMessages();
  const name = file.split('/').at(-1) ?? file;
  return (
    <Tag variant={origin === 'default' ? 'default' : 'light'}>
      {fill(configuration.origins[origin], { file: name, line: line ?? '–', variable })}
    </Tag>
  );
}

function ModelTable({ models }: { models: Configuration['models'] }) {
  const configuration = useConfigurationMessages();
  const texts = useModelMessages();
  return (
    <Section title={configuration.models}>
      <DataTable
        label={configuration.models}
        items={models}
        rowKey={({ id }) => id}
        columns={[
          { heading: texts.title, cell: ({ id }) => <Text fw={500}>{id}</Text> },
          {
            heading: configuration.binding,
            cell: ({ alias, engine, file, base_urls, protocol, upstream_model, has_api_key }) => (
              <Text size="sm" className="breakable">
                {[
                  alias,
                  engine,
                  file,
                  ...base_urls,
                  protocol,
                  upstream_model,
                  has_api_key ? configuration.apiKey : null,
                ]
                  .filter((part) => part !== null)
                  .join(' · ')}
              </Text>
            ),
          },
        ]}
      />
    </Section>
  );
}
