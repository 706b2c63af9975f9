import { duplicateMember, parsedJson } from '../../wire/json-text.ts';
import { UsageError } from './command.ts';

/** The object in a file that people edit. @param otherwise what to do about one that is not JSON @throws {UsageError} */
export function parseObject(content: string, file: string, otherwise: string): Readonly<Record<string, unknown>> {
  const value = parsedJson(content);
  if (value === undefined) throw new UsageError(`${file} is not JSON: ${otherwise}`);
  const twice = duplicateMember(content);
  if (twice !== undefined) throw new UsageError(`${file} has '${twice}' twice: keep one of them`);
  return Object(value);
}

export type Forms = Readonly<Record<string, (value: string) => boolean>>;

export function isAddress(text: string): boolean {
  return /^https?:$/.test(URL.parse(text)?.protocol ?? '');
}

export function wrongField(service: unknown, forms: Forms): string | undefined {
  const fields: [string, unknown][] = Object.entries(Object(service));
  if (!Object.hasOwn(Object(service), 'url')) return 'url';
  const isRight = ([name, value]: [string, unknown]) =>
    Object.hasOwn(forms, name) && typeof value === 'string' && forms[name]?.(value) === true;
  return fields.find((field) => !isRight(field))?.[0];
}
