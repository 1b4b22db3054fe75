import { Button, Group, List, Loader, Tabs, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { api, body } from '../api/client.ts';
import { useMayWrite } from '../api/session.ts';
import type { Schema } from '../api/types.ts';
import { Evaluations } from '../evaluations/evaluations.tsx';
import { useEvaluationMessages } from '../evaluations/messages.ts';
import { ConfirmButton } from '../ui/confirm.tsx';
import { CopyText } from '../ui/copy-text.tsx';
import { DialogButton } from '../ui/form-dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { fill } from '../ui/language.tsx';
import { Page, UnfinishedPage } from '../ui/page.tsx';
import { RowMenu } from '../ui/row-menu.tsx';
import { Hint, PageLink } from '../ui/text.tsx';
import { ExportKnowledgeBase } from './archive-dialogs.tsx';
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
  const base = useQuery({
    queryKey: ['knowledge-base', kbId],
    queryFn: () => body(api.GET('/v1/knowledge-bases/{kb_id}', { params: { path: { kb_id: kbId } } })),
  });
  if (base.data === undefined) return <UnfinishedPage title={kb.title} queries={[base]} />;
  const { name, description, document_count: documents, chunk_count: chunks } = base.data;
  return (
    <Page
      title={name}
      intro={description}
      parents={<PageLink to="/knowledge-bases">{kb.title}</PageLink>}
      action={<KnowledgeBaseActions base={base.data} />}
    >
      <Hint>
        {kb.documents}: {format.number(documents)} · {kb.chunks}: {format.number(chunks)}
      </Hint>
      <Group gap="xs">
        <Hint>{kb.vectorStoreId}</Hint>
        <CopyText value={kbId.replace(/^kb_/, 'vs_')} />
      </Group>
      <KnowledgeBaseTabs kbId={kbId} live={live} uploads={uploads} />
    </Page>
  );
}

interface KnowledgeBaseTabsProps {
  kbId: string;
  live: LiveJobs;
  uploads: Uploads;
}

/** The tabs of a knowledge base: `?tab=` selects one, the other parameters filter documents. */
function KnowledgeBaseTabs({ kbId, live, uploads }: KnowledgeBaseTabsProps) {
  const kb = useKnowledgeBaseMessages();
  const evaluations = useEvaluationMessages();
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
        <Tabs.Tab value="evaluations">{evaluations.title}</Tabs.Tab>
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
        <SearchTest kbId={kbId} />
      </Tabs.Panel>
      <Tabs.Panel value="evaluations">
        <Evaluations kbId={kbId} />
      </Tabs.Panel>
    </Tabs>
  );
}

function KnowledgeBaseActions({ base }: { base: Schema<'KnowledgeBase'> }) {
  const kb = useKnowledgeBaseMessages();
  const format = useFormat();
  const mayWrite = useMayWrite();
  const navigate = useNavigate();
  const { id: kbId, name, document_count: documents, chunk_count: chunks } = base;
  const counts = { name, documents: format.number(documents), chunks: format.number(chunks) };
  const remove = async () => {
    await api.DELETE('/v1/knowledge-bases/{kb_id}', { params: { path: { kb_id: kbId } } });
    await navigate({ to: '/knowledge-bases' });
  };
  return (
    <Group gap="xs" wrap="nowrap">
      <Button component={Link} to="/playground" search={{ kb: kbId } as never} variant="default">
        {kb.ask}
      </Button>
      {mayWrite && (
        <>
          <DialogButton label={kb.edit} variant="default">
            {(close) => <EditKnowledgeBase base={base} onClose={close} />}
          </DialogButton>
          <RowMenu>
            <DialogButton label={kb.export}>
              {(close) => <ExportKnowledgeBase base={base} onClose={close} />}
            </DialogButton>
            <ConfirmButton
              label={kb.delete}
              title={kb.delete}
              text={fill(kb.deleteText, counts)}
              action={remove}
              refreshes={['knowledge-bases']}
            >
              <DeletedSources kbId={kbId} />
            </ConfirmButton>
          </RowMenu>
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
      <PageLink from="/knowledge-bases/$kbId" to="." search={{ tab: 'jobs' }} size="sm">
        {kb.showJobs}
      </PageLink>
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
