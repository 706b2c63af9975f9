/** Replaces a value that must not leave the process. */
export const REDACTED = '[redacted]';

/** Each is linear: a match starts where no other one can, and ends at the first character that it does not take. */
const FORMS: readonly (readonly [form: RegExp, replacement: string])[] = [
  // PEM, also without its end: a text may be cut.
  [
    /-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|$)/g,
    REDACTED,
  ],
  // JWS and JWE, not inside of a longer word, but after an escape of a URL such as `%3D`.
  [/(?<![\w-](?<!%[\dA-Fa-f]{2}))eyJ[\w-]{5,}(?:\.[\w-]*){2,4}/g, REDACTED],
  // Our own: API keys, refresh tokens, and tickets without a signature; not `rdcp_ticket_refused_total`.
  [/rdcp_(?:ticket|rt|[a-z0-9]{1,16}_v[1-9][0-9]{0,3})_[\w-]{16,}(?:\.[\w-]+)*/g, REDACTED],
  // Not in "bearer token" and "Bearer authentication", or in a challenge such as `Bearer realm="shop"`.
  [
    /\b(bearer)(?:\s+|%20)(?!(?:tokens?|auth|authentication|authorization|scheme)["'.,;:)]*(?:\s|$)|(?:realm|error|scope)=)[\w.~+/=-]+/gi,
    `$1 ${REDACTED}`,
  ],
  // User information of a URL, also with an `@` in the password.
  [/:\/\/[^\s/?#"<>]+@/g, `://${REDACTED}@`],
];

/** Nearly every text has none of these and no `@`, and so no credential of these forms. */
const HINT = /eyJ|-----|bearer|rdcp_/i;
/** Length of the shortest text with one: `a://b@c`. */
const SHORTEST = 7;

/** Masks what looks like a JWT, a private key in PEM, a key or ticket of ours, a bearer credential or a URL's user information. */
export function maskCredentials(text: string): string {
  if (text.length < SHORTEST || !(text.includes('@') || HINT.test(text))) return text;
  return FORMS.reduce((masked, [form, replacement]) => masked.replace(form, replacement), text);
}
