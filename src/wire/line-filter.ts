import { createRequire } from 'node:module';
import type { DebugRecord } from './debug-record.ts';
import { isObject } from './json-text.ts';
import { patternMatcher } from './names.ts';
import { REFUSALS } from './refusals.ts';
import type { LineFilter } from './target.ts';

/** Why the expression cannot be evaluated for a line, such as `no field `rows``. Never holds a value of the line. */
export interface Unevaluated {
  readonly problem: string;
}

/** Whether a line is meant; it may also be one that the expression cannot be evaluated for. Never throws. */
export type LinePredicate = (line: DebugRecord, instance: string) => boolean | Unevaluated;

/** Most steps that an expression may take on one line. */
const MAX_STEPS = 1000;
/** Assumed number of elements of a list: a macro such as `exists` takes its steps for each. */
const ASSUMED_ELEMENTS = 100;
const MACROS = new Set(['all', 'exists', 'exists_one', 'filter', 'map']);
/** Not a regular expression, which could take for ever, nor `join` and the like, whose results can be far larger than the line. */
const FUNCTIONS = new Set([
  ...['has', ...MACROS],
  ...'size contains startsWith endsWith indexOf lastIndexOf substring lowerAscii upperAscii trim'.split(' '),
  ...'bool int uint double string type dyn timestamp duration'.split(' '),
]);
const LIMITS = { maxAstNodes: 250, maxDepth: 32, maxListElements: 64, maxMapEntries: 16, maxCallArguments: 8 };

type ExpressionLanguage = typeof import('@marcbachmann/cel-js');
type Expression = ReturnType<InstanceType<ExpressionLanguage['Environment']>['parse']>;
type Node = Expression['ast'];

/**
 * Compiles a filter. The expression language is loaded with the first `where`.
 * @param random returns a number from 0 to 1; decides about calls without a trace
 * @param place of the filter in the request
 * @throws {RdcpError} `RDCP_MALFORMED_REQUEST` for an expression that is not valid, or could take too long
 */
export async function compileLineFilter(
  filter: LineFilter,
  random: () => number,
  place = 'filter',
): Promise<LinePredicate> {
  const { where, text, sample } = filter;
  const predicates: LinePredicate[] = [];
  if (sample !== undefined) predicates.push(({ traceId }) => shareOf(traceId, random) < sample);
  if (text !== undefined) {
    const matches = patternMatcher(text);
    predicates.push(({ message }) => matches(message));
  }
  if (where !== undefined) predicates.push(evaluating(await compile(where, place)));
  return (line, instance) => {
    for (const matches of predicates) {
      const answer = matches(line, instance);
      if (answer !== true) return answer;
    }
    return true;
  };
}

/**
 * Loads the expression language at once: a configuration is read without waiting.
 * @returns what is wrong with an expression, such as `is not a valid expression at character 5: …`; `undefined` if it is valid, or
 * where ES modules cannot be required (Jest, a bundle, Yarn Plug'n'Play): the rule's first switch checks it there
 */
export function expressionProblem(where: string): string | undefined {
  let language: ExpressionLanguage;
  try {
    language = createRequire(import.meta.url)('@marcbachmann/cel-js');
  } catch {
    return undefined;
  }
  try {
    parse(language, where);
    return undefined;
  } catch (error) {
    if (error instanceof InvalidExpression) return error.message;
    throw error;
  }
}

/** The same number for every line of a trace, in every process: the last 32 bits of its id, as OpenTelemetry samples. */
function shareOf(traceId: string | undefined, random: () => number): number {
  return traceId === undefined ? random() : Number.parseInt(traceId.slice(-8), 16) / 2 ** 32;
}

function evaluating({ expression, names }: CompiledExpression): LinePredicate {
  return (line, instance) => {
    const { attributes, message, category, tenant, traceId } = line;
    const variables = { ...attributes, attributes, message, category, tenant, traceId, instance };
    for (const { path } of names) placeDotted(variables, attributes, path);
    try {
      return expression(variables) === true;
    } catch (error) {
      return { problem: problemOf(error as Problem, names) };
    }
  };
}

/** Puts an attribute whose name has dots where the expression looks for it: `user.id` of `{ user: { id } }`. */
function placeDotted(variables: Fields, attributes: DebugRecord['attributes'], path: readonly string[]): void {
  for (let length = 2; length <= path.length; length++) {
    const name = path.slice(0, length).join('.');
    if (!Object.hasOwn(attributes, name)) continue;
    let at: Fields = variables;
    for (const part of path.slice(0, length - 1)) {
      const there = Object.hasOwn(at, part) ? at[part] : undefined;
      // A copy: attributes with fields belong to the line.
      const inner: Fields = isObject(there) ? { ...there } : {};
      at[part] = inner;
      at = inner;
    }
    at[path[length - 1]!] = attributes[name];
  }
}

