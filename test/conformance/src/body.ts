import { expect, isObject, type JsonObject, show, skip } from './expectation.ts';
import type { Answer } from './http.ts';
import { isVendorField, type ValueType } from './value-types.ts';

interface Located {
  readonly where: string;
  readonly value: unknown;
}

/**
 * The values at a path. `a.b` names fields, `a[]` every element of an array, `a{}` every value of an object. A field
 * that is missing counts as `undefined`; below something that is no container nothing is found.
 */
export function locate(body: unknown, path: string): readonly Located[] {
  let found: readonly Located[] = [{ where: '', value: body }];
  for (const step of path.match(/\[\]|\{\}|[^.[\]{}]+/g) ?? []) found = found.flatMap((at) => descend(at, step));
  return found;
}

function descend({ where, value }: Located, step: string): readonly Located[] {
  if (step === '[]') {
    if (!Array.isArray(value)) return [{ where: `${where}[]`, value: undefined }];
    return value.map((element, index) => ({ where: `${where}[${index}]`, value: element }));
  }
  if (step === '{}') {
    if (!isObject(value)) return [{ where: `${where}{}`, value: undefined }];
    return Object.entries(value).map(([name, member]) => ({ where: `${where}.${name}`, value: member }));
  }
  return [{ where: where === '' ? step : `${where}.${step}`, value: isObject(value) ? value[step] : undefined }];
}

/** The one value at a path without `[]` and `{}`. */
export function valueAt(body: unknown, path: string): unknown {
  return locate(body, path)[0]?.value;
}

/** Every value at the path must be of the type; where there is none to look at, the check is skipped. */
export function expectAt(body: unknown, path: string, type: ValueType): void {
  const found = locate(body, path);
  if (found.length === 0) skip(`the answer holds nothing at ${path}`);
  const wrong = found.find(({ value }) => !type.test(value));
  if (wrong !== undefined) expect(false, `${wrong.where} to be ${type.is}`, show(wrong.value));
}

/** Every name of the object's fields must be of the type. */
export function expectNames(object: unknown, where: string, type: ValueType): void {
  expect(isObject(object), `${where} to be an object`, object);
  const names = Object.keys(object);
  if (names.length === 0) skip(`${where} is empty`);
  const wrong = names.find((name) => !type.test(name));
  expect(wrong === undefined, `every name in ${where} to be ${type.is}`, wrong);
}

/** Fields beyond the known ones must carry a vendor's prefix (Extensibility, rule 2). */
export function expectVendorFields(object: unknown, where: string, known: readonly string[]): void {
  expect(isObject(object), `${where} to be an object`, object);
  const strange = Object.keys(object).find((name) => !known.includes(name) && !isVendorField(name));
  expect(strange === undefined, `additions to ${where} to carry a vendor prefix`, `the field ${show(strange)}`);
}

/** The same, for every object at the path. */
export function expectVendorFieldsAt(body: unknown, path: string, known: readonly string[]): void {
  for (const { where, value } of locate(body, path)) expectVendorFields(value, where, known);
}

/** Fails unless the answer has this status, then returns its JSON object. */
export function expectOk(answer: Answer, status = 200): JsonObject {
  expect(answer.status === status, `${answer.request} to be answered with ${status}`, describe(answer));
  expect(isObject(answer.body), `${answer.request} to be answered with a JSON object`, show(answer.text));
  return answer.body;
}

/** The `error` object of a refusal. */
export function errorOf(answer: Answer): JsonObject | undefined {
  const error = valueAt(answer.body, 'error');
  return isObject(error) ? error : undefined;
}

/** Fails unless the answer is a refusal with one of the statuses and one of the codes. */
export function expectRefusal(answer: Answer, statuses: readonly number[], codes: readonly string[]): JsonObject {
  const error = errorOf(answer);
  const code = error?.code;
  const fits = statuses.includes(answer.status) && (codes.length === 0 || codes.includes(String(code)));
  const wanted = codes.length === 0 ? statuses.join(' or ') : `${statuses.join(' or ')} with ${codes.join(' or ')}`;
  expect(fits && error !== undefined, `${answer.request} to be refused with ${wanted}`, describe(answer));
  return error;
}

/** Status and error code of an answer, or the start of what it says. */
export function describe(answer: Answer): string {
  const code = errorOf(answer)?.code;
  return `${answer.status} ${typeof code === 'string' ? `${code} ` : ''}${show(answer.body ?? answer.text)}`;
}
