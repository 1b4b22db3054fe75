import { Alert, Anchor, Button, Code, CopyButton, Drawer, Group, Stack, Text, Title } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { createLink } from '@tanstack/react-router';
import { Copy, Play } from 'lucide-react';
import { Fragment, type ReactNode } from 'react';
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
import { HttpStatus, routeName } from './request-columns.tsx';
import { type Bar, placeBar, toBars } from './timeline.ts';
import { useClock } from './use-clock.ts';

type Detail = Schema<'LoggedRequestDetail'>;

/** Screens with room for the sheet, as in `console.css`. */
const WIDE = '(min-width: 75em)';

const ButtonLink = createLink(Button<'a'>);

/** Shows a request beside its children, or above them on narrow screens. `id`: null: none is open. */
export function RequestSheet({ id, onClose, children }: { id: string | null; onClose(): void; children: ReactNode }) {
  const messages = useRequestMessages();
  const hasRoom = useMediaQuery(WIDE, false, { getInitialValueInEffect: false });
  const query = useQuery({
    queryKey: ['request', id],
    queryFn: () => body(api.GET('/v1/requests/{request_id}', { params: { path: { request_id: id ?? '' } } })),
    enabled: id !== null,
  });
  const { data } = query;
  const title = data === undefined ? messages.title : [routeName(data.route), data.model].filter(Boolean).join(' · ');
  return (
    <>
      <div className={id === null ? undefined : 'beside-panel'}>{children}</div>
      <Drawer
        opened={id !== null}
        onClose={onClose}
        position="right"
        size="var(--panel-width)"
        withOverlay={!hasRoom}
        lockScroll={!hasRoom}
        trapFocus={!hasRoom}
        shadow="none"
        title={title}
        classNames={{ content: 'sheet' }}
      >
        <QueryData query={query}>{(request) => <RequestView request={request} />}</QueryData>
      </Drawer>
    </>
  );
}

function RequestView({ request }: { request: Detail }) {
  const messages = useRequestMessages();
  const { id, model, error, route } = request;
  const sample = sampleRequest(route, model);
  return (
    <Stack gap="lg">
      <Group justify="space-between" wrap="nowrap" gap="xs">
        <RequestId id={id} />
        {model !== null && (
          <ButtonLink
            to="/playground"
            search={{ model }}
            variant="default"
            style={{ flex: 'none' }}
            leftSection={<Icon icon={Play} />}
            title={messages.openInPlayground}
          >
            {messages.playground}
          </ButtonLink>
        )}
      </Group>
      <Facts request={request} />
      {error !== null && (
        <Alert color={request.status < 500 ? 'yellow' : 'red'} title={<Code>{error.code}</Code>}>
          {error.message}
        </Alert>
      )}
      <Timeline request={request} />
      {sample !== null && (
        <Stack gap="xs" component="section">
          <Title order={2} size="h4">
            {messages.asCurl}
          </Title>
          <Hint>{messages.curlNote}</Hint>
          <CopyText value={toCurl(route, sample)} />
        </Stack>
      )}
    </Stack>
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
    [messages.status, <HttpStatus key="status" status={status} text={text} />],
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
