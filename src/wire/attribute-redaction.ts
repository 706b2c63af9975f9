/** Names and values that must not leave the process. */
export interface ValueRedaction {
  /** Whether the value under a name is hidden. */
  hides(name: string): boolean;
  /** Masks credentials in a text that are recognized by their form. */
  mask(text: string): string;
}

/** Prefixes of the names of headers and parameters. */
const PREFIX = /^(?:http\.(?:request|response)\.header|url\.query)\./;
/** A parameter with its value, in a URL, a query or a form. */
const PARAMETER = /(^|[?&;])([^=&?;#\s]{1,256})=([^&;#\s]+)/g;

/** Whether an attribute of work is hidden, also a header or a parameter whose own name is. */
export function isHidden(name: string, { hides }: ValueRedaction): boolean {
  return hides(name) || hides(name.replace(PREFIX, ''));
}

/** A value without credentials, and without hidden parameters: `url.query` and `http.target` of spans hold all of them. */
export function shown(value: string, { hides, mask }: ValueRedaction): string {
  const masked = mask(value);
  if (!masked.includes('=')) return masked;
  return masked.replace(PARAMETER, (parameter, before: string, name: string) =>
    hides(decoded(name)) ? `${before}${name}=[redacted]` : parameter,
  );
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
