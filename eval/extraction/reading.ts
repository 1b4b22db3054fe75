import { Extractor } from '../../src/extraction/extractor.ts';

/** Default chunk size of knowledge bases. */
const CHUNK_SIZE_TOKENS = 512;
/** Sampling interval of memory. */
const SAMPLE_MS = 50;

/** Result of a file. */
export interface ReadResult {
  documents: number;
  characters: number;
  /** Text of the first document. */
  text: string;
  /** `read`, or the code of the first error. */
  outcome: string;
  message: string;
  /** Warnings of its documents. */
  warnings: string[];
  milliseconds: number;
}

/** Extracts one file. */
export async function readFile(
  extractor: Extractor,
  name: string,
  content: AsyncIterable<Uint8Array>,
): Promise<ReadResult> {
  const started = performance.now();
  const reading: ReadResult = {
    documents: 0,
    characters: 0,
    text: '',
    outcome: 'read',
    message: '',
    warnings: [],
    milliseconds: 0,
  };
  const file = { name, mediaType: null, content };
  for await (const part of extractor.extract(
    file,
    { chunkSizeTokens: CHUNK_SIZE_TOKENS },
    new AbortController().signal,
  )) {
    if ('error' in part) {
      if (reading.outcome !== 'read') continue;
      reading.outcome = part.error.code;
      reading.message = `${part.error.message}${part.error.cause === undefined ? '' : ` (${part.error.cause})`}`;
      continue;
    }
    if (reading.documents === 0) reading.text = part.document.text;
    reading.warnings.push(...(part.document.warnings ?? []).map(({ message }) => message));
    reading.documents += 1;
    reading.characters += part.document.text.length;
  }
  reading.milliseconds = performance.now() - started;
  return reading;
}

/** Streams bytes in pieces. */
export async function* splitBytes(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
}

/** Runs a task with a new extractor; returns its result, the peak memory of this process in MB, and the duration. */
export async function withPeak<T>(
  run: (extractor: Extractor) => Promise<T>,
): Promise<{ result: T; peakMb: number; seconds: number }> {
  const extractor = new Extractor();
  let peak = 0;
  const look = () => {
    peak = Math.max(peak, process.memoryUsage.rss());
  };
  look();
  const timer = setInterval(look, SAMPLE_MS);
  const started = performance.now();
  try {
    const result = await run(extractor);
    look();
    return { result, peakMb: peak / 1e6, seconds: (performance.now() - started) / 1000 };
  } finally {
    clearInterval(timer);
    await extractor.close();
  }
}
