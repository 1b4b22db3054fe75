/** A request of a chat model. */
export interface ChatBody {
  model: string;
  max_tokens: number;
  messages: { role: string; content: string }[];
}

const WORDS = 'order delivery wheel repair invoice house river bicycle measure garden library window copper'.split(' ');

/** Words that differ by `seed`, about six characters each. */
function words(seed: number, characters: number): string {
  let text = '';
  for (let at = seed; text.length < characters; at += 1) text += `${WORDS[(at * 7 + seed) % WORDS.length]} `;
  return text.slice(0, characters);
}

/** `count` requests of `characters` each that share no prefix. */
export function plainRequests(count: number, characters: number, maxTokens: number): ChatBody[] {
  return Array.from({ length: count }, (_, n) => ({
    model: 'general-8b',
    max_tokens: maxTokens,
    messages: [{ role: 'user', content: `${n} ${words(n, characters)}` }],
  }));
}

/**
 * `count` requests in `groups` groups that share a long system message. Requests of a group do not follow each other.
 */
export function groupedRequests(count: number, groups: number, characters: number, maxTokens: number): ChatBody[] {
  return plainRequests(count, 40, maxTokens).map((body, n) => ({
    ...body,
    messages: [{ role: 'system', content: `${n % groups} ${words(n % groups, characters)}` }, ...body.messages],
  }));
}

/** The input file of a batch of the requests. */
export function toBatchFile(requests: readonly ChatBody[]): string {
  const lines = requests.map((body, n) => ({
    custom_id: String(n),
    method: 'POST',
    url: '/v1/chat/completions',
    body,
  }));
  return lines.map((line) => JSON.stringify(line)).join('\n');
}
