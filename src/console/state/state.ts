import type { AuditEntry } from '../../protocol/audit-messages.ts';
import type {
  DiscoveredCategory,
  HealthResponse,
  SessionResponse,
  TenantSummary,
  WellKnownDocument,
} from '../../protocol/messages.ts';
import type { EventsFleet, EventsRates, StateEvent } from '../../protocol/streams.ts';
import type { Intent } from './change.ts';
import type { Problem } from './problem.ts';

/** The event stream. */
export type Link =
  | { readonly state: 'connecting' }
  | { readonly state: 'live' }
  /** The page is hidden. */
  | { readonly state: 'paused' }
  /** It is tried again at `retryAt`. Both in milliseconds since the epoch. */
  | { readonly state: 'lost'; readonly since: number; readonly retryAt: number; readonly problem: Problem };

export type Stage =
  /** Asks the server who it is. */
  | 'starting'
  | 'unreachable'
  | 'signed-out'
  | 'signed-in'
  /** The credential is no longer accepted. The views stay, and the page asks for a credential over them. */
  | 'expired';

/** Everything that the views show. It is replaced, never changed. */
export interface State {
  readonly stage: Stage;
  /** Why the page is not signed in. */
  readonly problem?: Problem | undefined;
  readonly server?: WellKnownDocument | undefined;
  readonly session?: SessionResponse | undefined;
  /** The tenant that was chosen; `undefined` for everybody, or for the credential's own tenant. */
  readonly tenant?: string | undefined;
  readonly link: Link;
  /** By name, in the order of the server. `undefined` before the first snapshot. */
  readonly categories?: ReadonlyMap<string, DiscoveredCategory> | undefined;
  /** The newest one; the last minutes are in the connection's `history`. */
  readonly rates?: EventsRates | undefined;
  /** With a shared store. */
  readonly fleet?: EventsFleet | undefined;
  readonly health?: HealthResponse | undefined;
  /** New entries of the audit trail, newest first; for `admin`. */
  readonly entries: readonly AuditEntry[];
  /** For those who may choose a tenant. */
  readonly tenants?: readonly TenantSummary[] | undefined;
  /** What the live region says. */
  readonly announcement: string;
  /** Answers to changes, newest last. */
  readonly receipts: readonly Receipt[];
  /** The change that somebody is about to make. */
  readonly asked?: Asked | undefined;
  /** Whether single keys do something. */
  readonly shortcuts: boolean;
}

/** What the dialog for changes is open for. */
export interface Asked {
  readonly intent: Intent;
  readonly categories: readonly string[];
}

/** The answer to a change. */
export interface Receipt {
  readonly id: number;
  readonly tone: 'good' | 'warning' | 'error';
  readonly title: string;
  readonly detail?: string;
}

type Replaced = 'server' | 'link' | 'health' | 'tenants' | 'announcement' | 'asked' | 'shortcuts';

export type Action =
  /** What takes the place of what was known of it. */
  | { readonly type: 'known'; readonly known: Partial<Pick<State, Replaced>> }
  | { readonly type: 'unreachable'; readonly problem: Problem }
  | { readonly type: 'signed-out'; readonly problem?: Problem }
  | { readonly type: 'signed-in'; readonly session: SessionResponse }
  | { readonly type: 'expired' }
  | { readonly type: 'tenant'; readonly tenant: string | undefined }
  | { readonly type: 'event'; readonly event: StateEvent }
  | { readonly type: 'categories'; readonly categories: readonly DiscoveredCategory[] }
  | { readonly type: 'receipt'; readonly receipt: Receipt }
  | { readonly type: 'receipt-seen'; readonly id: number };

export const INITIAL: State = {
  stage: 'starting',
  link: { state: 'connecting' },
  entries: [],
  announcement: '',
  receipts: [],
  shortcuts: true,
};

/** Most receipts on the screen. */
const MAX_RECEIPTS = 4;
/** Most audit entries that are kept. */
const MAX_ENTRIES = 500;

export function reduce(state: State, action: Action): State {
  switch (action.type) {
    case 'known':
      return { ...state, ...action.known };
    case 'unreachable':
      return { ...state, stage: 'unreachable', problem: action.problem };
    case 'signed-out':
      return { ...INITIAL, stage: 'signed-out', server: state.server, problem: action.problem };
    case 'signed-in':
      return signedIn(state, action.session);
    case 'expired':
      return state.stage === 'signed-in' ? { ...state, stage: 'expired' } : state;
    case 'tenant':
      return state.tenant === action.tenant ? state : { ...state, tenant: action.tenant, ...NOTHING_KNOWN };
    case 'categories':
      return { ...state, categories: byName(action.categories) };
    case 'receipt':
      return { ...state, receipts: [...state.receipts, action.receipt].slice(-MAX_RECEIPTS) };
    case 'receipt-seen':
      return { ...state, receipts: state.receipts.filter(({ id }) => id !== action.id) };
    case 'event':
      return afterEvent(state, action.event);
  }
}

/** What differs between tenants. */
const NOTHING_KNOWN = { categories: undefined, rates: undefined, fleet: undefined } as const;

/** The same person goes on where the credential expired; anybody else begins with nothing. */
function signedIn(state: State, session: SessionResponse): State {
  const known = state.session;
  const same =
    known !== undefined &&
    known.userId === session.userId &&
    known.tenantId === session.tenantId &&
    known.scopes.join() === session.scopes.join();
  return { ...(same ? state : { ...INITIAL, server: state.server }), session, stage: 'signed-in', problem: undefined };
}

function afterEvent(state: State, event: StateEvent): State {
  switch (event.event) {
    case 'snapshot':
      return { ...state, categories: byName(event.data.categories), fleet: event.data.fleet };
    case 'category': {
      const old = state.categories?.get(event.data.name);
      const metrics = old?.metrics ?? { callsTotal: 0, callsPerSecond: 0 };
      const limits = event.data.enabled &&
        old?.otelrdcp_budget !== undefined && { otelrdcp_budget: old.otelrdcp_budget };
      const categories = new Map(state.categories);
      categories.set(event.data.name, { ...event.data, ...limits, metrics });
      return { ...state, categories: old === undefined ? sorted(categories) : categories };
    }
    case 'fleet':
      return { ...state, fleet: event.data };
    case 'rates':
      return { ...state, rates: event.data };
    case 'audit':
      return { ...state, entries: [event.data, ...state.entries].slice(0, MAX_ENTRIES) };
    default:
      // An event of a newer server.
      return state;
  }
}

function byName(categories: readonly DiscoveredCategory[]): ReadonlyMap<string, DiscoveredCategory> {
  return new Map(categories.map((category) => [category.name, category]));
}

function sorted(categories: ReadonlyMap<string, DiscoveredCategory>): ReadonlyMap<string, DiscoveredCategory> {
  return new Map([...categories].sort(([a], [b]) => (a < b ? -1 : 1)));
}
