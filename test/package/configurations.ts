/** The versions and tools with which the package is tried. `docs/compatibility.md` has the same table, and a test holds the two equal. */
export interface Configuration {
  readonly kind: 'node' | 'redis' | 'jest' | 'vitest' | 'typescript' | 'bun' | 'deno';
  readonly version: string;
  /** The line of OpenTelemetry JS, the module system, or TypeScript's `moduleResolution`. */
  readonly variant?: string;
  readonly name: string;
  readonly tried: string;
}

const NODE_VERSIONS = ['22.15.0', '24.21.0', '26.10.0'];
const MAIN_PATH =
  'every entry imported and required; a category switched over HTTP; its record, span and metric in the SDK';
const STORE =
  'installed beside it; a category switched, state in a real Redis, by URL and by a client; types of the client';
const UNDER_TEST = 'a category switched over HTTP in a test file; one gate';
const TYPES = 'every entry from an ES module and from CommonJS';
const API = '`./api` alone: a category registered, off, its function called';

export const CONFIGURATIONS: readonly Configuration[] = [
  ...NODE_VERSIONS.flatMap((version) =>
    ['2.x', '3.x'].map(
      (variant) =>
        ({
          kind: 'node',
          version,
          variant,
          name: `Node.js ${version}, OpenTelemetry ${variant}`,
          tried: MAIN_PATH,
        }) as const,
    ),
  ),
  {
    kind: 'redis',
    version: '4.7.1',
    name: 'redis 4.7.1',
    tried: 'installed beside it; the store says that it needs version 5',
  },
  ...['5.12.1', '6.3.1'].map(
    (version) => ({ kind: 'redis', version, name: `redis ${version}`, tried: STORE }) as const,
  ),
  ...['CommonJS', 'ES modules'].map(
    (variant) =>
      ({
        kind: 'jest',
        version: '30.5.2',
        variant,
        name: `Jest 30.5.2, ${variant}`,
        tried: UNDER_TEST,
      }) as const,
  ),
  { kind: 'vitest', version: '5.1.1', name: 'Vitest 5.1.1', tried: UNDER_TEST },
  ...Object.entries({
    '5.9.3': ['node10', 'node16', 'nodenext', 'bundler'],
    '7.0.2': ['node16', 'nodenext', 'bundler'],
  }).flatMap(([version, modes]) =>
    modes.map(
      (variant) =>
        ({
          kind: 'typescript',
          version,
          variant,
          name: `TypeScript ${version}, \`${variant}\``,
          tried: TYPES,
        }) as const,
    ),
  ),
  { kind: 'bun', version: '1.4.5', name: 'Bun 1.4.5', tried: API },
  { kind: 'deno', version: '2.9.6', name: 'Deno 2.9.6', tried: API },
];

export const configured = (kind: Configuration['kind']) =>
  CONFIGURATIONS.filter((configuration) => configuration.kind === kind);
