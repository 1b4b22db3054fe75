export const join = {
  title: 'Create your account',
  intro: 'This link works once. If an account exists for your email, enter its password.',
  name: 'Name',
  submit: 'Create account',
  missing: 'This link has no invitation. Open the whole link, including the part after #.',
  passwordHint: 'At least 10 characters.',
};
