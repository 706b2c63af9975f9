import type { Group } from '../command.ts';

/** Where commands find their service, and what they show it. */
export const SOURCES = [
  "Service address: --url, else --profile, else RDCP_URL, else RDCP_PORT on this host, else the profile's, else",
  'http://127.0.0.1:9465. The profile is that of RDCP_PROFILE, else "default" (rdcp login).',
  "Credential: --key-file or --token-file, else --profile, else RDCP_API_KEY, else the profile's, else .rdcp/dev-key in",
  'this directory.',
] as const;

export const root: Group = {
  summary: 'Switch the debug output of running services.',
  commands: {
    list: async () => (await import('./list.ts')).list,
    enable: async () => (await import('./switch.ts')).enable,
    disable: async () => (await import('./switch.ts')).disable,
    toggle: async () => (await import('./switch.ts')).toggle,
    reset: async () => (await import('./switch.ts')).reset,
    tail: async () => (await import('./tail.ts')).tail,
    forecast: async () => (await import('./forecast.ts')).forecast,
    watch: async () => (await import('./watch.ts')).watch,
    metrics: async () => (await import('./metrics.ts')).metrics,
    tenants: async () => (await import('./tenants.ts')).tenants,
    status: async () => (await import('./status.ts')).status,
    health: async () => (await import('./health.ts')).health,
    fleet: async () => (await import('./fleet.ts')).fleet,
    wait: async () => (await import('./wait.ts')).wait,
    console: async () => (await import('./console.ts')).consoleCommand,
    audit: async () => (await import('./audit.ts')).audit,
    login: async () => (await import('./login.ts')).login,
    logout: async () => (await import('./logout.ts')).logout,
    profiles: async () => (await import('./profiles.ts')).profiles,
    completion: async () => (await import('./completion.ts')).completion,
    init: async () => (await import('./init.ts')).init,
    conformance: async () => (await import('./conformance.ts')).conformance,
    keys: {
      summary: 'create, list and revoke API keys',
      commands: {
        create: async () => (await import('./keys-create.ts')).keysCreate,
        list: async () => (await import('./keys-list.ts')).keysList,
        revoke: async () => (await import('./keys-revoke.ts')).keysRevoke,
      },
    },
    token: {
      summary: 'create, refresh and revoke tokens of a service that issues them (security.tokens)',
      commands: {
        create: async () => (await import('./token-create.ts')).tokenCreate,
        refresh: async () => (await import('./token-refresh.ts')).tokenRefresh,
        revoke: async () => (await import('./token-revoke.ts')).tokenRevoke,
      },
    },
  },
  notes: [
    ...SOURCES,
    'Exit codes: 0 done, 1 refused, 2 usage error, 3 applied in part, 4 unreachable.',
    "Run 'rdcp <command> --help' for its options.",
  ],
};
