import { Button, Collapse, Group, Paper } from '@mantine/core';
import { useDisclosure, useMediaQuery } from '@mantine/hooks';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import './playground.css';
import { useMayWrite } from '../api/session.ts';
import { PassagePanel } from '../passages/passage-panel.tsx';
import { lazyPart } from '../ui/lazy-part.tsx';
import { Page } from '../ui/page.tsx';
import { Composer } from './composer.tsx';
import { Conversation, type ConversationPhase } from './conversation.ts';
import { usePlaygroundMessages } from './messages.ts';
import { ConversationPane, usePhase } from './pane.tsx';
import { buildRequest, DEFAULT_SETTINGS, type PlaygroundSettings } from './request.ts';
import { type PlaygroundSearch, parsePlaygroundSearch } from './search.ts';
import { type ChangeSettings, PlaygroundSettingsPanel } from './settings.tsx';
import type { AnswerTurn, PlaygroundRequest, Turn, UserTurn } from './turns.ts';
import { useRecordedRequest } from './use-recorded-request.ts';

const CodeDrawer = lazyPart(() => import('./code.tsx'), 'CodeDrawer');

const route = getRouteApi('/shell/playground');
const DEFAULT_MODEL = 'general-8b';

/** A request that the code panel shows. */
interface ShownRequest {
  request: PlaygroundRequest;
  isSent: boolean;
}

/** A chat with one model or two, with parameters, tools, knowledge bases and the figures of each answer. */
export function PlaygroundPage() {
  const playground = usePlaygroundMessages();
  const { settings, compare, change, setCompare } = usePlaygroundSettings();
  const [isPanelOpen, panel] = useDisclosure();
  const [shown, setShown] = useState<ShownRequest | null>(null);
  const { first, second, conversations } = useConversations(compare !== null);
  useRecordedRequest(first, change);
  const settingsFor = (conversation: Conversation): PlaygroundSettings =>
    conversation === second && compare !== null ? { ...settings, model: compare } : settings;
  const phases = [usePhase(first), usePhase(second)].slice(0, conversations.length);
  const isWide = useMediaQuery('(min-width: 62em)', true, { getInitialValueInEffect: false });
  const showRequest = useCallback((turn: AnswerTurn) => setShown({ request: turn.request, isSent: true }), []);
  const parameters = (
    <Paper withBorder p="md" className="playground-settings">
      <PlaygroundSettingsPanel settings={settings} onChange={change} compare={compare} onCompare={setCompare} />
    </Paper>
  );
  return (
    <PassagePanel>
      <Page
        title={playground.title}
        action={
          <Group gap="xs">
            {!isWide && (
              <Button variant="default" onClick={panel.toggle} aria-expanded={isPanelOpen}>
                {playground.parameters}
              </Button>
            )}
            <Button variant="default" onClick={() => setShown(requestToShow(first.getTurns(), settings))}>
              {playground.code}
            </Button>
            <Button
              variant="default"
              disabled={phases.every((phase) => phase === 'empty')}
              onClick={() => {
                for (const each of [first, second]) each.clear();
              }}
            >
              {playground.clear}
            </Button>
          </Group>
        }
      >
        <div className="playground">
          {isWide ? parameters : <Collapse expanded={isPanelOpen}>{isPanelOpen && parameters}</Collapse>}
          <Chat conversations={conversations} phases={phases} settingsFor={settingsFor} onShowRequest={showRequest} />
        </div>
      </Page>
      {shown !== null && <CodeDrawer {...shown} onClose={() => setShown(null)} />}
    </PassagePanel>
  );
}

interface ChatProps {
  /** One conversation, or the two that are compared. */
  conversations: readonly Conversation[];
  phases: readonly ConversationPhase[];
  settingsFor(conversation: Conversation): PlaygroundSettings;
  onShowRequest(turn: AnswerTurn): void;
}

/** The conversations side by side, and below them the field that sends to all of them. */
function Chat({ conversations, phases, settingsFor, onShowRequest }: ChatProps) {
  const mayWrite = useMayWrite();
  const resend = (index: number, text: string) => {
    for (const each of conversations) void each.resend(index, text, settingsFor(each));
  };
  return (
    <div className="playground-chat">
      <div className="playground-panes">
        {conversations.map((each) => (
          <ConversationPane
            key={each === conversations[0] ? 'first' : 'second'}
            conversation={each}
            settings={settingsFor(each)}
            onResend={resend}
            onShowRequest={onShowRequest}
          />
        ))}
      </div>
      <Composer
        isDisabled={!mayWrite}
        isRunning={phases.includes('running')}
        needsResults={phases.includes('waiting')}
        onSend={(text) => {
          for (const each of conversations) void each.send(text, settingsFor(each));
        }}
        onStop={() => {
          for (const each of conversations) each.stop();
        }}
      />
    </div>
  );
}

/** Two conversations that end with the page. The second is used while models are compared. */
function useConversations(isComparing: boolean) {
  const first = useRef<Conversation>(null);
  const second = useRef<Conversation>(null);
  first.current ??= new Conversation();
  second.current ??= new Conversation();
  const pair = { first: first.current, second: second.current };
  useEffect(() => {
    const opened = [first.current, second.current];
    return () => {
      for (const each of opened) each?.stop();
    };
  }, []);
  useEffect(() => {
    if (isComparing) second.current?.startFrom(first.current?.getTurns() ?? []);
    else second.current?.clear();
  }, [isComparing]);
  const conversations = isComparing ? [pair.first, pair.second] : [pair.first];
  return { ...pair, conversations };
}

/** Model, knowledge bases and mode live in the address; texts and parameters only in memory. */
function usePlaygroundSettings() {
  const search = route.useSearch();
  const navigate = useNavigate();
  const [parameters, setParameters] = useState(DEFAULT_SETTINGS);
  const settings = useMemo((): PlaygroundSettings => {
    const { model = DEFAULT_MODEL, kb = '', mode = 'chat' } = search;
    return { ...parameters, model, mode, knowledgeBases: kb.split(',').filter((id) => id !== '') };
  }, [search, parameters]);
  const setSearch = (change: PlaygroundSearch) =>
    void navigate({
      to: '/playground',
      search: ((before: PlaygroundSearch) => parsePlaygroundSearch({ ...before, ...change })) as never,
      replace: true,
    });
  const change: ChangeSettings = ({ model, mode, knowledgeBases, ...others }) => {
    if (model !== undefined) setSearch({ model });
    if (mode !== undefined) setSearch({ mode });
    if (knowledgeBases !== undefined) setSearch({ kb: knowledgeBases.join(',') });
    setParameters((before) => ({ ...before, ...others }));
  };
  const setCompare = (model: string | null) => setSearch({ compare: model ?? '' });
  return { settings, compare: search.compare ?? null, change, setCompare };
}

/** The request of the last answer; before the first one, the request that would be sent. */
function requestToShow(turns: readonly Turn[], settings: PlaygroundSettings): ShownRequest {
  const last = turns.findLast((turn) => turn.role === 'assistant');
  if (last !== undefined) return { request: last.request, isSent: true };
  const example: UserTurn = { role: 'user', id: 0, text: 'Hello!' };
  return { request: buildRequest(settings, [example]), isSent: false };
}
