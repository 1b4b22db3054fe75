import { Group, Table, Title } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { api, body } from '../api/client.ts';
import { ConfirmButton } from '../components/confirm.tsx';
import { useFormat } from '../components/format.ts';
import { Page } from '../components/page.tsx';
import { Stat } from '../components/stat.tsx';
import { ErrorState, LoadingState } from '../components/states.tsx';
import { useMessages } from '../messages/index.tsx';

/** Statistics of the prefix caches. */
export function CachePage() {
  const { cache, models } = useMessages();
  const format = useFormat();
  const queryClient = useQueryClient();
  const queryKey = ['cache'];
  const stats = useQuery({ queryKey, queryFn: () => body(api.GET('/v1/admin/cache/stats')), refetchInterval: 5_000 });
  if (stats.isPending) return <LoadingState />;
  if (stats.isError) return <ErrorState error={stats.error} onRetry={() => void stats.refetch()} />;
  const { hit_rate, cached_tokens_total, memory_usage_mb, entries } = stats.data;
  const memory = (megabytes: number | null) => (megabytes === null ? '–' : format.bytes(megabytes * 1e6));
  return (
    <Page
      title={cache.title}
      intro={cache.intro}
      action={
        <ConfirmButton
          label={cache.reset}
          title={cache.reset}
          text={cache.intro}
          action={async () => {
            await api.POST('/v1/admin/cache/reset');
            await queryClient.invalidateQueries({ queryKey });
          }}
        />
      }
    >
      <Group>
        <Stat label={cache.hitRate} value={format.percent(hit_rate)} />
        <Stat label={cache.cachedTokens} value={format.number(cached_tokens_total)} />
        <Stat label={cache.memory} value={memory(memory_usage_mb)} />
        <Stat label={cache.entries} value={format.number(entries)} />
      </Group>
      <Title order={2} size="h4">
        {models.title}
      </Title>
      <Table.ScrollContainer minWidth={640}>
        <Table aria-label={models.title}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{models.backend}</Table.Th>
              {[cache.hitRate, cache.hits, cache.misses, cache.cachedTokens, cache.entries, cache.evictions].map(
                (heading) => (
                  <Table.Th key={heading} ta="end">
                    {heading}
                  </Table.Th>
                ),
              )}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {stats.data.models.map((model) => (
              <Table.Tr key={model.model}>
                <Table.Td>{model.model}</Table.Td>
                <Table.Td ta="end">{format.percent(model.hit_rate)}</Table.Td>
                {[model.hit_count, model.miss_count, model.cached_tokens_total, model.entries, model.evictions].map(
                  (value, index) => (
                    // biome-ignore lint/suspicious/noArrayIndexKey: the columns are fixed.
                    <Table.Td key={index} ta="end">
                      {format.number(value)}
                    </Table.Td>
                  ),
                )}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Page>
  );
}
