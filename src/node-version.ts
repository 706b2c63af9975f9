/** As `engines` in package.json says. */
const OLDEST = [22, 15] as const;

/** One line where this Node is too old for the package; to be known before anything that needs a newer one is loaded. */
export function unsupportedNode(version: string = process.versions.node): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return undefined;
  return `opentelemetry-instrumentation-rdcp needs Node ${OLDEST.join('.')} or newer, this is Node ${version}`;
}
