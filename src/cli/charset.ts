/**
 * Whether the terminal reads UTF-8: by the first of the variables that is set (POSIX, 8.2). Where none is, as in most
 * containers, it does.
 */
export function speaksUtf8({ LC_ALL, LC_CTYPE, LANG }: Readonly<Record<string, string | undefined>>): boolean {
  const locale = [LC_ALL, LC_CTYPE, LANG].find((value) => value !== undefined && value !== '');
  return locale === undefined || /utf-?8/i.test(locale);
}
