import { Anchor, Button, Group, List, Loader, Tabs, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api, body } from '../api/client.ts';
import { useMayWrite } from '../api/session.ts';
import { ConfirmButton } from '../ui/confirm.tsx';
import { useFormat } from '../ui/format.ts';
import { fill } from '../ui/language.tsx';
import { Page } from '../ui/page.tsx';
import { UnfinishedQueries } from '../ui/states.tsx';
import { DataSources } from './data-sources.tsx';
import { Documents } from './documents.tsx';
import { isFinished, type LiveJobs, useJobEvents } from './job-events.ts';
import { Jobs } from './jobs.tsx';
import { EditKnowledgeBase } from './knowledge-base-dialog.tsx';
import { useKnowledgeBaseMessages } from './messages.ts';
import { SearchTest } from './search.tsx';
import type { KnowledgeBaseTab } from './search-parameters.ts';
import { UploadDocuments } from './upload-panel.tsx';
import { type Uploads, useUploads } from './uploads.ts';
import { useDataSources } from './use-data-sources.ts';

const route = getRouteApi('/shell/knowledge-bases/$kbId');

/** A knowledge base: documents, data sources, jobs, and a search test. */
export function KnowledgeBasePage() {
  const { kbId } = route.useParams();
  // Another knowledge base has other uploads.
  return <KnowledgeBase key={kbId} kbId={kbId} />;
}

function KnowledgeBase({ kbId }: { kbId: string }) {
  const kb = useKnowledgeBaseMessages();
  const format = useFormat();
  const live = useJobEvents(kbId);
  // Kept in the page component, because the tab is unmounted when the user switches tabs.
  const uploads = useUploads(kbId);
  const [isEditing, setEditing] = useState(false);
  const base = useQuery({
    queryKey: ['knowledge-base', kbId],
    queryFn: () => body(api.GET('/v1/knowledge-bases/{kb_id}', { params: { path: { kb_id: kbId } } })),
  });
  if (base.data === undefined)
    return (
      <Page title={kb.title}>
        <UnfinishedQueries queries={[base]} />
      </Page>
    );
  const { name, description, document_count: documents, chunk_count: chunks } = base.data;
  const counts = { name, documents: format.number(documents), chunks: format.number(chunks) };
  return (
    <Page
      title={name}
      intro={description}
      action={
        <KnowledgeBaseActions kbId={kbId} deleteText={fill(kb.deleteText, counts)} onEdit={() => setEditing(true)} />
      }
    >
      <Text size="sm" c="dimmed">
        {kb.documents}: {counts.documents} · {kb.chunks}: {counts.chunks}
      </Text>
      <KnowledgeBaseTabs kbId={kbId} name={name} live={live} uploads={uploads} />
      {isEditing && <EditKnowledgeBase base={base.data} onClose={() => setEditing(false)} />}
    </Page>
  );
}

interface KnowledgeBaseTabsProps {
  kbId: string;
  name: string;
  live: LiveJobs;
  uploads: Uploads;
}

/** Documents, data sources, jobs and the search test, one at a time: `?tab=` names it, and the other parameters filter documents. */
function KnowledgeBaseTabs({ kbId, name, live, uploads }: KnowledgeBaseTabsProps) {
  const kb = useKnowledgeBaseMessages();
  const { tab = 'documents', ...filter } = route.useSearch();
  const mayWrite = useMayWrite();
  const navigate = useNavigate();
  return (
    <Tabs
      value={tab}
      keepMounted={false}
      onChange={(value) => void navigate({ to: '.', search: { tab: value as KnowledgeBaseTab } })}
    >
      <Tabs.List mb="md">
        <Tabs.Tab value="documents">{kb.documents}</Tabs.Tab>
        <Tabs.Tab value="sources">{kb.sources}</Tabs.Tab>
        <Tabs.Tab value="jobs">{kb.jobs}</Tabs.Tab>
        <Tabs.Tab value="search">{kb.search}</Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="documents">
        {mayWrite && <UploadDocuments kbId={kbId} uploads={uploads} live={live} />}
        <RunningJobs live={live} />
        <Documents
          kbId={kbId}
          filter={filter}
          onFilter={(changed) => void navigate({ to: '.', search: changed, replace: true })}
        />
      </Tabs.Panel>
      <Tabs.Panel value="sources">
        <DataSources kbId={kbId} />
      </Tabs.Panel>
      <Tabs.Panel value="jobs">
        <Jobs kbId={kbId} live={live} />
      </Tabs.Panel>
      <Tabs.Panel value="search">
        <SearchTest kbId={kbId} name={name} />
      </Tabs.Panel>
    </Tabs>
  );
}

interface KnowledgeBaseActionsProps {
  kbId: string;
  deleteText: string;
  onEdit(): void;
}

function KnowledgeBaseActions({ kbId, deleteText, onEdit }: KnowledgeBaseActionsProps) {
  const kb = useKnowledgeBaseMessages();
  const mayWrite = useMayWrite();
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const remove = async () => {
    await api.DELETE('/v1/knowledge-bases/{kb_id}', { params: { path: { kb_id: kbId } } });
    await queryClient.invalidateQueries({ queryKey: ['knowledge-bases'] });
    await navigate({ to: '/knowledge-bases' });
  };
  return (
    <Group>
      <Button component={Link} to="/playground" search={{ kb: kbId } as never} variant="default">
        {kb.ask}
      </Button>
      {mayWrite && (
        <>
          <Button variant="default" onClick={onEdit}>
            {kb.edit}
          </Button>
          <ConfirmButton label={kb.delete} title={kb.delete} text={deleteText} action={remove}>
            <DeletedSources kbId={kbId} />
          </ConfirmButton>
        </>
      )}
    </Group>
  );
}

/** Progress of the unfinished jobs, above the documents that they are about to add. */
function RunningJobs({ live }: { live: LiveJobs }) {
  const kb = useKnowledgeBaseMessages();
  const format = useFormat();
  const running = [...live.jobs.values()].filter((job) => !isFinished(job));
  if (running.length === 0) return null;
  const sum = (count: (job: (typeof running)[number]) => number) =>
    format.number(running.reduce((total, job) => total + count(job), 0));
  const done = sum((job) => job.documents_processed + job.documents_failed + job.documents_skipped);
  return (
    <Group gap="sm" mb="md">
      <Loader size="xs" aria-hidden />
      <Text size="sm">{fill(kb.running, { done, total: sum((job) => job.documents_scanned) })}</Text>
      <Anchor component={Link} to="." search={{ tab: 'jobs' } as never} size="sm">
        {kb.showJobs}
      </Anchor>
    </Group>
  );
}

/** The data sources that go with the knowledge base, in the dialog that deletes it. */
function DeletedSources({ kbId }: { kbId: string }) {
  const kb = useKnowledgeBaseMessages();
  const sources = useDataSources(kbId);
  const names = sources.data?.data.map(({ name, type }) => `${name} (${type})`) ?? [];
  if (names.length === 0) return null;
  return (
    <div>
      <Text size="sm" fw={600}>
        {kb.sources}
      </Text>
      <List size="sm">
        {names.map((name, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two data sources can have the same name and type.
          <List.Item key={index}>{name}</List.Item>
        ))}
        {sources.data?.has_more && <List.Item>…</List.Item>}
      </List>
    </div>
  );
}
