import { useCallback, useRef, useState } from 'react';
import type { ApiFailure } from '../api/client.ts';
import { streamChat, type Usage } from '../api/stream-chat.ts';

/** Parameters of the playground. Empty numbers: the default of the model. */
export interface ChatSettings {
  model: string;
  system: string;
  knowledgeBases: string[];
  temperature: number | string;
  maxTokens: number | string;
}

/** A citation of a passage of a document, or of a web page. */
export interface ChatCitation {
  start: number;
  end: number;
  title: string;
  kbId: string | null;
  documentId: string | null;
  chunkId: string | null;
  url: string | null;
}

/** A message of the playground. */
export interface PlaygroundMessage {
  id: number;
  role: 'user' | 'assistant';
  text: string;
  reasoning: string;
  citations: ChatCitation[];
  usage: Usage | null;
  /** Milliseconds to the first token and to the end; null while running. */
  firstTokenMs: number | null;
  totalMs: number | null;
  finishReason: string | null;
  error: ApiFailure | Error | null;
}

/** The body of a chat request with the messages so far and the next one. */
export function requestBody(settings: ChatSettings, messages: readonly PlaygroundMessage[], next: string): object {
  const history = messages.filter(({ text }) => text !== '').map(({ role, text }) => ({ role, content: text }));
  return {
    model: settings.model,
    messages: [
      ...(settings.system.trim() === '' ? [] : [{ role: 'system', content: settings.system }]),
      ...history,
      { role: 'user', content: next },
    ],
    ...(typeof settings.temperature === 'number' && { temperature: settings.temperature }),
    ...(typeof settings.maxTokens === 'number' && { max_tokens: settings.maxTokens }),
    ...(settings.knowledgeBases.length > 0 && { knowledge_bases: settings.knowledgeBases }),
  };
}

const newMessage = (id: number, role: PlaygroundMessage['role'], text: string): PlaygroundMessage => ({
  id,
  role,
  text,
  reasoning: '',
  citations: [],
  usage: null,
  firstTokenMs: null,
  totalMs: null,
  finishReason: null,
  error: null,
});

/** A chat whose answers are streamed. State changes once per frame, however fast tokens arrive. */
export function useChat(settings: ChatSettings) {
  const [messages, setMessages] = useState<readonly PlaygroundMessage[]>([]);
  const [running, setRunning] = useState<AbortController | null>(null);
  const nextId = useRef(1);

  const answer = useCallback(
    async (history: readonly PlaygroundMessage[], text: string) => {
      const abort = new AbortController();
      setRunning(abort);
      const answering = newMessage(nextId.current + 1, 'assistant', '');
      const asked = newMessage(nextId.current, 'user', text);
      nextId.current += 2;
      let frame = 0;
      const show = () => {
        frame = 0;
        setMessages([...history, asked, { ...answering }]);
      };
      const showSoon = () => {
        if (frame === 0) frame = requestAnimationFrame(show);
      };
      show();
      const startedAt = performance.now();
      try {
        for await (const event of streamChat(requestBody(settings, history, text), abort.signal)) {
          if (event.type === 'text' || event.type === 'reasoning')
            answering.firstTokenMs ??= performance.now() - startedAt;
          if (event.type === 'text') answering.text += event.text;
          if (event.type === 'reasoning') answering.reasoning += event.text;
          if (event.type === 'citations') answering.citations = event.annotations.flatMap(parseCitation);
          if (event.type === 'finish') answering.finishReason = event.reason;
          if (event.type === 'usage') answering.usage = event.usage;
          showSoon();
        }
      } catch (error) {
        if (abort.signal.aborted) answering.finishReason = 'stopped';
        else answering.error = error instanceof Error ? error : new Error(String(error));
      }
      answering.totalMs = performance.now() - startedAt;
      cancelAnimationFrame(frame);
      show();
      setRunning(null);
    },
    [settings],
  );

  return {
    messages,
    isRunning: running !== null,
    send: (text: string) => answer(messages, text),
    /** Asks the last question again. */
    retry: () => {
      const asked = messages.findLastIndex(({ role }) => role === 'user');
      const text = messages[asked]?.text;
      if (text !== undefined) void answer(messages.slice(0, asked), text);
    },
    stop: () => running?.abort(),
    clear: () => {
      running?.abort();
      setMessages([]);
    },
  };
}

interface RawAnnotation {
  type: 'file_citation' | 'url_citation';
  start_index?: number;
  end_index?: number;
  document_name?: string;
  kb_id?: string;
  document_id?: string;
  chunk_id?: string;
  url_citation?: { url: string; title: string; start_index: number; end_index: number };
}

/** Of the two annotations of a passage, the file citation names the chunk; url citations repeat it for other clients. */
function parseCitation(raw: unknown): ChatCitation[] {
  const annotation = raw as RawAnnotation;
  if (annotation.type === 'file_citation') {
    return [
      {
        start: annotation.start_index ?? 0,
        end: annotation.end_index ?? 0,
        title: annotation.document_name ?? '',
        kbId: annotation.kb_id ?? null,
        documentId: annotation.document_id ?? null,
        chunkId: annotation.chunk_id ?? null,
        url: null,
      },
    ];
  }
  const web = annotation.url_citation;
  if (web === undefined) return [];
  const { start_index: start, end_index: end, title, url } = web;
  return [{ start, end, title, url, kbId: null, documentId: null, chunkId: null }];
}
