import {
  Alert,
  Anchor,
  Button,
  type ButtonProps,
  Code,
  CopyButton,
  Group,
  Stack,
  Tabs,
  Text,
  Title,
} from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { createLink } from '@tanstack/react-router';
import { Copy, Play } from 'lucide-react';
import { type ComponentProps, Fragment, type ReactNode } from 'react';
import { api, body } from '../api/client.ts';
import type { Schema } from '../api/types.ts';
import { CopyText } from '../ui/copy-text.tsx';
import { toCurl } from '../ui/curl.ts';
import { useFormat } from '../ui/format.ts';
import { Icon } from '../ui/icon.tsx';
import { fill } from '../ui/language.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { QueryData } from '../ui/states.tsx';
import { Hint } from '../ui/text.tsx';
import { sampleRequest } from './curl-template.ts';
import { useRequestMessages } from './messages.ts';
import { RequestStatus } from './request-columns.tsx';
import { AddToEvaluationButton, AnswerView, type Contents, PromptView, promptBases } from './request-contents.tsx';
import { type Bar, placeBar, toBars } from './timeline.ts';
import { useClock } from './use-clock.ts';

type Detail = Schema<'LoggedRequestDetail'>;

const ButtonLink = createLink((props: ButtonProps & ComponentProps<'a'>) => <Button component="a" {...props} />);

/** A request with its contents, where they were recorded. */
export function RequestView({ request }: { request: Detail }) {
  const { id, has_contents: hasContents } = request;
  const contents = useQuery({
    queryKey: ['request-contents', id],
    queryFn: () => body(api.GET('/v1/requests/{request_id}/contents', { params: { path: { request_id: id } } })),
    enabled: hasContents,
  });
  if (!hasContents) return <DetailView request={request} contents={null} />;
  return <QueryData query={contents}>{(data) => <ContentTabs request={request} contents={data} />}</QueryData>;
}

function ContentTabs({ request, contents }: { request: Detail; contents: Contents }) {
  const messages = useRequestMessages();
  return (
    <Tabs defaultValue="details">
      <Tabs.List mb="md">
        <Tabs.Tab value="details">{messages.details}</Tabs.Tab>
        <Tabs.Tab value="prompt">{messages.prompt}</Tabs.Tab>
        <Tabs.Tab value="answer">{messages.answer}</Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="details">
        <DetailView request={request} contents={contents} />
      </Tabs.Panel>
      <Tabs.Panel value="prompt">
        <PromptView contents={contents} />
      </Tabs.Panel>
      <Tabs.Panel value="answer">
        <AnswerView contents={contents} />
      </Tabs.Panel>
    </Tabs>
  );
}

interface DetailProps {
  request: Detail;
  /** Null if the contents are not recorded. */
  contents: Contents | null;
}

function DetailView({ request, contents }: DetailProps) {
  const messages = useRequestMessages();
  const { id, error, route, model } = request;
  const recorded = contents?.prompt;
  const isRecorded = typeof recorded === 'object' && recorded !== null;
  const sample = isRecorded ? recorded : sampleRequest(route, model);
  return (
    <Stack gap="lg">
      <Group justify="space-between" wrap="nowrap" gap="xs">
        <RequestId id={id} />
        <PlaygroundLink request={request} contents={contents} />
      </Group>
      <Facts request={request} />
      {error !== null && (
        <Alert color={request.status < 500 ? 'yellow' : 'red'} title={<Code>{error.code}</Code>}>
          {error.message}
        </Alert>
      )}
      <Timeline request={request} />
      {contents !== null && (
        <Group>
          <AddToEvaluationButton contents={contents} />
        </Group>
      )}
      {sample !== null && (
        <Stack gap="xs" component="section">
          <Title order={2} size="h4">
            {messages.asCurl}
          </Title>
          <Hint>{isRecorded ? messages.recordedCurlNote : messages.curlNote}</Hint>
          <CopyText value={toCurl(route, sample)} />
        </Stack>
      )}
    </Stack>
  );
}

