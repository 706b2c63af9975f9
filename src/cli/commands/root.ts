import type { Group } from '../command.ts';
import { audit } from './audit.ts';
import { fleet } from './fleet.ts';
import { health } from './health.ts';
import { keysCreate } from './keys-create.ts';
import { keysList } from './keys-list.ts';
import { keysRevoke } from './keys-revoke.ts';
import { list } from './list.ts';
import { status } from './status.ts';
import { disable, enable, reset, toggle } from './switch.ts';
import { tokenCreate } from './token-create.ts';
import { tokenRefresh } from './token-refresh.ts';
import { tokenRevoke } from './token-revoke.ts';

export const root: Group = {
  summary: 'Switches the debug output of running services.',
  commands: {
    list,
    enable,
    disable,
    toggle,
    reset,
    status,
    health,
    fleet,
    audit,
    keys: {
      summary: 'make, list and revoke API keys',
      commands: { create: keysCreate, list: keysList, revoke: keysRevoke },
    },
    token: {
      summary: 'make, refresh and revoke tokens of a service that issues them (security.tokens)',
      commands: { create: tokenCreate, refresh: tokenRefresh, revoke: tokenRevoke },
    },
  },
  notes: [
    'The service is found by --url, else RDCP_URL, else RDCP_PORT of this host; by default http://127.0.0.1:9465.',
    'The API key is taken from --key-file, else RDCP_API_KEY, else .rdcp/dev-key in this directory.',
    'Exit codes: 0 done, 1 failed, 2 wrong use.',
    '',
  ],
};
