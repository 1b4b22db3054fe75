import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { api, body } from '../api/client.ts';
import { readAgain } from '../api/refresh.ts';
import type { Schema } from '../api/types.ts';
import { sendForm } from '../ui/send-form.ts';
import { describe } from '../ui/states.tsx';
import type { ChatMessage } from './branch.ts';

/** An attachment of a chat. */
export type Attachment = Schema<'ChatAttachment'>;

/** A running or failed upload. */
export interface AttachmentUpload {
  key: string;
  chatId: string | undefined;
  name: string;
  /** Progress from 0 to 1. */
  share: number;
  failure: string | null;
}

/** Files of the draft message and their actions. */
export interface AttachmentDraft {
  /** Attachments that were not sent yet. */
  pending: readonly Attachment[];
  uploads: readonly AttachmentUpload[];
  /** Ids of the message's files that still exist. */
  keep(message: ChatMessage): string[];
  add(files: Iterable<File>): void;
  remove(id: string): void;
  dismiss(key: string): void;
}

const POLL_MS = 1_000;
/** Page size: the maximum number of attachments of a chat. */
const LIMIT = 100;

/** Loads the attachments of a chat and polls while any of them is processing. */
const useChatAttachments = (chatId: string | undefined) =>
  useQuery({
    queryKey: ['chat-attachments', chatId],
    enabled: chatId !== undefined,
    queryFn: () => {
      const params = { path: { chat_id: chatId ?? '' }, query: { limit: LIMIT } };
      return body(api.GET('/v1/chats/{chat_id}/attachments', { params }));
    },
    refetchInterval: ({ state }) =>
      state.data?.data.some(({ status }) => status === 'processing') === true ? POLL_MS : false,
  });

/**
 * Manages the files of the draft message. The first file of a new chat creates the chat and calls `onCreated`.
 * `history` is null while it is loading.
 */
export function useAttachments(
  chatId: string | undefined,
  history: readonly ChatMessage[] | null,
  onCreated: (chatId: string) => void,
): AttachmentDraft {
  const client = useQueryClient();
  const stored = useChatAttachments(chatId).data?.data ?? [];
  const { uploads, upload, dismiss } = useUploads(chatId, onCreated);
  const sent = new Set((history ?? []).flatMap(({ attachments }) => attachments.map(({ id }) => id)));
  return {
    pending: history === null ? [] : stored.filter(({ id }) => !sent.has(id)),
    uploads: uploads.filter((each) => each.chatId === chatId),
    keep: ({ attachments }) => attachments.map(({ id }) => id).filter((id) => stored.some((each) => each.id === id)),
    add: (files) => {
      for (const file of files) void upload(file);
    },
    remove: (id) => {
      const params = { path: { chat_id: chatId ?? '', attachment_id: id } };
      const refresh = () => readAgain(client, ['chat-attachments', chatId]);
      void api.DELETE('/v1/chats/{chat_id}/attachments/{attachment_id}', { params }).then(refresh, refresh);
    },
    dismiss,
  };
}

/** Uploads files sequentially to preserve their order. */
function useUploads(chatId: string | undefined, onCreated: (chatId: string) => void) {
  const client = useQueryClient();
  const [uploads, setUploads] = useState<readonly AttachmentUpload[]>([]);
  const turn = useRef<Promise<unknown>>(Promise.resolve());
  const created = useRef<Promise<string> | null>(null);
  /** Aborts uploads that the user dismisses. */
  const ends = useRef(new Map<string, AbortController>());
  useEffect(() => {
    if (chatId !== undefined) created.current = null;
  }, [chatId]);
  const change = (key: string, changes: Partial<AttachmentUpload>) =>
    setUploads((before) => before.map((each) => (each.key === key ? { ...each, ...changes } : each)));
  const dismiss = (key: string) => {
    ends.current.get(key)?.abort();
    ends.current.delete(key);
    setUploads((before) => before.filter((each) => each.key !== key));
  };
  const createChat = async (): Promise<string> => {
    const { id } = await body(api.POST('/v1/chats', { body: {} }));
    setUploads((before) => before.map((each) => (each.chatId === undefined ? { ...each, chatId: id } : each)));
    void readAgain(client, ['chats']);
    onCreated(id);
    return id;
  };
  const send = async (file: File, key: string, chat: string | Promise<string>) => {
    const signal = ends.current.get(key)?.signal;
    try {
      const id = await chat;
      if (signal?.aborted !== false) return;
      const form = new FormData();
      form.append('file', file, file.name);
      const onProgress = (share: number) => change(key, { share });
      await sendForm(`/v1/chats/${id}/attachments`, form, { onProgress, signal });
      await readAgain(client, ['chat-attachments', id]);
      dismiss(key);
    } catch (error) {
      created.current = null;
      change(key, { failure: describe(error) });
    }
  };
  const upload = (file: File) => {
    const key = crypto.randomUUID();
    ends.current.set(key, new AbortController());
    setUploads((before) => [...before, { key, chatId, name: file.name, share: 0, failure: null }]);
    if (chatId === undefined) created.current ??= createChat();
    const chat = chatId ?? created.current ?? '';
    turn.current = turn.current.then(() => send(file, key, chat));
    return turn.current;
  };
  return { uploads, upload, dismiss };
}

/** Calls `onFiles` with files that are dropped on the page. Returns whether files are dragged over the page. */
export function useDroppedFiles(onFiles: (files: Iterable<File>) => void): boolean {
  const [isOver, setOver] = useState(false);
  const latest = useRef(onFiles);
  latest.current = onFiles;
  useEffect(() => {
    const over = (event: DragEvent) => {
      if (event.dataTransfer?.types.includes('Files') !== true) return;
      event.preventDefault();
      setOver(true);
    };
    const leave = ({ relatedTarget }: DragEvent) => {
      if (relatedTarget === null) setOver(false);
    };
    const drop = (event: DragEvent) => {
      setOver(false);
      if (event.dataTransfer?.types.includes('Files') !== true) return;
      event.preventDefault();
      latest.current([...event.dataTransfer.files]);
    };
    globalThis.addEventListener('dragover', over);
    globalThis.addEventListener('dragleave', leave);
    globalThis.addEventListener('drop', drop);
    return () => {
      globalThis.removeEventListener('dragover', over);
      globalThis.removeEventListener('dragleave', leave);
      globalThis.removeEventListener('drop', drop);
    };
  }, []);
  return isOver;
}
