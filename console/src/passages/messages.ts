import { defineMessages } from '../ui/language.tsx';

/** Texts of the panel with a passage of a document. */
export const usePassageMessages = defineMessages({
  passage: ['Passage', 'Stelle'],
  page: ['Page', 'Seite'],
  slide: ['Slide', 'Folie'],
  pageImage: ['Page {page}', 'Seite {page}'],
  previousPage: ['Previous page', 'Vorherige Seite'],
  nextPage: ['Next page', 'Nächste Seite'],
  enlarge: ['Enlarge the page in a new tab', 'Die Seite in einem neuen Tab vergrößern'],
  notMarked: ['The passage is not on this page.', 'Die Stelle ist nicht auf dieser Seite.'],
  text: ['Text', 'Text'],
  show: ['Show passage', 'Stelle zeigen'],
  openDocument: ['Open the document in a new tab', 'Das Dokument in einem neuen Tab öffnen'],
  openSource: ['Open the passage at its source', 'Die Stelle an ihrer Quelle öffnen'],
  gone: ['The document no longer contains this passage.', 'Das Dokument enthält diese Stelle nicht mehr.'],
});
