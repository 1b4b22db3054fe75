export const overview = {
  title: 'Overview',
  intro: 'The last 30 days of this organization.',
  cacheRate: 'Cached prompt tokens',
  credits: 'Credits left',
  unlimited: 'unlimited',
  byModel: 'By model',
};
