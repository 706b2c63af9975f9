import { AsyncLocalStorage } from 'node:async_hooks';
import { registerHooks } from 'node:module';
import { join, relative, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { stopCoverage } from 'node:v8';
import { parseAst } from 'rolldown/parseAst';

const SRC = join(import.meta.dirname, '..', '..', 'src');
/** What the instrumented sources call, by this name on `globalThis`. */
const RECORD = '__rdcpTraceStep';

/** A function of `src` that was entered, or went on behind an `await`. */
export interface Step {
  /** Below `src`, with `/` on every system. */
  readonly file: string;
  readonly name: string;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

const ofTimers = new AsyncLocalStorage<true>();

/** On a busy machine a timer comes due in the middle of a request. Its work is no part of the request's way. */
function markTimers(): void {
  for (const name of ['setInterval', 'setTimeout'] as const) {
    const set = globalThis[name] as (task: () => void, ...rest: unknown[]) => unknown;
    const marked = (task: () => void, ...rest: unknown[]) => set(() => ofTimers.run(true, task), ...rest);
    Object.assign(globalThis, { [name]: Object.assign(marked, set) });
  }
}

/**
 * Instruments every module of `src` that is imported from now on: each function says that it was entered, and where it
 * goes on behind an `await`, except in what a timer starts. The sources keep their lines.
 */
export function instrument(record: (step: Step) => void): void {
  // What V8 would count here stands in other places than in the files, and would spoil the counts of the other processes.
  stopCoverage();
  const steps: Step[] = [];
  markTimers();
  const report = (index: number, value?: unknown) => {
    if (ofTimers.getStore() === undefined) record(steps[index] as Step);
    return value;
  };
  Object.assign(globalThis, { [RECORD]: report });
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      if (!url.startsWith(`${pathToFileURL(SRC).href}/`) || loaded.source == null) return loaded;
      const file = relative(SRC, fileURLToPath(url)).split(sep).join('/');
      return { ...loaded, source: instrumented(String(loaded.source), (name) => steps.push({ file, name }) - 1) };
    },
  });
}

/** @param stepOf makes a step of the function with that name, and returns its number */
function instrumented(source: string, stepOf: (name: string) => number): string {
  const opening = new Map<number, string>();
  const closing = new Map<number, string>();
  const wrap = ({ start, end }: Node, call: string) => {
    // What lies further in is visited later: it opens behind what is around it, and closes before that.
    opening.set(start, `${opening.get(start) ?? ''}${call}`);
    closing.set(end, `)${closing.get(end) ?? ''}`);
  };

  function visit(node: Node, parent: Node | undefined, within: string): void {
    let name = within;
    if (FUNCTIONS.has(node.type) && isNode(node.body)) {
      name = nameOf(node, parent) ?? within;
      const call = `${RECORD}(${stepOf(name)})`;
      if (node.body.type === 'BlockStatement') opening.set(node.body.start + 1, `${call};`);
      else wrap(node.body, `(${call},`);
    }
    if (node.type === 'AwaitExpression') wrap(node, `${RECORD}(${stepOf(name)},`);
    for (const child of Object.values(node).flat()) if (isNode(child)) visit(child, node, name);
  }

  visit(parseAst(source, { lang: 'ts', sourceType: 'module' }) as unknown as Node, undefined, 'module');
  let text = '';
  let from = 0;
  for (const at of [...new Set([...opening.keys(), ...closing.keys()])].sort((a, b) => a - b)) {
    text += source.slice(from, at) + (closing.get(at) ?? '') + (opening.get(at) ?? '');
    from = at;
  }
  return text + source.slice(from);
}

const FUNCTIONS: ReadonlySet<string> = new Set([
  'FunctionDeclaration',
  'FunctionExpression',
  'ArrowFunctionExpression',
]);

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

/** Its own name, or that of the variable, property or method that it is the value of. */
function nameOf({ id }: Node, parent: Node | undefined): string | undefined {
  for (const named of [id, parent?.key, parent?.id]) {
    if (isNode(named) && typeof named.name === 'string') return named.name;
  }
  return undefined;
}
