/** Loads a package as an ES module. `undefined` for one that is not handed on. */
type Load = (name: string) => unknown;

// The published code is CommonJS. Where it is loaded by one of our ES modules, that hands on the packages of OpenTelemetry as an
// ES module gets them: their CommonJS would be a second copy. `build.ts` puts the question before each `require` of one.
const KEY = Symbol.for('opentelemetry-instrumentation-rdcp.es-modules');
const holder = globalThis as { [KEY]?: Load };

export function handOn(load: Load): void {
  holder[KEY] = load;
}

/** `undefined` where no ES module of ours is loaded. */
export function handedOn(): Load | undefined {
  return holder[KEY];
}
