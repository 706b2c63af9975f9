/** How a page of docs/ is tried: by its program of `programs/`, by rows of commands.ts, or not, because it is no feature of the package. */
export interface Tried {
  /** Arguments for Node before the program of the page's name. */
  readonly program?: readonly string[];
  /** Variables of its environment, beside the addresses of databases; `PORT` is a free port. */
  readonly env?: Readonly<Record<string, string>>;
  /** The beginning of a row. */
  readonly rows?: readonly string[];
  readonly not?: string;
}

const REGISTER = ['--import', 'opentelemetry-instrumentation-rdcp/register'];
const KEY = { RDCP_SERVER_API_KEY: 'a-secret-of-thirty-two-characters', RDCP_PORT: 'PORT' };

/** A new page needs a line here, with the commands that try it or a program of its name. */
export const FEATURES: Readonly<Record<string, Tried>> = {
  adoption: { program: REGISTER, env: { ...KEY, OTEL_EXPORTER_PROMETHEUS_PORT: '0' }, rows: ['quieten CHATTY'] },
  agents: { rows: ['mcp'] },
  alerts: { program: [] },
  attributes: { not: 'package.full.ts has them in the records of an SDK' },
  audit: { rows: ['audit verify'] },
  'behind-a-proxy': { program: [] },
  'command-line': { rows: ['completion bash'] },
  compatibility: { not: 'compatibility.full.ts, runtimes.full.ts and typescript.full.ts try its versions' },
  console: { rows: ['console'] },
  credentials: { rows: ['keys create', 'login --profile pay', 'approve'] },
  'debug-lines': { program: [] },
  endpoint: { program: [] },
  jobs: { program: [], rows: ['enable IMPORT --for 5m --print'] },
  messages: { not: 'a reference of what is written' },
  migration: { not: 'what an application may delete after adoption' },
  notifications: { rows: ['notifications'] },
  oauth: { rows: ['token'] },
  'one-user-one-request': { rows: ['tail ORDERS -m', 'request'] },
  'only-failures': { rows: ['tail ORDERS --on-error'] },
  operators: { rows: ['list', 'tail ORDERS -s', 'end'] },
  options: { program: [] },
  'own-store': { not: 'the example of test/examples/own-store.test.ts, against the built package' },
  past: { rows: ['failures', 'tail KEPT --since'] },
  performance: { not: 'figures' },
  'processes-and-threads': { program: [] },
  recipes: { not: 'test/documents/recipes.full.ts runs them' },
  services: { not: 'package.full.ts has an SDK of its own, documents.test.ts servers in which it is mounted' },
  'stores-and-fleets': { program: [], rows: ['fleet', 'store migrate'] },
  tail: { rows: ['tail', 'forecast', 'watch'] },
  telemetry: { not: 'package.full.ts has record, span and metric of a call' },
  tenants: { rows: ['tenants'] },
};
