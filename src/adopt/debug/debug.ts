import { formatLine } from '../../calls/emit/formatting.ts';
import { Patches } from '../patches.ts';
import type { Adoption, Source } from '../types.ts';
import { DebugCopy, describe } from './copy.ts';
import { type DebugInstance, isDebug, isInstance, type Log } from './exports.ts';

export const DEBUG: Source = {
  kind: 'debug',
  option: 'debug',
  modules: ['>=2.6.9 <3', '>=3.2.7 <4', '>=4.3.4 <5'].map((versions) => ({
    name: 'debug',
    versions,
    file: 'src/index.js',
  })),
  adopt(exports, copy, adoption) {
    if (!isDebug(exports)) throw new Error(`debug ${copy.version} exports something unknown, or is frozen`);
    const adopted = new DebugCopy(exports, copy, adoption);
    adopted.start();
    return () => adopted.stop();
  },
  recognizes: isDebug,
  isLogger: isInstance,
  adoptLogger: (logger, _options, adoption) => adoptInstance(logger as unknown as DebugInstance, adoption),
};

/** Adopts a single instance, whose lines come out where debug writes them. */
function adoptInstance(instance: DebugInstance, adoption: Adoption): (() => void) | undefined {
  // Undefined in 4.3.4 and later, where nothing was ever enabled.
  const native = Boolean(instance.enabled);
  const category = adoption.category(instance.namespace, { enabledByDefault: native });
  if (category === undefined) return undefined;
  const write: Log = instance.log ?? ((...args) => process.stderr.write(`${formatLine(args)}\n`));
  const patches = new Patches();
  const isPlain = Object.getOwnPropertyDescriptor(instance, 'enabled')?.writable === true;
  patches.replace(instance, 'log', (...given: unknown[]) => {
    const [first, ...rest] = category.redaction.formatted(given);
    // Values of `%O` and the like were formatted out of our reach.
    const args = [typeof first === 'string' ? category.redaction.inspected(first) : first, ...rest];
    const bytes = formatLine(args).length;
    const reach = native ? 'open' : undefined;
    if (!category.passes({ bytes, reach, given: args, describe: (shown) => describe(instance, shown) }))
      return undefined;
    return adoption.attempt(() => Reflect.apply(write, instance, native && !category.decided ? given : args), category);
  });
  instance.enabled = category.opensGuards;
  const stop = category.onWanted(() => {
    instance.enabled = category.opensGuards;
  });
  return () => {
    stop();
    // `null` ends what was set on an instance of 4.3.4 and later.
    Reflect.set(instance, 'enabled', isPlain ? native : null);
    patches.restore();
  };
}
