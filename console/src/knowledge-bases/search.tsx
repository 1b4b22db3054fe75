import { Alert, Button, Collapse, Group, Stack } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, body } from '../api/client.ts';
import { useKnowledgeBaseOptions } from '../api/use-knowledge-base-options.ts';
import { MIN_SCORE, QUERY, SEARCH_TYPES, TOP_K } from '../api/values.ts';
import { PassagePanel } from '../passages/passage-panel.tsx';
import { CopyText } from '../ui/copy-text.tsx';
import { toCurl } from '../ui/curl.ts';
import { CheckboxField, ChoiceField, TextAreaField } from '../ui/fields.tsx';
import { useFormat } from '../ui/format.ts';
import { fill } from '../ui/language.tsx';
import { MultiSelect } from '../ui/list-inputs.tsx';
import { searchTerms } from '../ui/marked-text.tsx';
import { NumberInput } from '../ui/number-input.tsx';
import { EmptyState, MutationError } from '../ui/states.tsx';
import { Hint } from '../ui/text.tsx';
import { type FormMutation, ValidatedForm } from '../ui/validated-form.tsx';
import { FilterBuilder } from './filter-builder.tsx';
import { type FilterGroup, findDuplicate, toFilters } from './filters.ts';
import { type Hit, HitCard } from './hit.tsx';
import { useRetrievalMessages } from './messages.ts';

type SearchType = (typeof SEARCH_TYPES)[number];
/** Fields that every chunk has. */
const CHUNK_KEYS = ['page', 'start_index', 'end_index'];
const MAX_BASES = 5;

interface Settings {
  query: string;
  searchType: Exclude<SearchType, 'semantic'>;
  topK: number | string;
  minScore: number | string;
  rerank: boolean;
  groups: readonly FilterGroup[];
  bases: readonly string[];
}

/** The body of the request. `include_scores` asks for the components of the scores. */
function toRequest({ query, searchType, topK, minScore, rerank, groups }: Settings) {
  const filters = toFilters(groups);
  return {
    query,
    search_type: searchType,
    top_k: Number(topK) || 10,
    min_score: Number(minScore) || 0,
    rerank,
    include_scores: true,
    ...(filters !== undefined && { filters }),
  };
}

/** Searches every knowledge base and merges the hits: a score means the same in all of them. */
async function searchBases(settings: Settings) {
  const request = toRequest(settings);
  const start = performance.now();
  const results = await Promise.all(
    settings.bases.map(async (kbId): Promise<Hit[]> => {
      const params = { path: { kb_id: kbId } };
      const retrieved = await body(api.POST('/v1/knowledge-bases/{kb_id}/retrieve', { params, body: request }));
      return retrieved.results.map((hit) => ({ ...hit, kbId }));
    }),
  );
  const hits = results
    .flat()
    .sort((a, b) => b.score - a.score)
    .slice(0, request.top_k);
  return { hits, milliseconds: Math.round(performance.now() - start), terms: searchTerms(request.query) };
}

/** Tries a search: the chunks that a model would get for a query, with their scores. */
export function SearchTest({ kbId }: { kbId: string }) {
  const retrieval = useRetrievalMessages();
  const format = useFormat();
  const [settings, setSettings] = useState<Settings>({
    query: '',
    searchType: 'hybrid',
    topK: 5,
    minScore: 0,
    rerank: false,
    groups: [],
    bases: [kbId],
  });
  const search = useMutation({ mutationFn: () => searchBases(settings) });
  const { hits, milliseconds, terms } = search.data ?? { hits: null, milliseconds: 0, terms: [] };
  return (
    <PassagePanel>
      <Stack>
        <SearchForm
          kbId={kbId}
          settings={settings}
          onChange={(changes) => setSettings((before) => ({ ...before, ...changes }))}
          search={search}
        />
        <MutationError mutation={search} />
        {hits !== null && (
          <Hint role="status">
            {fill(retrieval.found, { count: format.number(hits.length), time: format.number(milliseconds) })}
          </Hint>
        )}
        {hits?.length === 0 && <EmptyState text={retrieval.noHits} />}
        {hits !== null && hits.length > 0 && (
          <Stack component="ol" p={0} m={0} aria-label={retrieval.results} style={{ listStyle: 'none' }}>
            {hits.map((hit, index) => (
              <HitCard key={hit.chunk_id} hit={hit} rank={index + 1} terms={terms} />
            ))}
          </Stack>
        )}
      </Stack>
    </PassagePanel>
  );
}

