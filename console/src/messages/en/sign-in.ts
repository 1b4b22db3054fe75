export const signIn = {
  title: 'Sign in',
  email: 'Email',
  password: 'Password',
  submit: 'Sign in',
  noAccount:
    'No account yet? An owner of your organization can send you an invitation link. The first account is created with the link that the service printed at its start.',
};
