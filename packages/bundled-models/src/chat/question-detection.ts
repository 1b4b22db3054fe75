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

/** A question mark at the end: Latin, full-width, Arabic, and the Greek one, which looks like a semicolon. */
const QUESTION_MARK = /[?？؟\u037e]["”’'»」』)\]]*\s*$/;
const GREEK_QUESTION_MARK = /\p{Script=Greek}[^;]*;["”’'»)\]]*\s*$/u;

/** Characters at the end of a text that are searched for a question mark. */
const MAX_MARK_CHARACTERS = 200;

/** Greetings and thanks, each as a whole phrase of a message, in the languages that are most common in chats. */
const GREETINGS = [
  "hi|hello|hey|hiya|howdy|greetings|good (?:morning|afternoon|evening|day|night)|how are you(?: doing)?(?: today)?|how(?:'s| is) it going|what's up|nice to meet you|bye|goodbye|see you(?: later| soon)?|have a (?:nice|good|great) (?:day|evening|weekend)",
  'hallo|guten (?:morgen|tag|abend)|servus|moin|grüezi|tschüss?|auf wiedersehen|wie geht(?:s| es dir| es ihnen)',
  'bonjour|bonsoir|salut|coucou|au revoir|ça va|comment (?:ça va|allez-vous)',
  'hola|buenos (?:días|dias)|buenas (?:tardes|noches)|adiós|adios|hasta luego|cómo estás|qué tal',
  'ciao|buongiorno|buonasera|arrivederci|come stai|olá|bom dia|boa (?:tarde|noite)|tchau|hoi|goedemorgen|goedemiddag|goedenavond',
  'hej|hejsan|terve|bună(?: ziua)?|szia|jó napot|cześć|dzień dobry|ahoj|dobrý den|merhaba|selam|günaydın|xin chào|chào(?: bạn)?',
  'привет|здравствуйте|здравствуй|добрый (?:день|вечер)|доброе утро|до свидания|привіт|γεια(?: σου| σας)?|καλημέρα|καλησπέρα',
  'مرحبا|السلام عليكم|صباح الخير|مساء الخير|שלום|नमस्ते|नमस्कार|สวัสดี(?:ครับ|ค่ะ)?|你好|您好|嗨|早上好|晚上好|再见|こんにちは|おはよう(?:ございます)?|こんばんは|さようなら|안녕(?:하세요)?',
].join('|');
const THANKS = [
  "thanks?(?: you)?(?: (?:so|very) much| a lot| a million| again| for (?:all )?(?:the|your) (?:help|answer|info|information|support))*|many thanks|thx|ty|cheers|much appreciated|i appreciate it|that(?:'s| is| was) (?:very |really )?helpful",
  'danke(?: schön| sehr| dir| ihnen)?|vielen dank|merci(?: beaucoup| bien)?|(?:muchas )?gracias|(?:mille )?grazie|(?:muito )?obrigad[oa]|dank (?:je|u)(?: wel)?|bedankt|tack(?: så mycket)?|(?:mange )?tak|takk|kiitos|mulțumesc|köszönöm|dziękuję|děkuji|teşekkür(?:ler| ederim)?|cảm ơn(?: bạn)?',
  'спасибо(?: большое)?|дякую|ευχαριστώ(?: πολύ)?|شكرا(?: جزيلا)?|תודה(?: רבה)?|धन्यवाद|शुक्रिया|ขอบคุณ(?:ครับ|ค่ะ|มาก)*|谢谢(?:你|您)?|多谢|ありがとう(?:ございます|ございました)?|감사합니다|고마워(?:요)?',
].join('|');
/** Words around greetings and thanks. */
const FILLERS =
  'ok|okay|great|perfect|super|cool|nice|awesome|alright|and|so|well|again|there|all|everyone|everybody|team|friend|my friend|sir|madam|bot|assistant|please|yes|no|oh|wow|got it|you too';
const SMALL_TALK = new RegExp(
  `^(?:(?:${FILLERS}) )*(?:(?:${GREETINGS}|${THANKS}) ?(?:(?:${FILLERS})(?: |$))*)+$`,
  'iu',
);
/** A longer message is never only a greeting; bounds the time of the expressions above. */
const MAX_SMALL_TALK_CHARACTERS = 120;

/** Maximum characters of a keyword query. */
const MAX_KEYWORD_CHARACTERS = 200;

/** Whether a sentence can answer a text: by its question mark, its opening, or as a keyword query. */
export function isQuestion(text: string): boolean {
  const trimmed = text.trim();
  if (trimmed === '' || WRITING_REQUEST.test(trimmed)) return false;
  if (hasQuestionMark(trimmed) || QUESTION_OPENING.test(trimmed)) return true;
  if (trimmed.length > MAX_KEYWORD_CHARACTERS) return false;
  // A keyword query: `capital of Kenya`.
  const words = trimmed.match(/[\p{L}\p{N}]+/gu) ?? [];
  return (
    /[?？؟]/.test(trimmed) ||
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

/** Whether a text ends with a question mark of any script. */
export function hasQuestionMark(text: string): boolean {
  const end = text.slice(-MAX_MARK_CHARACTERS);
  return QUESTION_MARK.test(end) || GREEK_QUESTION_MARK.test(end);
}

/** Whether a message is only a greeting or thanks: the only messages without a search in knowledge bases. */
export function isGreetingOrThanks(text: string): boolean {
  if (text.length > MAX_SMALL_TALK_CHARACTERS) return false;
  const words = text
    .normalize('NFC')
    .replace(/[^\p{L}\p{N}\p{M}'’-]+/gu, ' ')
    .replaceAll('’', "'")
    .trim();
  return SMALL_TALK.test(words);
}
