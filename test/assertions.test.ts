import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { parseAst } from 'rolldown/parseAst';

// A test that asserts nothing passes whatever the code does. A body asserts when it mentions `assert`, throws, or calls a
// function of the tests that does; functions are followed by name, through imports too.

type Node = { readonly type: string; readonly start: number; readonly [field: string]: unknown };

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && 'type' in value;

/** A node and all below it. Types assert nothing. */
function within(node: Node): Node[] {
  const found = [node];
  for (const { typeAnnotation: _, ...fields } of found) {
    for (const value of Object.values(fields)) {
      if (Array.isArray(value)) found.push(...value.filter(isNode));
      else if (isNode(value)) found.push(value);
    }
  }
  return found;
}

const isFunction = ({ type }: Node) => /^(?:ArrowFunction|Function)/.test(type);

const nameOf = (value: unknown): string | undefined =>
  isNode(value) && (value.type === 'Identifier' || value.type === 'PrivateIdentifier') ? String(value.name) : undefined;

/** The names that a body mentions; `throw` counts as `assert`. */
function mentionsOf(body: Node): ReadonlySet<string> {
  const names = new Set<string>();
  for (const node of within(body)) {
    const name = node.type === 'ThrowStatement' ? 'assert' : nameOf(node);
    if (name !== undefined) names.add(name);
  }
  return names;
}

interface Source {
  readonly program: Node;
  readonly text: string;
  /** What has a name: functions, methods, and variables made of them. */
  readonly named: ReadonlyMap<string, Node[]>;
  /** Imported names, as they are here, with where they come from; `*` for everything that is passed on. */
  readonly imported: ReadonlyMap<string, { readonly file: string; readonly name: string }>;
}

const sources = new Map<string, Source>();

function sourceOf(file: string): Source {
  const known = sources.get(file);
  if (known !== undefined) return known;
  const text = readFileSync(file, 'utf8');
  const program = parseAst(text, { lang: 'ts' }) as unknown as Node;
  const named = new Map<string, Node[]>();
  const imported = new Map<string, { file: string; name: string }>();
  for (const node of within(program)) {
    const key = nameOf(node.id) ?? nameOf(node.key);
    const value = [node.init, node.value, node.body].filter(isNode).find((part) => nameOf(part) === undefined);
    if (key !== undefined && value !== undefined) named.set(key, [...(named.get(key) ?? []), value]);
    // Members of what an imported function returns are those of that name in its file.
    if (isNode(node.id) && node.id.type === 'ObjectPattern' && isNode(node.init) && isNode(node.init.callee)) {
      const from = imported.get(nameOf(node.init.callee) ?? '');
      for (const member of node.id.properties as Node[]) {
        const name = nameOf(member.key) ?? '';
        if (from !== undefined) imported.set(nameOf(member.value) ?? name, { file: from.file, name });
      }
    }
    if (!isNode(node.source) || !String(node.source.value).startsWith('.')) continue;
    const from = join(dirname(file), String(node.source.value));
    if (node.type === 'ExportAllDeclaration') imported.set('*', { file: from, name: '*' });
    for (const { local, imported: original, exported } of (node.specifiers ?? []) as Node[]) {
      const name = nameOf(exported) ?? nameOf(local) ?? '';
      imported.set(name, { file: from, name: nameOf(original) ?? nameOf(local) ?? name });
    }
  }
  const source = { program, text, named, imported };
  sources.set(file, source);
  return source;
}

/** Whether code in a file asserts something, by itself or by what it mentions. */
function asserts(file: string, body: Node, seen = new Set<string>()): boolean {
  const mentions = mentionsOf(body);
  return mentions.has('assert') || [...mentions].some((name) => namesAnAssertion(file, name, seen));
}

function namesAnAssertion(file: string, name: string, seen: Set<string>): boolean {
  const key = `${file} ${name}`;
  if (seen.has(key) || !file.includes('/test/')) return false;
  seen.add(key);
  const { named, imported } = sourceOf(file);
  const passedOn = imported.get('*');
  const origin = imported.get(name) ?? (passedOn && { ...passedOn, name });
  return (
    named.get(name)?.some((value) => asserts(file, value, seen)) === true ||
    (origin !== undefined && namesAnAssertion(origin.file, origin.name, seen))
  );
}

/**
 * The bodies of `test(…)`, `it(…)`, `inFull(…)`, `test.skip(…)` and `t.test(…)`; not those that a list of cases brings along, and not the
 * empty one that only reports a skip.
 */
function testsOf(file: string): Node[] {
  const { program, named } = sourceOf(file);
  return within(program).flatMap(({ type, callee, arguments: given }) => {
    if (type !== 'CallExpression' || !isNode(callee)) return [];
    const name = [callee, callee.object, callee.property]
      .map(nameOf)
      .filter((part) => part !== undefined)
      .join('.');
    if (!/^(?:test|it|inFull|inBoth|\w+\.test|(?:test|it)\.(?:skip|only|todo))$/.test(name)) return [];
    const [, options, body = options] = given as Node[];
    if (body === undefined) return [];
    if (!isFunction(body)) return named.has(nameOf(body) ?? '') ? [body] : [];
    return isEmpty(body) && options !== body ? [] : [body];
  });
}

function isEmpty({ body }: Node): boolean {
  return isNode(body) && Array.isArray(body.body) && body.body.length === 0;
}

test('every test asserts something', () => {
  const files = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => join(import.meta.dirname, file));
  let tests = 0;
  const wrong: string[] = [];
  for (const file of files) {
    for (const body of testsOf(file)) {
      tests += 1;
      if (asserts(file, body)) continue;
      const line = sourceOf(file).text.slice(0, body.start).split('\n').length;
      wrong.push(`${relative(import.meta.dirname, file)}:${line}`);
    }
  }
  assert.ok(tests > 1000, `${tests} tests were found`);
  assert.deepEqual(wrong, []);
});
