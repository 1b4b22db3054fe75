import { Alert, Button, Card, Group, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { CircleCheck } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { useMayWrite, useSession } from '../api/session.ts';
import type { CreatedKey } from '../keys/api-key.tsx';
import { useKeyMessages } from '../keys/messages.ts';
import { useKeyPolicy } from '../keys/use-key-policy.ts';
import { LANGUAGES, type SampleLanguage, writeSample } from '../playground/samples.ts';
import { CopyText } from '../ui/copy-text.tsx';
import { KEY_VARIABLE } from '../ui/curl.ts';
import { DialogButton } from '../ui/form-dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { Icon } from '../ui/icon.tsx';
import { fill } from '../ui/language.tsx';
import { lazyPart } from '../ui/lazy-part.tsx';
import { Page, Section, UnfinishedPage } from '../ui/page.tsx';
import { Segments } from '../ui/segments.tsx';
import { Hint } from '../ui/text.tsx';
import { useStartMessages } from './messages.ts';
import { modelFilesQuery, StartModel } from './start-model.tsx';
import { useStartProgress } from './use-progress.ts';

const CreateKeyDialog = lazyPart(() => import('../keys/key-form.tsx'), 'CreateKeyDialog');
const CreateOwnKeyDialog = lazyPart(() => import('../keys/own-keys.tsx'), 'CreateOwnKeyDialog');

type Progress = ReturnType<typeof useStartProgress>;

/** Three steps to a first answer with their progress, and sample code with the user's own ids. */
export function StartPage() {
  const start = useStartMessages();
  const { scopes } = useSession();
  const [created, setCreated] = useState<CreatedKey | null>(null);
  const isOperator = scopes.includes('admin');
  const files = useQuery({ ...modelFilesQuery, enabled: isOperator });
  const progress = useStartProgress(created);
  // The model offer appears above the steps, so wait for it to avoid a layout shift.
  if (files.isLoading) return <UnfinishedPage title={start.title} queries={[files]} />;
  return (
    <Page title={start.title} intro={start.intro}>
      {isOperator && <StartModel />}
      <SimpleGrid cols={{ base: 1, md: 3 }}>
        <DocumentsStep progress={progress} />
        <QuestionStep progress={progress} />
        <CodeStep progress={progress} onCreated={setCreated} />
      </SimpleGrid>
      <Samples progress={progress} created={created} />
    </Page>
  );
}

interface StepProps {
  number: number;
  title: string;
  text: string;
  isDone: boolean;
  /** Next action, or null. */
  children: ReactNode;
}

function Step({ number, title, text, isDone, children }: StepProps) {
  const start = useStartMessages();
  return (
    <Card withBorder padding="lg">
      <Stack h="100%" justify="space-between">
        <div>
          {isDone ? (
            <Group gap={6} c="var(--ok)">
              <Icon icon={CircleCheck} />
              <Text size="sm" fw={600}>
                {start.done}
              </Text>
            </Group>
          ) : (
            <Text c="dimmed" fw={700} size="sm">
              {number}
            </Text>
          )}
          <Title order={2} size="h4" mt={4}>
            {title}
          </Title>
          <Text mt="xs">{text}</Text>
        </div>
        {children}
      </Stack>
    </Card>
  );
}

function DocumentsStep({ progress: { base, hasDocuments } }: { progress: Progress }) {
  const start = useStartMessages();
  const format = useFormat();
  const count = { name: base?.name ?? '', documents: format.number(base?.document_count ?? 0) };
  return (
    <Step
      number={1}
      title={start.step1}
      text={hasDocuments ? fill(start.step1Done, count) : start.step1Text}
      isDone={hasDocuments}
    >
      <Button
        component={Link}
        to={base === null ? '/knowledge-bases' : `/knowledge-bases/${base.id}`}
        variant={hasDocuments ? 'default' : 'filled'}
      >
        {base === null ? start.openKnowledgeBases : fill(start.openBase, { name: base.name })}
      </Button>
    </Step>
  );
}

function QuestionStep({ progress: { base, model, hasDocuments, hasAnswer } }: { progress: Progress }) {
  const start = useStartMessages();
  return (
    <Step number={2} title={start.step2} text={hasAnswer ? start.step2Done : start.step2Text} isDone={hasAnswer}>
      <Button
        component={Link}
        to="/playground"
        search={{ model, ...(base !== null && { kb: base.id }) } as never}
        variant={hasDocuments && !hasAnswer ? 'filled' : 'default'}
      >
        {start.openPlayground}
      </Button>
    </Step>
  );
}

function CodeStep({
  progress: { hasAnswer, usesKey },
  onCreated,
}: {
  progress: Progress;
  onCreated(key: CreatedKey): void;
}) {
  const start = useStartMessages();
  const { scopes } = useSession();
  const mayWrite = useMayWrite();
  const allowsOwnKeys = useKeyPolicy().data?.enabled === true;
  const manages = scopes.includes('keys');
  const mayCreate = manages || (mayWrite && allowsOwnKeys);
  const text = mayCreate ? start.step3Text : start.step3AskText;
  return (
    <Step number={3} title={start.step3} text={usesKey ? start.step3Done : text} isDone={usesKey}>
      {mayCreate && (
        <DialogButton label={start.createKey} variant={hasAnswer && !usesKey ? 'filled' : 'default'}>
          {(close) => {
            const Dialog = manages ? CreateKeyDialog : CreateOwnKeyDialog;
            return <Dialog onClose={close} onCreated={onCreated} />;
          }}
        </DialogButton>
      )}
    </Step>
  );
}

/** First request as code. It contains the secret of a key only directly after the key was created. */
function Samples({ progress: { base, model }, created }: { progress: Progress; created: CreatedKey | null }) {
  const start = useStartMessages();
  const keys = useKeyMessages();
  const [language, setLanguage] = useState<SampleLanguage>('curl');
  const content = base === null ? start.question : start.baseQuestion;
  const request = {
    path: '/v1/chat/completions' as const,
    body: {
      model,
      messages: [{ role: 'user', content }],
      ...(base !== null && { knowledge_bases: [base.id] }),
      stream: true,
    },
  };
  return (
    <Section title={start.code}>
      {created === null ? (
        <Hint>{fill(start.keyHint, { variable: KEY_VARIABLE })}</Hint>
      ) : (
        <Alert color="orange" title={keys.created}>
          <Stack gap="xs">
            {keys.createdText}
            <CopyText value={created.key} />
          </Stack>
        </Alert>
      )}
      <Segments label={start.language} values={LANGUAGES} value={language} onChange={setLanguage} />
      <CopyText value={writeSample(language, request, { origin: location.origin, key: created?.key })} />
    </Section>
  );
}
