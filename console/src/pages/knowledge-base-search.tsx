import {
  Anchor,
  Badge,
  Button,
  Card,
  Checkbox,
  Group,
  NumberInput,
  Select,
  Stack,
  Text,
  TextInput,
} from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api, body } from '../api/client.ts';
import { EmptyState, ErrorState } from '../components/states.tsx';
import { useMessages } from '../messages/index.tsx';

const SEARCH_TYPES = ['hybrid', 'vector', 'keyword'] as const;

/** Tries a search: the chunks that a model would get for a query, with their scores. */
export function SearchTest({ kbId }: { kbId: string }) {
  const { kb } = useMessages();
  const [query, setQuery] = useState('');
  const [searchType, setSearchType] = useState<(typeof SEARCH_TYPES)[number]>('hybrid');
  const [topK, setTopK] = useState<number | string>(5);
  const [rerank, setRerank] = useState(true);
  const search = useMutation({
    mutationFn: () =>
      body(
        api.POST('/v1/knowledge-bases/{kb_id}/retrieve', {
          params: { path: { kb_id: kbId } },
          body: { query, search_type: searchType, rerank, ...(typeof topK === 'number' && { top_k: topK }) },
        }),
      ),
  });
  return (
    <Stack>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          search.mutate();
        }}
      >
        <Group align="flex-end">
          <TextInput
            label={kb.query}
            required
            style={{ flex: 1, minWidth: 220 }}
            value={query}
            onChange={(event) => setQuery(event.currentTarget.value)}
          />
          <Select
            label={kb.searchType}
            w={130}
            allowDeselect={false}
            data={[...SEARCH_TYPES]}
            value={searchType}
            onChange={(value) => value !== null && setSearchType(value as typeof searchType)}
          />
          <NumberInput label={kb.topK} w={90} min={1} max={50} allowDecimal={false} value={topK} onChange={setTopK} />
          <Checkbox
            label={kb.rerank}
            checked={rerank}
            onChange={(event) => setRerank(event.currentTarget.checked)}
            mb={8}
          />
          <Button type="submit" loading={search.isPending}>
            {kb.run}
          </Button>
        </Group>
      </form>
      {search.isError && <ErrorState error={search.error} />}
      {search.isSuccess && search.data.results.length === 0 && <EmptyState text={kb.noHits} />}
      {search.data?.results.map((hit, index) => (
        <Card withBorder key={hit.chunk_id}>
          <Group justify="space-between" mb="xs">
            <Anchor
              component={Link}
              to="/knowledge-bases/$kbId/documents/$documentId"
              params={{ kbId, documentId: hit.document_id } as never}
              search={{ chunk: hit.chunk_id } as never}
            >
              {index + 1}. {hit.document_name}
            </Anchor>
            <Badge variant="light" tt="none">
              {kb.score} {hit.score.toFixed(3)}
            </Badge>
          </Group>
          <Text size="sm" style={{ whiteSpace: 'pre-wrap' }}>
            {hit.text}
          </Text>
        </Card>
      ))}
    </Stack>
  );
}
