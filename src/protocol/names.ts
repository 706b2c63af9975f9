/** CategoryName of RDCP 1.0: 1 to 64 characters, upper case with underscores. */
export const CATEGORY_NAME = /^[A-Z][A-Z0-9_]{0,63}$/;
/** Custom categories carry the prefix `X-`, whose hyphen {@link CATEGORY_NAME} does not allow: they have a form of their own. */
export const CUSTOM_CATEGORY_NAME = /^X-[A-Z][A-Z0-9_-]{0,61}$/;
/** Identifier of RDCP 1.0: tenant, client and request ids. */
export const IDENTIFIER = /^[a-zA-Z0-9._-]{1,255}$/;

/** A name that may go into log lines and consoles: nothing in it ends the line, is invisible or turns its direction round. */
export const PRINTABLE_NAME = /^[^\p{C}\p{Zl}\p{Zp}]{1,255}$/u;

export function isCategoryName(name: string): boolean {
  return CATEGORY_NAME.test(name) || CUSTOM_CATEGORY_NAME.test(name);
}

export function isIdentifier(value: string): boolean {
  return IDENTIFIER.test(value);
}
