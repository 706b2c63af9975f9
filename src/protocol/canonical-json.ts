/**
 * Canonical JSON (RFC 8785) of a JSON value. In ECMAScript its number and string forms are `JSON.stringify`'s own
 * (sections 3.2.2.2 and 3.2.2.3), and the order of properties is that of UTF-16 code units (section 3.2.3), which is how
 * strings compare.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value === 'string') return PLAIN.test(value) ? `"${value}"` : JSON.stringify(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  // String concatenation: every change is sealed, and joining arrays would double the cost.
  let members = '';
  if (Array.isArray(value)) {
    for (const item of value) members += `${members === '' ? '' : ','}${canonicalJson(item ?? null)}`;
    return `[${members}]`;
  }
  for (const name of Object.keys(value).sort()) {
    const member: unknown = Reflect.get(value, name);
    if (member === undefined) continue;
    members += `${members === '' ? '' : ','}${canonicalJson(name)}:${canonicalJson(member)}`;
  }
  return `{${members}}`;
}

/** Strings that need no escaping, as nearly all in audit entries. The test is faster than `JSON.stringify`. */
const PLAIN = /^[ !#-[\]-~]*$/;
