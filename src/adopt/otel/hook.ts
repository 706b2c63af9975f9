import { createRequire } from 'node:module';
import { INSTRUMENTATION_NAME, VERSION } from '../../wire/version.ts';
import type { LoadEvents } from '../hook.ts';
import type { AdoptedModule } from '../types.ts';
import { isSupported, satisfies } from '../versions.ts';

type Instrumentation = typeof import('@opentelemetry/instrumentation');

/**
 * Watches modules by OpenTelemetry's hooks. They see what is required, and what is imported where the application has
 * registered OpenTelemetry's loader.
 */
export function watchByInstrumentation(
  modules: readonly AdoptedModule[],
  { loaded, unsupported }: Pick<LoadEvents, 'loaded' | 'unsupported'>,
): () => void {
  // Loaded here, because worker threads of newer releases of Node.js do without.
  const { InstrumentationBase, InstrumentationNodeModuleDefinition, InstrumentationNodeModuleFile }: Instrumentation =
    createRequire(import.meta.url)('@opentelemetry/instrumentation');
  const handedOver = modules.filter(({ edit }) => edit === undefined);
  const definitions = handedOver.map((module) => {
    const { name, versions, file } = module;
    const handOver = (given: unknown, version = '') => {
      const exports = module.esm === true ? given : ofCommonJs(given);
      if (satisfies(version, versions)) {
        loaded({ module, exports, copy: { name, version, url: `${name}/${file}`, loadedBefore: false } });
      } else if (!isSupported(modules, name, version)) unsupported(module, version);
      return given;
    };
    // The package's entry comes as the package, any other file as itself.
    const inner = new InstrumentationNodeModuleFile(`${name}/${file}`, ['*'], handOver, () => {});
    return new InstrumentationNodeModuleDefinition(name, ['*'], handOver, undefined, [inner]);
  });
  const instrumentation = new (class extends InstrumentationBase {
    protected override init() {
      return definitions;
    }
  })(`${INSTRUMENTATION_NAME}/adopt`, VERSION, { enabled: true });
  return () => instrumentation.disable();
}

/** The exports of a CommonJS file. For one that is imported, OpenTelemetry's loader gives the namespace of its wrapper. */
function ofCommonJs(given: unknown): unknown {
  const isNamespace =
    typeof given === 'object' && given !== null && Reflect.get(given, Symbol.toStringTag) === 'Module';
  return isNamespace ? Reflect.get(given, 'default') : given;
}
