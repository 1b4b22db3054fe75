import { detectLanguage, isStopWord, type Language } from '../../search/languages.ts';
import { tokenizeText } from '../../search/terms.ts';

/** A question with fewer content words is a follow-up: "And in Germany?" */
const MIN_CONTENT_WORDS = 2;
/** Character bigrams per word in scripts without spaces. */
const BIGRAMS_PER_WORD = 2;

const words = (list: string): ReadonlySet<string> => new Set(list.split(' '));

/** Pronouns and similar words, for the languages that `detectLanguage` detects. */
const PRONOUNS: Partial<Record<Language, ReadonlySet<string>>> = {
  en: words('it its he she him his her hers they them their theirs this these those there same former latter else'),
  de: words(
    'er sie es ihn ihm ihr ihre ihren ihrem ihrer sein seine seinen seinem seiner dies diese dieser dieses diesen diesem dort dessen deren dafür davon dazu damit daran',
  ),
  es: words(
    'él ella ellos ellas ello su sus esto este esta estos estas eso ese esa esos esas aquel aquella allí le les',
  ),
  fr: words('il elle ils elles lui leur leurs son sa ses cela ça ce cet cette ces celui celle ceux celles y en'),
  it: words(
    'lui lei loro esso essa essi esse suo sua suoi sue questo questa questi queste quello quella quelli quelle lì ci ne',
  ),
  pt: words(
    'ele ela eles elas lhe lhes seu sua seus suas dele dela deles delas isto este esta estes estas isso esse essa esses essas aquele aquela lá',
  ),
  nl: words('hij zij ze het hem haar hun hen zijn dit dat deze die daar ervan hiervan daarvan'),
  sv: words('han hon den det de dem honom henne hans hennes dess deras denna detta dessa där'),
  da: words('han hun den det de dem ham hende hans hendes dens dets deres denne dette disse der'),
  no: words('han hun den det de dem ham henne hans hennes dens dets deres denne dette disse der'),
  fi: words('hän hänen häntä se sen sitä siinä siitä siihen he heidän ne niiden niitä tämä tämän tätä nämä siellä'),
  ro: words('el ea ei ele lui lor său sa săi sale acesta aceasta aceștia acestea acestui acestei acolo'),
  hu: words('ő ők azt ez ezt az azok ezek annak ennek arról erről ott abban ebben'),
  ru: words('он она оно они его её ее их ему ей им нём нем ней них этот эта это эти этого этой этих том той там'),
  tr: words('o onu onun ona onlar onların bu bunu bunun buna bunlar şu orada'),
  ar: words('هذا هذه ذلك تلك هؤلاء هناك فيه فيها منه منها له لها لهم عنه عنها به بها'),
};

/** Pronouns in scripts that identify their language. */
const OTHER_SCRIPT_PRONOUNS = new RegExp(
  [
    '[它他她這这那该該其此]', // Chinese
    'それ|これ|その|この|あの|彼|そこ|同じ',
    '(?<!\\p{L})(?:그것|이것|그녀|그들|그는|그의|그가|거기)',
    'มัน|เขา|เธอ|นี้|นั้น',
    '(?<![\\p{L}\\p{M}])(?:यह|वह|ये|वे|इस|उस|इन|उन|इसका|इसके|इसकी|उसका|उसके|उसकी|उनका|उनके|उनकी|वहाँ)(?![\\p{L}\\p{M}])',
    '(?<!\\p{L})(?:αυτό|αυτός|αυτή|αυτοί|αυτά|αυτού|αυτής|αυτών|εκεί)(?!\\p{L})',
    '(?<!\\p{L})(?:nó|họ|này|đó|ấy)(?!\\p{L})', // Vietnamese
  ].join('|'),
  'u',
);

/**
 * Whether a question is a follow-up: it has a pronoun or hardly any content words. The language is detected from the
 * whole `conversation`, because one question is too short.
 */
export function isFollowUp(question: string, conversation: string): boolean {
  const language = detectLanguage(conversation);
  const lower = question.toLowerCase();
  if (OTHER_SCRIPT_PRONOUNS.test(lower)) return true;
  const questionWords = lower.match(/[\p{L}\p{N}\p{M}]+/gu) ?? [];
  if (questionWords.some((word) => PRONOUNS[language]?.has(word))) return true;
  const isUnspaced = tokenizeText(lower, language).length > questionWords.length;
  const contentWords = isUnspaced
    ? tokenizeText(lower, language).length / BIGRAMS_PER_WORD
    : questionWords.filter((word) => !isStopWord(word, language)).length;
  return contentWords < MIN_CONTENT_WORDS;
}
