/** CategoryName of RDCP 1.0: 1 to 64 characters, upper case with underscores. */
export const CATEGORY_NAME = /^[A-Z][A-Z0-9_]{0,63}$/;
/** Names of custom categories: prefix `X-`, and hyphens are allowed. */
export const CUSTOM_CATEGORY_NAME = /^X-[A-Z][A-Z0-9_-]{0,61}$/;
/** Identifier of RDCP 1.0: tenant, client and request ids. */
export const IDENTIFIER = /^[a-zA-Z0-9._-]{1,255}$/;

/** A name that is safe to print: no line breaks, invisible characters or direction overrides. */
export const PRINTABLE_NAME = /^[^\p{C}\p{Zl}\p{Zp}]{1,255}$/u;

export function isCategoryName(name: string): boolean {
  return CATEGORY_NAME.test(name) || CUSTOM_CATEGORY_NAME.test(name);
}

export function isIdentifier(value: string): boolean {
  return IDENTIFIER.test(value);
}
