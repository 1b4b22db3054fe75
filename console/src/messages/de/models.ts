import type { Messages } from '../en/index.ts';

export const models: Messages['models'] = {
  title: 'Modelle',
  intro: 'Modellnamen dieser Instanz und die Engines dahinter.',
  engine: 'Engine',
  backend: 'Modell',
  context: 'Kontext',
  ready: 'bereit',
  notReady: 'nicht bereit',
  chosenBy: 'Gewählt durch',
  price: 'Preis je 1 Mio. Tokens',
};
