/** Same as `engines` in package.json. */
const OLDEST = [22, 15] as const;

/** An error message if this Node is too old. Must be checked before modules that need a newer Node are loaded. */
export function unsupportedNode(version: string = process.versions.node): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return undefined;
  return `opentelemetry-instrumentation-rdcp needs Node ${OLDEST.join('.')} or newer, this is Node ${version}`;
}
