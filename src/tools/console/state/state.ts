import { batch, type Signal, signal } from '@preact/signals';
import type { AuditEntry } from '../../../wire/audit-messages.ts';
import type {
  DiscoveredCategory,
  HealthResponse,
  SessionResponse,
  TenantSummary,
  WaitingChange,
  WellKnownDocument,
} from '../../../wire/messages.ts';
import type { EventsFleet, EventsRates, StateEvent } from '../../../wire/streams.ts';
import { type Categories, categoriesAfter } from '../../client/categories-after.ts';
import type { Intent } from './intents.ts';
import type { PartForm } from './part.ts';
import type { Problem } from './problem.ts';

/** The event stream. */
export type Link =
  | { readonly state: 'connecting' | 'live' }
  /** The page is hidden. */
  | { readonly state: 'paused' }
  /** It is open, and nothing has come since, in milliseconds since the epoch. */
  | { readonly state: 'silent'; readonly since: number }
  /** It is tried again at `retryAt`. Both in milliseconds since the epoch. */
  | { readonly state: 'lost'; readonly since: number; readonly retryAt: number; readonly problem: Problem };

type Stage =
  /** Asks the server who it is. */
  | 'starting'
  | 'unreachable'
  | 'signed-out'
  | 'signed-in'
  /** The credential is no longer accepted. The views stay, and the page asks for a credential over them. */
  | 'expired';

/** The change that the dialog asks about. */
export interface ChangeQuestion {
  readonly intent: Intent;
  readonly categories: readonly string[];
  /** Proposed. @default the one that is shown */
  readonly tenant?: string | undefined;
  /** Proposed. @default all work and all lines */
  readonly part?: PartForm;
}

/** The answer to a change. */
export interface Receipt {
  readonly id: number;
  readonly tone: 'good' | 'warning' | 'error';
  readonly title: string;
  readonly detail?: string;
  /** What was changed. */
  readonly categories?: readonly string[];
  /** For whose work. @default all */
  readonly part?: PartForm;
  /** Takes the change back, where there is an opposite. */
  readonly undo?: () => Promise<void>;
}

/** Most receipts on the screen. */
const MAX_RECEIPTS = 4;
/** Most audit entries that are kept. */
const MAX_ENTRIES = 500;

/** Everything that the views show, as signals: a component that reads a value is drawn again when it is replaced. */
export class PageState {
  readonly stage = signal<Stage>('starting');
  /** Why the page is not signed in. */
  readonly problem = signal<Problem>();
  readonly server = signal<WellKnownDocument>();
  readonly session = signal<SessionResponse>();
  /** The tenant that was chosen; `undefined` for everybody, or for the credential's own tenant. */
  readonly tenant = signal<string>();
  readonly link = signal<Link>({ state: 'connecting' });
  /** The categories by name, in the order of the server. `undefined` before the first snapshot. */
  readonly categories = signal<Categories>();
  /** The newest one; the last minutes are in the connection's `history`. */
  readonly rates = signal<EventsRates>();
  /** The calls a second of all categories when they were measured last, at a time in milliseconds since the epoch. */
  readonly measured = signal<{ readonly at: number; readonly rates: ReadonlyMap<string, number> }>();
  readonly isMeasuring = signal(false);
  /** With a shared store. */
  readonly fleet = signal<EventsFleet>();
  readonly health = signal<HealthResponse>();
  /** New entries of the audit trail, newest first; for `admin`. */
  readonly entries = signal<readonly AuditEntry[]>([]);
  /** For those who may choose a tenant. */
  readonly tenants = signal<readonly TenantSummary[]>();
  /** Changes that wait for an approval, the newest first; for `admin`. */
  readonly waiting = signal<readonly WaitingChange[]>([]);
  /** Whether something has changed since `tenants` was read. */
  readonly tenantsStale = signal(false);
  /** The text of the live region for screen readers. */
  readonly announcement = signal('');
  /** Answers to changes, newest last. */
  readonly receipts = signal<readonly Receipt[]>([]);
  /** The change that the dialog asks about. */
  readonly asked = signal<ChangeQuestion>();
  /** Whether shortcuts of a single key are on. */
  readonly shortcuts = signal(true);
  readonly #initial: ReadonlyMap<Signal, unknown> = new Map(this.#signals.map((each) => [each, each.value]));

  get #signals(): readonly Signal[] {
    return Object.values(this as unknown as Readonly<Record<string, Signal>>);
  }

  signOut(problem?: Problem): void {
    batch(() => {
      this.#forgetAll();
      this.stage.value = 'signed-out';
      this.problem.value = problem;
    });
  }

  /** The same person goes on where the credential expired; another one begins with nothing. */
  signIn(session: SessionResponse): void {
    const known = this.session.value;
    const same =
      known !== undefined &&
      known.userId === session.userId &&
      known.tenantId === session.tenantId &&
      known.scopes.join() === session.scopes.join();
    batch(() => {
      if (!same) this.#forgetAll();
      this.session.value = session;
      this.stage.value = 'signed-in';
      this.problem.value = undefined;
    });
  }

  chooseTenant(tenant: string | undefined): void {
    batch(() => {
      this.tenant.value = tenant;
      this.#forgetTenant();
    });
  }

  takeCategories(categories: readonly DiscoveredCategory[]): void {
    this.categories.value = new Map(categories.map((category) => [category.name, category]));
  }

  addReceipt(receipt: Receipt): void {
    this.receipts.value = [...this.receipts.value, receipt].slice(-MAX_RECEIPTS);
  }

  dismissReceipt(id: number): void {
    this.receipts.value = this.receipts.value.filter((receipt) => receipt.id !== id);
  }

  /** An event of a newer server changes nothing. */
  receive(received: StateEvent): void {
    const { event, data } = received;
    batch(() => {
      this.categories.value = categoriesAfter(this.categories.value, received);
      if (event === 'snapshot') this.fleet.value = data.fleet;
    });
    if (event === 'fleet') this.fleet.value = data;
    else if (event === 'rates') this.rates.value = data;
    else if (event === 'audit') this.entries.value = [data, ...this.entries.value].slice(0, MAX_ENTRIES);
  }

  /** Everything but the server. */
  #forgetAll(): void {
    this.#forget(this.#signals.filter((each) => each !== this.server));
  }

  #forgetTenant(): void {
    const { categories, rates, measured, fleet, waiting } = this;
    this.#forget([categories, rates, measured, fleet, waiting]);
  }

  #forget(signals: Iterable<Signal>): void {
    for (const each of signals) each.value = this.#initial.get(each);
  }
}
