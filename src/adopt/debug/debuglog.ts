import { syncBuiltinESMExports } from 'node:module';
import util from 'node:util';
import { formatLine } from '../../calls/emit/formatting.ts';
import { isOwnLoading, isOwnWork } from '../../otel/own-work.ts';
import type { AdoptedCategory } from '../category.ts';
import { Patches } from '../patches.ts';
import type { Adoption, Source } from '../types.ts';

type Log = util.DebugLogger;
type OnFirstCall = (log: util.DebugLoggerFunction) => void;

/**
 * Sections of `util.debuglog`. A section named in `NODE_DEBUG` is on by default, and Node.js itself prints its lines; lines of
 * others go to the outputs of debug calls. Node's own sections use an internal function, which cannot be reached.
 */
export const DEBUGLOG: Source = {
  kind: 'debuglog',
  option: 'debuglog',
  start(adoption) {
    const patch: Patch = { adoption };
    const original = util.debuglog;
    const patches = new Patches();
    const debuglog = function debuglog(section: string, onFirstCall?: OnFirstCall): Log {
      return adopted(patch, original, section, onFirstCall) ?? original(section, onFirstCall);
    };
    for (const name of ['debuglog', 'debug']) patches.replace(util, name, debuglog);
    syncBuiltinESMExports();
    return () => {
      patch.adoption = undefined;
      patches.restore();
      syncBuiltinESMExports();
    };
  },
};

/** Without `adoption` once everything was put back: what the application has kept then does what Node's does. */
interface Patch {
  adoption: Adoption | undefined;
}

interface Section {
  readonly patch: Patch;
  readonly name: string;
  readonly node: Log;
  /** Whether it is named in `NODE_DEBUG`. */
  readonly isNodes: boolean;
  readonly category: AdoptedCategory;
}

/** `undefined` where the section stays Node's, for example because its name is no text. */
function adopted(
  patch: Patch,
  original: typeof util.debuglog,
  section: string,
  onFirstCall: OnFirstCall | undefined,
): Log | undefined {
  const { adoption } = patch;
  if (typeof section !== 'string') return undefined;
  return adoption?.attempt(() => {
    const name = section.toUpperCase();
    const node = original(name);
    const isNodes = node.enabled;
    const make = () => {
      const description = `section ${name} of util.debuglog`;
      const category = patch.adoption?.category(name, { description, enabledByDefault: isNodes });
      return category && logOf({ patch, name, node, isNodes, category }, onFirstCall);
    };
    return isOwnLoading() && !isNodes ? ofEndpoint(node, make) : make();
  });
}

function logOf(section: Section, onFirstCall: OnFirstCall | undefined): Log {
  const write = writer(section);
  if (typeof onFirstCall !== 'function') return shapedAs('logger', section, write);
  let called = false;
  return shapedAs('logger', section, (...given) => {
    if (!called) {
      called = true;
      // The application keeps this function in place of the first one.
      onFirstCall(shapedAs('debug', section, writer(section)));
    }
    write(...given);
  });
}

/** The section of a library of our own endpoint, such as Koa. It becomes a category when the application uses it as well. */
function ofEndpoint(node: Log, make: () => Log | undefined): Log {
  let made: Log | undefined;
  const current = () => {
    if (made === undefined && !isOwnLoading() && !isOwnWork()) made = make();
    return made ?? node;
  };
  const write: Write = (...given) => current()(...(given as [string]));
  return shaped('logger', write, () => current().enabled);
}

type Write = (...given: unknown[]) => void;

function writer({ patch, name, node, isNodes, category }: Section): Write {
  const { redaction } = category;
  const describe = (given: readonly unknown[]) => {
    const args = redaction.formatted(given);
    const rest = typeof args[0] === 'string' ? args.slice(1) : args;
    const attributes = { 'debuglog.section': name, ...(rest.length > 0 && { 'debuglog.arguments': rest }) };
    return { message: formatLine(args), attributes };
  };
  const write: Write = (...given) => {
    if (patch.adoption === undefined) return node(...(given as [string]));
    const bytes = typeof given[0] === 'string' ? given[0].length : name.length;
    const line = { bytes, given, describe, isTimeless: true };
    if (!isNodes) {
      if (category.enabled) category.write(line);
    } else if (category.passes({ ...line, reach: 'open' })) {
      node(...((category.decided ? redaction.formatted(given) : given) as [string]));
    }
  };
  // V8 makes no array of arguments that are only passed on.
  return (...given) => (category.wanted || patch.adoption === undefined ? write(...given) : undefined);
}

function shapedAs(name: 'logger' | 'debug', { patch, node, category }: Section, write: Write): Log {
  const enabled = () => (patch.adoption === undefined ? node.enabled : category.wanted && category.enabled);
  return shaped(name, write, enabled);
}

/** Gives a function the properties of those that Node returns. */
function shaped(name: string, write: Write, enabled: () => boolean): Log {
  return Object.defineProperties(write, {
    name: { value: name, configurable: true },
    enabled: { get: enabled, enumerable: true, configurable: true },
  }) as unknown as Log;
}
