import { isTelling, wordsOf } from './words.ts';

/** What a question begins with, be it without a question mark. */
const ASKING =
  /^\s*(?:(?:and|but|so|also|ok|okay|well|please|hey|hi|hello|thanks)[,!.]?\s+)*(?:who|whom|whose|what|what's|when|where|which|why|how|is|are|was|were|do|does|did|can|could|has|have|had|will|would|should|may|name|tell me|give me|find|list|state|identify|define|describe|explain|say|show me|i (?:want|need|would like) to know|in (?:what|which)|on (?:what|which)|at (?:what|which)|for (?:what|which|how)|to (?:what|whom|which)|from (?:what|where|which)|with (?:what|whom|which)|by (?:what|whom|which|how)|of (?:what|which)|about (?:what|how))\b/i;
/** Wishes for a text of the model's own: a sentence of the passages is none. */
const WRITING =
  /^\s*(?:(?:please|can you|could you|would you|now|and|then|i (?:want|need) you to)[,]?\s+)*(?:summari[sz]e|translate|rewrite|rephrase|paraphrase|shorten|write|compose|create|generate|convert|compare|outline|draft|make (?:a|an|me)|give (?:me )?(?:a|an) (?:summary|overview|outline|list)|sum (?:it|this|that|them) up|what is (?:this|the) (?:text|passage|article|document) about|proofread|correct|continue)\b|\b(?:summary|summari[sz]e|tl;?dr|translate|in (?:your own words|bullet points|one sentence|french|german|spanish))\b/i;
/** Questions to the model itself, and small talk. */
const TO_THE_MODEL =
  /^\W*(?:(?:hi|hello|hey|ok|okay|so|and|well|good (?:morning|evening|afternoon))\W+)*(?:(?:who|what|how old|where) (?:are|were) you\b|how are you|how do you (?:do|feel)|how(?:'s| is) it going|what(?:'s| is) (?:your|up)\b|what can you do|can you help(?: me)?\W*$|do you (?:like|love|know who you|have (?:a name|feelings))|are you (?:a|an|human|real|there|ok|ready|gpt|chatgpt|sure|alive)|who (?:made|created|built|trained) you|what is your\b|may i\b|can i ask\b)/i;

/** Characters that people type into a search box at most. */
const MAX_SEARCH_CHARACTERS = 200;

/** Whether a text asks for something that a sentence can answer. A simple rule: a question mark, or how it begins. */
export function isQuestion(text: string): boolean {
  const trimmed = text.trim();
  if (trimmed === '' || WRITING.test(trimmed)) return false;
  if (/\?["”’')\]]*\s*$/.test(trimmed) || ASKING.test(trimmed)) return true;
  if (trimmed.length > MAX_SEARCH_CHARACTERS) return false;
  // `capital of Kenya`: what people type into a search box.
  const words = wordsOf(trimmed);
  return (
    /\?/.test(trimmed) ||
    (!/[.!]\s*$/.test(trimmed) &&
      words.length >= 2 &&
      words.length <= 12 &&
      words.filter(isTelling).length >= 2 &&
      !/^\W*(?:hi|hello|hey|thanks|thank|bye|good|i|my|ok|yes|no)\b/i.test(trimmed))
  );
}

/** Whether a question is about the model and not about the world. */
export function isOwnQuestion(text: string): boolean {
  return TO_THE_MODEL.test(text.trim());
}
