import { defineMessages } from '../ui/language.tsx';

/** Texts of answers. */
export const useAnswerMessages = defineMessages({
  openPassage: ['Open the passage in {title}', 'Die Stelle in {title} öffnen'],
});
