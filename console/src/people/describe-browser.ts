/** By the first name that occurs in the header `User-Agent`: browsers add the names of others. */
const BROWSERS = { 'Edg/': 'Edge', 'OPR/': 'Opera', 'Firefox/': 'Firefox', 'Chrome/': 'Chrome', 'Safari/': 'Safari' };
const SYSTEMS = {
  Windows: 'Windows',
  Android: 'Android',
  iPhone: 'iPhone',
  iPad: 'iPad',
  'Mac OS': 'macOS',
  Linux: 'Linux',
};

const findName = (userAgent: string, names: Readonly<Record<string, string>>): string[] =>
  Object.entries(names)
    .filter(([part]) => userAgent.includes(part))
    .map(([, name]) => name)
    .slice(0, 1);

/** Browser and system of a header `User-Agent`, such as "Firefox · Linux"; null when it names neither. */
export function describeBrowser(userAgent: string | null): string | null {
  if (userAgent === null) return null;
  const names = [...findName(userAgent, BROWSERS), ...findName(userAgent, SYSTEMS)];
  return names.length === 0 ? null : names.join(' · ');
}
