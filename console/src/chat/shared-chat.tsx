import { Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { Link2Off } from 'lucide-react';
import { useMemo, useState } from 'react';
import '../answers/answers.css';
import { type AnswerPart, parseCitations } from '../answers/answer-events.ts';
import { AnswerText } from '../answers/answer-text.tsx';
import { ApiFailure, api, body } from '../api/client.ts';
import type { Schema } from '../api/types.ts';
import { OpenPassage } from '../passages/open-passage.ts';
import type { Passage } from '../passages/passage.ts';
import { useFormat } from '../ui/format.ts';
import { fill } from '../ui/language.tsx';
import { Page, useTitle } from '../ui/page.tsx';
import { nextPage } from '../ui/resource-table.tsx';
import { EmptyState, QueryData } from '../ui/states.tsx';
import { Hint } from '../ui/text.tsx';
import './chat.css';
import { useChatMessages } from './messages.ts';
import { Sources } from './sources-panel.tsx';

const route = getRouteApi('/shell/chat/shared/$shareId');
const PAGE_MESSAGES = 100;

type SharedMessage = Schema<'SharedChatMessage'>;
type TextPart = Extract<AnswerPart, { kind: 'text' }>;

/** Read-only page of a shared chat, with the sources that the reader may access. */
export function SharedChatPage() {
  const { shareId } = route.useParams();
  const messages = useChatMessages();
  const query = useQuery({ queryKey: ['shared-chat', shareId], queryFn: () => readShared(shareId) });
  useTitle(query.data?.chat.title || messages.sharedChat);
  if (query.error instanceof ApiFailure && query.error.status === 404) {
    return (
      <Page title={messages.sharedChat}>
        <EmptyState icon={Link2Off} text={messages.linkEnded} />
      </Page>
    );
  }
  return <QueryData query={query}>{(shared) => <SharedThread {...shared} />}</QueryData>;
}

async function readShared(shareId: string) {
  const path = { share_id: shareId };
  const chat = await body(api.GET('/v1/shared-chats/{share_id}', { params: { path } }));
  const list: SharedMessage[] = [];
  for (let after: string | undefined; ; ) {
    const query = { limit: PAGE_MESSAGES, ...(after !== undefined && { after }) };
    const page = await body(api.GET('/v1/shared-chats/{share_id}/messages', { params: { path, query } }));
    list.push(...page.data);
    after = nextPage(page);
    if (after === undefined) return { chat, list };
  }
}

function SharedThread({ chat, list }: Awaited<ReturnType<typeof readShared>>) {
  const messages = useChatMessages();
  const format = useFormat();
  const [passage, setPassage] = useState<Passage | null>(null);
  const turns = useMemo(() => list.map((message) => ({ message, parts: toParts(message) })), [list]);
  const citations = useMemo(() => turns.flatMap(({ parts }) => parts.flatMap((part) => part.citations)), [turns]);
  const title = chat.title || messages.sharedChat;
  const origin = { name: chat.owner_name ?? messages.aKey, time: format.time(chat.shared_at) };
  return (
    <OpenPassage value={setPassage}>
      <div className="chat chat-shared">
        <section className="chat-talk">
          <div className="chat-head">
            <Title order={1} className="page-title" title={title}>
              {title}
            </Title>
            <Hint>{fill(messages.sharedBy, origin)}</Hint>
          </div>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls the conversation. */}
          <section className="chat-messages" aria-label={messages.conversation} tabIndex={0}>
            <div className="chat-column">
              {turns.map(({ message, parts }) => (
                <div key={message.id} className="chat-turn">
                  <div className="chat-mine">{message.text}</div>
                  <article className="chat-answer">
                    {parts.map((part) => (
                      <AnswerText key={part.key} part={part} citations={citations} />
                    ))}
                    <div className="chat-line">{message.model}</div>
                  </article>
                </div>
              ))}
            </div>
          </section>
        </section>
        <Sources citations={citations} passage={passage} onSelect={setPassage} />
      </div>
    </OpenPassage>
  );
}

const toParts = ({ answer }: Pick<SharedMessage, 'answer'>): TextPart[] =>
  answer.map(({ text, annotations }, index) => ({
    kind: 'text',
    key: `part:${index}`,
    text,
    citations: parseCitations(annotations),
    tokens: [],
  }));