interface SearchFormProps {
  kbId: string;
  settings: Settings;
  onChange(changes: Partial<Settings>): void;
  search: FormMutation;
}

function SearchForm({ kbId, settings, onChange, search }: SearchFormProps) {
  const retrieval = useRetrievalMessages();
  const [open, setOpen] = useState<'filters' | 'curl' | null>(null);
  const keys = useMetadataKeys(kbId);
  const hasDuplicate = findDuplicate(settings.groups) !== undefined;
  const toggle = (part: 'filters' | 'curl') => () => setOpen(open === part ? null : part);
  return (
    <ValidatedForm mutation={search}>
      <Stack gap="sm">
        <TextAreaField
          param="query"
          label={retrieval.query}
          required
          autosize
          minRows={1}
          maxRows={6}
          {...QUERY}
          value={settings.query}
          onChange={(query) => onChange({ query })}
        />
        <SearchOptions settings={settings} onChange={onChange} />
        <Group gap="xs">
          <Button type="submit" loading={search.isPending} disabled={hasDuplicate || settings.bases.length === 0}>
            {retrieval.run}
          </Button>
          <Button variant="default" aria-expanded={open === 'filters'} onClick={toggle('filters')}>
            {retrieval.filters}
          </Button>
          <Button variant="default" aria-expanded={open === 'curl'} onClick={toggle('curl')}>
            {retrieval.curl}
          </Button>
        </Group>
        <Collapse expanded={open === 'filters'}>
          <FilterBuilder groups={settings.groups} onChange={(groups) => onChange({ groups })} keys={keys} />
        </Collapse>
        {open === 'curl' && (
          <Stack gap="xs">
            <Alert color="gray">{retrieval.curlHint}</Alert>
            {settings.bases.map((base) => (
              <CopyText key={base} value={toCurl(`/v1/knowledge-bases/${base}/retrieve`, toRequest(settings))} />
            ))}
          </Stack>
        )}
      </Stack>
    </ValidatedForm>
  );
}

type SearchOptionsProps = Pick<SearchFormProps, 'settings' | 'onChange'>;

/** The knowledge bases to search: the newest ones that match the typed text, and the selected ones. */
function BasesField({ settings, onChange }: SearchOptionsProps) {
  const retrieval = useRetrievalMessages();
  const bases = useKnowledgeBaseOptions(settings.bases);
  return (
    <MultiSelect
      label={retrieval.bases}
      style={{ flex: '1 1 260px' }}
      data={bases.options}
      // The server has searched already.
      filter={({ options }) => options}
      value={[...settings.bases]}
      onChange={(selected) => onChange({ bases: selected })}
      searchable
      searchValue={bases.search}
      onSearchChange={bases.setSearch}
      maxValues={MAX_BASES}
    />
  );
}

function SearchOptions({ settings, onChange }: SearchOptionsProps) {
  const retrieval = useRetrievalMessages();
  return (
    <Group align="flex-end" gap="sm">
      <BasesField settings={settings} onChange={onChange} />
      <ChoiceField
        label={retrieval.searchType}
        w={140}
        // "semantic" is another name of "vector".
        values={SEARCH_TYPES.filter((type) => type !== 'semantic')}
        labels={retrieval}
        value={settings.searchType}
        onChange={(searchType) => onChange({ searchType })}
      />
      <NumberInput
        label={retrieval.topK}
        w={90}
        {...TOP_K}
        allowDecimal={false}
        value={settings.topK}
        onChange={(topK) => onChange({ topK })}
      />
      <NumberInput
        label={retrieval.minScore}
        w={110}
        {...MIN_SCORE}
        step={0.05}
        value={settings.minScore}
        onChange={(minScore) => onChange({ minScore })}
      />
      <CheckboxField
        label={retrieval.rerank}
        checked={settings.rerank}
        onChange={(rerank) => onChange({ rerank })}
        mb={8}
      />
    </Group>
  );
}

/** Metadata keys of the newest documents: suggestions for filters. */
function useMetadataKeys(kbId: string): string[] {
  const { data } = useQuery({
    queryKey: ['metadata-keys', kbId],
    queryFn: () => {
      const params = { path: { kb_id: kbId }, query: { limit: 100, order: 'desc' as const } };
      return body(api.GET('/v1/knowledge-bases/{kb_id}/documents', { params }));
    },
  });
  const keys = (data?.data ?? []).flatMap(({ metadata }) => Object.keys(metadata));
  return [...new Set([...keys, ...CHUNK_KEYS])].sort();
}
