/** A citation of a passage of a document, or of a web page. Offsets are UTF-16 code units of the text that cites. */
export interface Citation {
  start: number;
  end: number;
  title: string;
  kbId: string | null;
  documentId: string | null;
  chunkId: string | null;
  url: string | null;
}

/** A passage that was retrieved into the prompt. `text` is null when the API does not send it. */
export interface Passage {
  kbId: string;
  documentId: string;
  documentName: string;
  chunkId: string;
  score: number;
  text: string | null;
}

/** A token with its log probability and the most probable tokens at its place. */
export interface TokenLogprob {
  token: string;
  logprob: number;
  top: readonly { token: string; logprob: number }[];
}

/** Token usage of an answer. */
export interface AnswerUsage {
  promptTokens: number;
  completionTokens: number;
  cachedTokens: number;
}

/** A part of an answer, in the order of its generation. */
export type AnswerPart =
  | { kind: 'text'; key: string; text: string; citations: readonly Citation[]; tokens: TokenLogprob[] }
  | { kind: 'reasoning'; key: string; text: string }
  | { kind: 'call'; key: string; callId: string; name: string; arguments: string }
  | {
      kind: 'search';
      key: string;
      id: string;
      queries: readonly string[];
      passages: readonly Passage[];
      isRunning: boolean;
    };

/** An event of a streamed answer, of either API. `key` names the part that it extends. */
export type AnswerEvent =
  | { type: 'head'; requestId: string | null; cacheStatus: string | null }
  | { type: 'delta'; kind: 'text' | 'reasoning'; key: string; text: string; tokens?: TokenLogprob[] }
  | { type: 'call'; key: string; callId?: string; name?: string; arguments: string }
  | { type: 'citations'; key: string; citations: Citation[] }
  | { type: 'part'; part: AnswerPart }
  | { type: 'context'; passages: Passage[] }
  | { type: 'finish'; reason: string }
  | { type: 'usage'; usage: AnswerUsage };

interface RawAnnotation {
  type: string;
  start_index?: number;
  end_index?: number;
  document_name?: string;
  kb_id?: string;
  document_id?: string;
  chunk_id?: string;
  url?: string;
  title?: string;
  url_citation?: { url: string; title: string; start_index: number; end_index: number };
}

/** Parses annotations of both APIs. */
export function parseCitations(annotations: readonly unknown[]): Citation[] {
  const parsed = annotations.map((each) => parseCitation(each as RawAnnotation));
  const files = parsed.filter((each) => each?.documentId != null);
  // The service repeats each file citation as a citation of a URL, for clients that know only those.
  return (files.length > 0 ? files : parsed).filter((each) => each !== null);
}

function parseCitation(raw: RawAnnotation): Citation | null {
  if (raw.type === 'file_citation') {
    return {
      start: raw.start_index ?? 0,
      end: raw.end_index ?? 0,
      title: raw.document_name ?? '',
      kbId: raw.kb_id ?? null,
      documentId: raw.document_id ?? null,
      chunkId: raw.chunk_id ?? null,
      url: null,
    };
  }
  const web = raw.url_citation ?? raw;
  if (web.url === undefined) return null;
  const { start_index: start = 0, end_index: end = 0, title = '', url } = web;
  return { start, end, title, url, kbId: null, documentId: null, chunkId: null };
}

/** A retrieved passage as the APIs send it. */
export interface RawPassage {
  kb_id: string;
  document_id: string;
  document_name: string;
  chunk_id: string;
  score: number;
  text?: string;
}

/** Parses a retrieved passage. */
export const parsePassage = (raw: RawPassage): Passage => ({
  kbId: raw.kb_id,
  documentId: raw.document_id,
  documentName: raw.document_name,
  chunkId: raw.chunk_id,
  score: raw.score,
  text: raw.text ?? null,
});
