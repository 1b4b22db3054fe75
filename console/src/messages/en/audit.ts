export const audit = {
  title: 'Audit log',
  intro: 'Who changed keys, policies, knowledge bases, members and credits.',
  action: 'Action',
  actor: 'Actor',
  resource: 'Resource',
  address: 'Address',
  time: 'Time',
  changes: 'Changes',
  empty: 'No events yet.',
};