/** Link that opens the playground with the model and, if recorded, the messages of the request. */
function PlaygroundLink({ request: { id, model }, contents }: DetailProps) {
  const messages = useRequestMessages();
  if (model === null) return null;
  const kb = contents === null ? '' : promptBases(contents).join(',');
  return (
    <ButtonLink
      to="/playground"
      search={{ model, ...(contents !== null && { request: id }), ...(kb !== '' && { kb }) }}
      variant="default"
      style={{ flex: 'none' }}
      leftSection={<Icon icon={Play} />}
      title={messages.openInPlayground}
    >
      {messages.playground}
    </ButtonLink>
  );
}

function RequestId({ id }: { id: string }) {
  const common = useCommonMessages();
  const messages = useRequestMessages();
  return (
    <CopyButton value={id}>
      {({ copied, copy }) => (
        <Anchor
          component="button"
          type="button"
          c="dimmed"
          onClick={copy}
          title={messages.copyId}
          className="request-id"
        >
          <code>{copied ? common.copied : id}</code> <Icon icon={Copy} />
        </Anchor>
      )}
    </CopyButton>
  );
}

function Facts({ request }: { request: Detail }) {
  const messages = useRequestMessages();
  const format = useFormat();
  const clock = useClock();
  const { status, prompt_tokens: prompt, cached_tokens: cached, completion_tokens: completion } = request;
  const optional = (ms: number | null) => (ms === null ? null : format.duration(ms));
  const counts = {
    prompt: format.number(prompt),
    cached: format.number(cached),
    completion: format.number(completion),
  };
  const text = status < 400 ? messages.completed : status === 499 ? messages.disconnected : '';
  const rows: [label: string, value: ReactNode][] = [
    [messages.status, <RequestStatus key="status" status={status} text={text} />],
    [messages.time, clock.exact(request.created_at)],
    [messages.key, request.key_name ?? request.key_id],
    [messages.tokens, request.model_calls === 0 ? null : fill(messages.tokenCounts, counts)],
    [messages.calls, request.model_calls > 1 ? format.number(request.model_calls) : null],
    [messages.cost, request.cost_micros === 0 ? null : format.money(request.cost_micros)],
    [messages.duration, format.duration(request.duration_ms)],
    [messages.firstToken, optional(request.first_token_ms)],
    [messages.cache, request.cache === null ? null : messages.caches[request.cache]],
    [messages.guardrail, request.guardrail === null ? messages.noPolicy : messages.guardrails[request.guardrail]],
    [messages.trace, request.trace_id === null ? null : <Code key="trace">{request.trace_id}</Code>],
  ];
  return (
    <dl className="facts">
      {rows.map(
        ([label, value]) =>
          value !== null && (
            <Fragment key={label}>
              <dt>{label}</dt>
              <dd>{value}</dd>
            </Fragment>
          ),
      )}
    </dl>
  );
}

/** Tokens of `console.css` by kind of step. */
const BAR_COLORS: Readonly<Record<Bar['type'], string>> = {
  screen: 'var(--warn)',
  search: 'var(--chart-2)',
  tool: 'var(--chart-2)',
  embedding: 'var(--chart-3)',
  rerank: 'var(--chart-3)',
  moderation: 'var(--warn)',
  chat: 'var(--accent)',
  completion: 'var(--accent)',
  whole: 'var(--accent)',
  queue: 'var(--faint)',
  prompt: 'var(--chart-2)',
  decode: 'var(--accent)',
};

function Timeline({ request }: { request: Detail }) {
  const messages = useRequestMessages();
  const format = useFormat();
  const bars = toBars(request);
  if (bars.length === 0) return null;
  return (
    <Stack gap="xs" component="section">
      <Title order={2} size="h4">
        {messages.timeline}
      </Title>
      <ol className="timeline">
        {bars.map((bar, index) => {
          const { left, width } = placeBar(bar, request.duration_ms);
          const label = fill(messages.steps[bar.type], { name: bar.name, turn: bar.turn });
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: the steps of a request do not change.
            <li key={index}>
              <Text span size="sm" truncate title={label}>
                {label}
              </Text>
              <span className="timeline-track">
                <span style={{ left: `${100 * left}%`, width: `${100 * width}%`, background: BAR_COLORS[bar.type] }} />
              </span>
              <Text span size="sm" c="dimmed" ta="end">
                {format.duration(bar.duration)}
              </Text>
            </li>
          );
        })}
      </ol>
    </Stack>
  );
}
