export const settings = {
  title: 'Settings',
  password: 'Change password',
  current: 'Current password',
  next: 'New password',
  changed: 'The password was changed. All other sessions have ended.',
  languageTitle: 'Language',
  connect: 'Connect',
  connected: 'Your account is connected: you can sign in with {name}.',
  notConnected: 'Connect your account to sign in with {name} as well.',
};
