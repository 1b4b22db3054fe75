/** Reads the token after `#`, which browsers send to no server, and removes it from the address and the history. */
export function takeToken(): string | null {
  const token = location.hash.slice(1);
  if (token !== '') history.replaceState(null, '', location.pathname);
  return token === '' ? null : token;
}