type Fields = Record<string, unknown>;

/** A name with dots in an expression, such as `user.id`. */
interface DottedName {
  readonly path: readonly string[];
  readonly start: number;
}

function dottedNamesIn(node: Node): DottedName[] {
  const path = pathOf(node);
  if (path !== undefined) return path.length > 1 ? [{ path, start: node.start }] : [];
  return nodesIn(node.args).flatMap(dottedNamesIn);
}

/** `undefined` for what is no name, and for `attributes.…`. */
function pathOf({ op, args }: Node): readonly string[] | undefined {
  if (op === 'id') return args === 'attributes' ? undefined : [args as string];
  if (op !== '.') return undefined;
  const [left, field] = args as [Node, string];
  const path = pathOf(left);
  return path && [...path, field];
}

/** Says what is missing by its name in the expression, not by a value of the line. */
function problemOf({ code, node, summary = '' }: Problem, names: readonly DottedName[]): string {
  // It names types.
  if (code === 'no_such_overload') return summary.replace(/dyn<(\w+)>/g, '$1');
  if (node === undefined || (code !== 'unknown_variable' && code !== 'no_such_key')) return 'it fails for them';
  const name = names.find(({ start }) => start === node.start)?.path.join('.') ?? fieldOf(node as Node);
  return name === undefined ? 'no such field' : `no field \`${name}\``;
}

function fieldOf({ op, args }: Node): string | undefined {
  if (op === 'id') return args;
  if (op === '.') return args[1];
  if (op !== '[]' || args[1].op !== 'value') return undefined;
  return typeof args[1].args === 'string' ? args[1].args : undefined;
}

async function compile(where: string, place: string): Promise<CompiledExpression> {
  const language = await import('@marcbachmann/cel-js');
  try {
    return parse(language, where);
  } catch (error) {
    if (!(error instanceof InvalidExpression)) throw error;
    throw REFUSALS.malformed(`${place}.where`, error.message);
  }
}

type CompiledExpression = ReturnType<typeof parse>;

const TEXTS = ['message', 'category', 'tenant', 'traceId', 'instance'];

/** @returns the expression, and the names with dots in it @throws {InvalidExpression} */
function parse({ Environment }: ExpressionLanguage, where: string) {
  const parsedWith = (texts: readonly string[]): Expression => {
    const environment = new Environment({ unlistedVariablesAreDyn: true, limits: LIMITS });
    environment.registerVariable('attributes', 'map');
    for (const name of texts) environment.registerVariable(name, 'string');
    try {
      return environment.parse(where);
    } catch (error) {
      throw new InvalidExpression(error as Problem);
    }
  };
  const names = dottedNamesIn(parsedWith(TEXTS).ast);
  // `tenant.id` is an attribute, although `tenant` is a text.
  const expression = parsedWith(TEXTS.filter((text) => names.every(({ path }) => path[0] !== text)));
  const { valid, error, type } = expression.check();
  if (!valid) throw new InvalidExpression(error ?? {});
  if (type !== 'bool' && type !== 'dyn')
    throw new InvalidExpression({ summary: `the result is ${type}, not true or false` });
  const steps = stepsOf(expression.ast);
  if (steps > MAX_STEPS)
    throw new InvalidExpression({ summary: `it could take ${steps} steps on a line; ${MAX_STEPS} are allowed` });
  return { expression, names };
}

/** An upper bound of the steps of one evaluation. */
function stepsOf({ op, args }: Node): number {
  const call = op === 'rcall' || op === 'call' ? String((args as readonly unknown[])[0]) : undefined;
  if (call !== undefined && !FUNCTIONS.has(call))
    throw new InvalidExpression({ summary: `${call}() is not available` });
  const inner = nodesIn(args).reduce((sum, node) => sum + stepsOf(node), 0);
  return 1 + inner * (call !== undefined && MACROS.has(call) ? ASSUMED_ELEMENTS : 1);
}

function nodesIn(args: unknown): readonly Node[] {
  if (Array.isArray(args)) return args.flatMap(nodesIn);
  return typeof args === 'object' && args !== null && 'op' in args ? [args as Node] : [];
}

/** The part of an error of the language that says what and where. */
interface Problem {
  readonly code?: string;
  readonly node?: { readonly start: number } | undefined;
  readonly summary?: string;
  readonly range?: { readonly start: number } | undefined;
}

class InvalidExpression extends Error {
  constructor({ summary = 'it cannot be read', range }: Problem) {
    const at = range === undefined ? '' : ` at character ${range.start + 1}`;
    super(`is not a valid expression${at}: ${summary}`);
  }
}
