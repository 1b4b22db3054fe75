import type { Messages } from '../en/index.ts';

export const overview: Messages['overview'] = {
  title: 'Übersicht',
  intro: 'Die letzten 30 Tage dieser Organisation.',
  cacheRate: 'Prompt-Tokens aus dem Cache',
  credits: 'Guthaben',
  unlimited: 'unbegrenzt',
  byModel: 'Nach Modell',
};
