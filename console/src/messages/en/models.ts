export const models = {
  title: 'Models',
  intro: 'Model ids of this instance, and the engines that serve them.',
  engine: 'Engine',
  backend: 'Model',
  context: 'Context',
  ready: 'ready',
  notReady: 'not ready',
  chosenBy: 'Chosen by',
  price: 'Price per 1M tokens',
};
