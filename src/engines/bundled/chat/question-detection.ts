import { extractTerms } from './terms.ts';

/** Openings of questions, with or without a question mark. */
const QUESTION_OPENING =
  /^\s*(?:(?:and|but|so|also|ok|okay|well|please|hey|hi|hello|thanks)[,!.]?\s+)*(?:who|whom|whose|what|what's|when|where|which|why|how|is|are|was|were|do|does|did|can|could|has|have|had|will|would|should|may|name|tell me|give me|find|list|state|identify|define|describe|explain|say|show me|i (?:want|need|would like) to know|in (?:what|which)|on (?:what|which)|at (?:what|which)|for (?:what|which|how)|to (?:what|whom|which)|from (?:what|where|which)|with (?:what|whom|which)|by (?:what|whom|which|how)|of (?:what|which)|about (?:what|how))\b/i;
/** Requests for a new text, which no sentence of the passages can answer. */
const WRITING_REQUEST =
  /^\s*(?:(?:please|can you|could you|would you|now|and|then|i (?:want|need) you to)[,]?\s+)*(?:summari[sz]e|translate|rewrite|rephrase|paraphrase|shorten|write|compose|create|generate|convert|compare|outline|draft|make (?:a|an|me)|give (?:me )?(?:a|an) (?:summary|overview|outline|list)|sum (?:it|this|that|them) up|what is (?:this|the) (?:text|passage|article|document) about|proofread|correct|continue)\b|\b(?:summary|summari[sz]e|tl;?dr|translate|in (?:your own words|bullet points|one sentence|french|german|spanish))\b/i;
/** Questions about the model itself, and small talk. */
const ABOUT_MODEL =
  /^\W*(?:(?:hi|hello|hey|ok|okay|so|and|well|good (?:morning|evening|afternoon))\W+)*(?:(?:who|what|how old|where) (?:are|were) you\b|how are you|how do you (?:do|feel)|how(?:'s| is) it going|what(?:'s| is) (?:your|up)\b|what can you do|can you help(?: me)?\W*$|do you (?:like|love|know who you|have (?:a name|feelings))|are you (?:a|an|human|real|there|ok|ready|gpt|chatgpt|sure|alive)|who (?:made|created|built|trained) you|what is your\b|may i\b|can i ask\b)/i;

/** Maximum characters of a keyword query. */
const MAX_KEYWORD_CHARACTERS = 200;

/** Whether a text is a question that a sentence can answer, by its question mark, its opening, or as a keyword query. */
export function isQuestion(text: string): boolean {
  const trimmed = text.trim();
  if (trimmed === '' || WRITING_REQUEST.test(trimmed)) return false;
  if (/\?["”’')\]]*\s*$/.test(trimmed) || QUESTION_OPENING.test(trimmed)) return true;
  if (trimmed.length > MAX_KEYWORD_CHARACTERS) return false;
  // A keyword query: `capital of Kenya`.
  const words = trimmed.match(/[\p{L}\p{N}]+/gu) ?? [];
  return (
    /\?/.test(trimmed) ||
    (!/[.!]\s*$/.test(trimmed) &&
      words.length >= 2 &&
      words.length <= 12 &&
      extractTerms(trimmed).length >= 2 &&
      !/^\W*(?:hi|hello|hey|thanks|thank|bye|good|i|my|ok|yes|no)\b/i.test(trimmed))
  );
}

/** Whether a question is about the model itself. */
export function isAboutModel(text: string): boolean {
  return ABOUT_MODEL.test(text.trim());
}
