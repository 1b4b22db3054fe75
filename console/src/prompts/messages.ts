import { defineMessages } from '../ui/language.tsx';

/** Texts of the library of prompts. */
export const usePromptMessages = defineMessages({
  title: ['Prompts', 'Prompts'],
  intro: [
    'Texts that you use again, with variables such as {{topic}}. Type / in an empty message to insert one.',
    'Texte, die Sie wieder verwenden, mit Variablen wie {{thema}}. Mit / in einer leeren Nachricht fügen Sie einen ein.',
  ],
  create: ['Create prompt', 'Prompt anlegen'],
  empty: [
    'Your prompts and those of your organization appear here.',
    'Hier erscheinen Ihre Prompts und die Ihrer Organisation.',
  ],
  search: ['Search prompts', 'Prompts durchsuchen'],
  text: ['Text', 'Text'],
  textHint: [
    'Variables are names in double braces, such as {{topic}}. Write \\{{ for two braces.',
    'Variablen sind Namen in doppelten Klammern, zum Beispiel {{thema}}. Für zwei Klammern schreiben Sie \\{{.',
  ],
  variables: ['Variables', 'Variablen'],
  shared: ['Shared', 'Geteilt'],
  share: ['Share in the organization', 'In der Organisation teilen'],
  shareHint: [
    'Everyone can use it; you and the owners can change it.',
    'Alle können ihn verwenden; Sie und die Eigentümer können ihn ändern.',
  ],
  version: ['Version', 'Fassung'],
  numbered: ['Version {number}', 'Fassung {number}'],
  newest: ['newest', 'neueste'],
  history: ['Versions', 'Fassungen'],
  updated: ['Changed', 'Geändert'],
  saveVersion: ['Save version {number}', 'Fassung {number} speichern'],
  restore: ['Restore', 'Wiederherstellen'],
  restoreText: [
    'The text of this version becomes a new version. The versions between stay.',
    'Der Text dieser Fassung wird zu einer neuen Fassung. Die Fassungen dazwischen bleiben.',
  ],
  compare: ['Compare with', 'Vergleichen mit'],
  changes: [
    'What version {after} removed (struck through) and added (underlined) since version {before}:',
    'Was Fassung {after} seit Fassung {before} entfernt (durchgestrichen) und ergänzt (unterstrichen) hat:',
  ],
  deleteText: [
    'The prompt and all its versions are deleted. Requests that name it fail from now on.',
    'Der Prompt und alle seine Fassungen werden gelöscht. Anfragen, die ihn nennen, schlagen ab jetzt fehl.',
  ],
  insert: ['Insert', 'Einfügen'],
  manage: ['Manage prompts', 'Prompts verwalten'],
  noMatch: ['No prompt found', 'Kein Prompt gefunden'],
});
