/**
 * Canonical JSON (RFC 8785) of a JSON value. In ECMAScript its number and string forms are `JSON.stringify`'s own
 * (sections 3.2.2.2 and 3.2.2.3), and the order of properties is that of UTF-16 code units (section 3.2.3), which is how
 * strings compare.
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item ?? null)).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`);
  return `{${members.join(',')}}`;
}
