export const signIn = {
  title: 'Sign in',
  email: 'Email',
  password: 'Password',
  submit: 'Sign in',
  noAccount:
    'No account yet? An owner of your organization can send you an invitation link. The first account is created with the link that the service printed at its start.',
  continueWith: 'Continue with {name}',
  or: 'or with your password',
  errors: {
    denied: 'The sign-in provider refused the sign-in.',
    expired: 'The sign-in took too long, or was started in another browser. Try again.',
    issuer_unavailable: 'The sign-in provider does not respond. Try again, or use your password.',
    invalid_response: 'The response of the sign-in provider is not valid. Try again.',
    email_unverified: 'The sign-in provider has not verified your email address.',
    domain_not_allowed: 'The domain of your email address may not sign in here.',
    account_exists:
      'An account with your email address exists. Sign in with its password, and connect it with the sign-in provider under Settings.',
    unknown_user: 'You have no account yet. Ask an owner of your organization for an invitation.',
    no_role: 'Your groups have no role in this service. Ask its operator.',
    invalid_invitation: 'This invitation was used, withdrawn or has expired. Ask for a new link.',
    last_owner:
      'You are the only owner of this organization. Make another member owner before you accept another role.',
    identity_in_use: 'Your account at the sign-in provider is already connected with another account.',
    session_ended: 'Your session ended while your account was being connected. Sign in and connect it again.',
    failed: 'The sign-in failed.',
  },
};
