import type { Group } from '../command.ts';

/** Where commands find their service, and what they show it. */
export const SOURCES = [
  "Service address: --url, else --profile, else RDCP_URL, else RDCP_PORT on this host, else the profile's, else",
  'http://127.0.0.1:9465. The profile is that of RDCP_PROFILE, else "default", or the only one (rdcp login).',
  "Credential: --key-file or --token-file, else --profile, else RDCP_API_KEY, else the profile's, else .rdcp/dev-key in",
  'this directory.',
] as const;

export const root: Group = {
  summary: 'Switch the debug output of running services.',
  commands: {
    list: async () => (await import('./list.ts')).list,
    tail: async () => (await import('./tail.ts')).tail,
    failures: async () => (await import('./failures.ts')).failures,
    forecast: async () => (await import('./forecast.ts')).forecast,
    explain: async () => (await import('./explain.ts')).explain,
    watch: async () => (await import('./watch.ts')).watch,
    status: async () => (await import('./status.ts')).status,
    tenants: async () => (await import('./tenants.ts')).tenants,
    console: async () => (await import('./console.ts')).consoleCommand,
    enable: async () => (await import('./switch.ts')).enable,
    record: async () => (await import('./switch.ts')).record,
    disable: async () => (await import('./switch.ts')).disable,
    quieten: async () => (await import('./switch.ts')).quieten,
    toggle: async () => (await import('./switch.ts')).toggle,
    reset: async () => (await import('./switch.ts')).reset,
    end: async () => (await import('./switch.ts')).end,
    request: async () => (await import('./request.ts')).request,
    approve: async () => (await import('./approve.ts')).approve,
    audit: async () => (await import('./audit.ts')).audit,
    fleet: async () => (await import('./fleet.ts')).fleet,
    wait: async () => (await import('./wait.ts')).wait,
    health: async () => (await import('./health.ts')).health,
    metrics: async () => (await import('./metrics.ts')).metrics,
    notifications: async () => (await import('./notifications.ts')).notifications,
    login: async () => (await import('./login.ts')).login,
    logout: async () => (await import('./profiles.ts')).logout,
    profiles: async () => (await import('./profiles.ts')).profiles,
    init: async () => (await import('./init.ts')).init,
    mcp: async () => (await import('./mcp.ts')).mcp,
    completion: async () => (await import('./completion.ts')).completion,
    keys: {
      summary: 'create, list and revoke API keys',
      commands: {
        create: async () => (await import('./keys.ts')).keysCreate,
        list: async () => (await import('./keys.ts')).keysList,
        revoke: async () => (await import('./keys.ts')).keysRevoke,
      },
    },
    store: {
      summary: 'prepare a store for services',
      commands: { migrate: async () => (await import('./store.ts')).storeMigrate },
    },
    token: {
      summary: 'create, refresh and revoke tokens of a service that issues them (security.tokens)',
      commands: {
        create: async () => (await import('./token.ts')).tokenCreate,
        refresh: async () => (await import('./token.ts')).tokenRefresh,
        revoke: async () => (await import('./token.ts')).tokenRevoke,
      },
    },
  },
  headings: { list: 'Look', enable: 'Switch', audit: 'Check', login: 'Set up' },
  start: [
    '  rdcp login      once for each service, but for one of this folder',
    '  rdcp list       what can be switched, what is on, how often it is called',
    '  rdcp tail NAME  its debug lines, only to you; nothing is switched',
  ],
  notes: [
    'Service: --url, else RDCP_URL, else RDCP_PORT, else a profile; several: -s A,B.',
    "Key: --key-file, else RDCP_API_KEY, the profile's, or .rdcp/dev-key here.",
    'Exit codes: 0 done, 1 refused, 2 usage error, 3 in part, 4 unreachable.',
    'Options: rdcp <command> --help. All of it: docs/command-line.md.',
  ],
};
