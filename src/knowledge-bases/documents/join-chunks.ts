/** Text of the chunks of a document, and the offset in the document after it. */
export interface JoinedText {
  text: string;
  end: number;
}

/** Appends the next chunk. The text that it shares with its predecessor is taken once; gaps become blank lines. */
export function joinChunk(
  { text, end }: JoinedText,
  chunk: { text: string; startIndex: number; endIndex: number },
): JoinedText {
  const gap = text !== '' && chunk.startIndex > end ? '\n\n' : '';
  return {
    text: text + gap + chunk.text.slice(Math.max(0, end - chunk.startIndex)),
    end: Math.max(end, chunk.endIndex),
  };
}
