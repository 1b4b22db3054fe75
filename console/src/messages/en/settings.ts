export const settings = {
  title: 'Settings',
  password: 'Change password',
  current: 'Current password',
  next: 'New password',
  changed: 'The password was changed. All other sessions have ended.',
  languageTitle: 'Language',
};
