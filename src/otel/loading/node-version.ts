/** Same as `engines` in package.json. */
const OLDEST = [22, 15] as const;

/** Why modules of this package cannot be loaded in this process, as an error message. Must be checked before they are. */
export function unsupportedNode(version: string = process.versions.node): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]))
    return `opentelemetry-instrumentation-rdcp needs Node ${OLDEST.join('.')} or newer, this is Node ${version}`;
  const added = addedToObjects();
  if (added === undefined) return undefined;
  return `opentelemetry-instrumentation-rdcp cannot be loaded after Object.prototype got the enumerable member ${added}: load it before the library that adds it, best by node --import opentelemetry-instrumentation-rdcp/register`;
}

/** The first enumerable member of `Object.prototype`. With one, zod, which enumerates by `for … in`, cannot be loaded. */
export function addedToObjects(): string | undefined {
  for (const name in {}) return name;
  return undefined;
}
