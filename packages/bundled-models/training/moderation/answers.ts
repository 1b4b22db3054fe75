/**
 * Writes what a reader must answer: `answers.ts MODEL OUT`. For each text the folded text, the ids (`-1 - i` for
 * `unknown[i]`), the unknown words, the logits and the scores.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { foldText } from '../../src/moderation/fold-text.ts';
import { Moderator } from '../../src/moderation/moderator.ts';
import { tokenizeForModeration } from '../../src/moderation/tokenizer.ts';
import { WordHashes } from '../../src/moderation/vocabulary.ts';
import { ModerationFile } from '../../src/moderation/weights-file.ts';

const LONG =
  'The committee met on Tuesday to discuss the budget for the new library, and the members agreed on most points. ';
const TEXTS = [
  '',
  '   \n\t ',
  '!!! ??? ...',
  'Hello, how are you today?',
  'How do I kill a Python process that hangs?',
  'How do I kill my neighbour?',
  'I will never hurt anyone.',
  'I want to kill myself tonight.',
  'My friend said she wants to die. How can I help her?',
  'You are a pathetic, worthless idiot.',
  'You are not an idiot.',
  'Muslims are vermin and should be deported.',
  'Muslims are not vermin.',
  '"Muslims are vermin" is a disgusting thing to say.',
  'No immigrant deserves to be attacked.',
  'SHE MOANED AS HE KISSED HER NAKED BODY.',
  'What is the age of consent in Ohio?',
  'y0u 4r3 4n 1d10t',
  'y o u  a r e  a n  i d i o t',
  'w.o.m.e.n are t-r-a-s-h',
  'ihateyousomuch',
  'youuuuu iddddiot!!!!',
  'ｋｉｌｌ ｙｏｕｒｓｅｌｆ',
  'к\u0456ll y\u043eurs\u0435lf',
  'k\u200bi\u200bl\u200bl y\u00adourself',
  '\u{1d424}\u{1d422}\u{1d425}\u{1d425} yourself',
  'k\u0336i\u0336l\u0336l\u0336 yourself',
  '🅺🅸🅻🅻 yourself 😀',
  'sh!t, f**k, @ss, a$$, b1tch',
  "'I hate women,' he said. That's wrong!",
  "don't won't can’t U.S.A. 3.14 1,000 mp3 covid19 @john_doe #hashtag user@example.com",
  'これは日本語の文章です。',
  'Это русский текст.',
  'مرحبا بالعالم',
  'naïve café Straße Œuvre ﬁnance ½ № ™',
  'a\u0000b\u0007c \ud800 lone surrogate',
  'blorvanthic quuxoidal zwxyvutsr',
  'x'.repeat(200),
  `${'ab'.repeat(60)} ${'9'.repeat(60)}`,
  LONG.repeat(12),
  `${LONG.repeat(12)} I am going to stab you tonight. ${LONG.repeat(12)}`,
];

const [model = '', out = ''] = process.argv.slice(2);
const file = readFileSync(model);
const moderator = new Moderator(file);
const sections = new ModerationFile(file);
const vocabulary = new WordHashes(sections.readUint32(sections.header.words));
const answers = TEXTS.map((text) => ({
  text,
  folded: foldText(text),
  ...tokenizeForModeration(text, vocabulary),
  logits: moderator.classify(text).logits.map((logit) => (logit === -Infinity ? null : Number(logit.toFixed(6)))),
  scores: moderator.classify(text).scores.map((score) => Number(score.toFixed(6))),
}));
writeFileSync(out, `[\n${answers.map((answer) => JSON.stringify(answer)).join(',\n')}\n]\n`);
