import type { Passage } from '../passages/passage.ts';

/** A citation of a passage of a document, or of a web page. Offsets are UTF-16 code units of the text that cites. */
export interface Citation {
  start: number;
  end: number;
  title: string;
  /** Null for a citation of a web page only. */
  passage: Passage | null;
  url: string | null;
}

/** A chunk that was retrieved into the prompt. `text` is null when the API does not send it. */
export interface RetrievedPassage extends Passage {
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
      passages: readonly RetrievedPassage[];
      isRunning: boolean;
    };

/** An event of a streamed answer, of either API. `key` names the part that it extends. */
export type AnswerEvent =
  | { type: 'head'; requestId: string | null; cacheStatus: string | null }
  | { type: 'delta'; kind: 'text' | 'reasoning'; key: string; text: string; tokens?: TokenLogprob[] }
  | { type: 'call'; key: string; callId?: string; name?: string; arguments: string }
  | { type: 'citations'; key: string; citations: Citation[] }
  | { type: 'part'; part: AnswerPart }
  | { type: 'context'; passages: RetrievedPassage[] }
  | { type: 'finish'; reason: string }
  | { type: 'usage'; usage: AnswerUsage };

/** A chunk as the APIs send it. */
export interface RawPassage {
  kb_id: string;
  document_id: string;
  document_name: string;
  chunk_id: string;
  page: number | null;
  slide: number | null;
  cells: string | null;
  heading_path: string[];
  document_start_index: number;
  document_end_index: number;
  score: number;
  text?: string;
}

interface RawLink {
  url: string;
  title: string;
  start_index: number;
  end_index: number;
}

type RawAnnotation =
  | ({ type: 'file_citation'; start_index: number; end_index: number } & RawPassage)
  | ({ type: 'url_citation' } & (RawLink | { url_citation: RawLink }));

/** Parses annotations of both APIs. */
export function parseCitations(annotations: readonly unknown[]): Citation[] {
  const raw = annotations as readonly RawAnnotation[];
  const links = raw.flatMap((each) => (each.type === 'url_citation' ? [parseLink(each)] : []));
  const files = raw.flatMap((each): Citation[] => {
    if (each.type !== 'file_citation') return [];
    const { start_index: start, end_index: end, document_name: title } = each;
    // The service repeats each file citation as a citation of a URL, for clients that know only those.
    const url = links.find((link) => link.start === start && link.end === end)?.url ?? null;
    return [{ start, end, title, url, passage: { ...parsePlace(each), url } }];
  });
  return files.length > 0 ? files : links;
}

function parseLink(raw: Extract<RawAnnotation, { type: 'url_citation' }>): Citation {
  const { start_index: start, end_index: end, title, url } = 'url_citation' in raw ? raw.url_citation : raw;
  return { start, end, title, url, passage: null };
}

function parsePlace(raw: RawPassage): Omit<Passage, 'url'> {
  return {
    title: raw.document_name,
    kbId: raw.kb_id,
    documentId: raw.document_id,
    chunkId: raw.chunk_id,
    page: raw.page,
    slide: raw.slide,
    cells: raw.cells,
    headingPath: raw.heading_path,
    start: raw.document_start_index,
    end: raw.document_end_index,
  };
}

/** Parses a retrieved passage. */
export const parsePassage = (raw: RawPassage): RetrievedPassage => ({
  ...parsePlace(raw),
  url: null,
  score: raw.score,
  text: raw.text ?? null,
});
