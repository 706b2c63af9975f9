import { isDeepStrictEqual } from 'node:util';
import { hasScope, identityKey, isOfTenants } from '../../access/principal.ts';
import type { Members } from '../../control/fleet/fleet.ts';
import type { CategoryView } from '../../control/types.ts';
import { given } from '../../wire/json-text.ts';
import type { EventsBudget, EventsCategory, EventsFleet, EventsRates, EventsSnapshot } from '../../wire/streams.ts';
import { header } from '../middleware/headers.ts';
import type { RouteParts } from '../parts.ts';
import { type Context, type Handler, required, timestampNow } from '../steps.ts';
import { answerHead, EventStream, StreamPlaces } from '../streams/event-stream.ts';
import type { Watcher } from '../streams/watchers.ts';
import { described, discovered, figures, limitsOf, seesTenants } from './categories.ts';
import { shown } from './service.ts';

const MAX_WATCHERS = { total: 32, perIdentity: 8 };

/** `GET /rdcp/v1/events`: the state, and how it changes. */
export function events(parts: RouteParts): Handler {
  const places = new StreamPlaces({ name: 'event streams', ...MAX_WATCHERS });
  const { fleet, streams, watchers, watchCredential } = parts;
  return async (ctx) => {
    await fleet?.refresh();
    if (ctx.method === 'HEAD') return answerHead(ctx);
    const principal = required(ctx, 'principal');
    const leave = places.take({ identity: identityKey(principal) });
    const members = await watchers.prepare(hasScope(principal, 'admin'));
    const stream = new EventStream(ctx, parts);
    const end = () => stream.end();
    const reader = new EventsReader(ctx, parts, stream, members);
    stream.whenOver(leave, watchers.add(reader), streams.add(end), watchCredential(ctx, ['discovery'], end));
    reader.begin(header(ctx.req, 'last-event-id'));
    return undefined;
  };
}

/** Over how many of the last samples, one a second, events compute calls a second. */
const RATE_SAMPLES = 5;
/** Shortest time that a rate is measured over, in milliseconds: a reader may begin just before its first event is due. */
const SHORTEST_MS = 500;

/** One reader. When it was too slow for an event, it gets a new snapshot as soon as it has room. */
class EventsReader implements Watcher {
  readonly scope: Watcher['scope'];
  readonly tenantId: string | undefined;
  readonly audits: boolean;
  readonly seesTenants: boolean;
  readonly #ctx: Context;
  readonly #parts: RouteParts;
  readonly #stream: EventStream;
  readonly #isTenant: boolean;
  #members: Members | undefined;
  #fleet: EventsFleet | undefined;
  #stale = false;
  /** The calls since the start at points in time, the oldest first. */
  readonly #samples: { readonly at: number; readonly totals: ReadonlyMap<string, number> }[] = [];
  #revision: number | undefined;
  #hasHistory = false;

  constructor(ctx: Context, parts: RouteParts, stream: EventStream, members: Members | undefined) {
    const principal = required(ctx, 'principal');
    const { scope, tenantId, tenants } = required(ctx, 'tenancy');
    this.#ctx = ctx;
    this.#parts = parts;
    this.#stream = stream;
    this.scope = scope;
    this.tenantId = tenantId;
    this.seesTenants = seesTenants(ctx);
    this.audits = hasScope(principal, 'admin') && tenants === undefined;
    this.#isTenant = isOfTenants(principal);
    this.#members = members;
  }

  begin(lastEventId: string | undefined): void {
    const { watchers } = this.#parts;
    this.#fleet = this.#visibleFleet();
    this.#recentRates();
    if (!watchers.missedNothing(this.scope, lastEventId)) {
      this.#snapshot();
      return;
    }
    this.#revision = watchers.revision;
    // Processes may have come and gone meanwhile.
    if (this.#fleet !== undefined) this.#send('fleet', this.#fleet);
  }

  categories(changed: readonly CategoryView[], revision: number): void {
    if (this.#stale) {
      this.#snapshot();
      return;
    }
    this.#stream.together(() => this.#sendAll(changed, revision));
    this.#revision = revision;
  }

  #sendAll(changed: readonly CategoryView[], revision: number): void {
    const last = changed.at(-1);
    for (const view of changed) {
      if (!this.#stream.hasRoom) {
        this.#stale = true;
        break;
      }
      const data: EventsCategory = { ...described(this.#ctx, view), ...figures(this.#ctx, this.#parts, view) };
      // After the last one the reader has the whole revision. Changes without a revision have no id.
      const id = view === last && revision !== this.#revision ? String(revision) : undefined;
      this.#send('category', data, id);
    }
  }

  replaced(): void {
    this.#snapshot();
  }

  fleet(members: Members): void {
    this.#members = members;
    const fleet = this.#visibleFleet();
    if (fleet === undefined || isDeepStrictEqual(fleet, this.#fleet)) return;
    if (this.#send('fleet', fleet)) this.#fleet = fleet;
  }

  rates(): void {
    if (!this.#stream.hasRoom) return;
    if (this.#stale) this.#snapshot();
    const { plane, clock, measurements } = this.#parts;
    const instances = measurements.instances();
    const views = plane.view(this.scope);
    const measured = this.#recentRates();
    const data: EventsRates = {
      timestamp: timestampNow(clock),
      callsPerSecond: measured.reduce((sum, [, rate]) => sum + rate, 0),
      categories: Object.fromEntries(measured.filter(([, rate]) => rate > 0)),
      ...(instances !== undefined && { instances }),
      ...this.#budgetsInUse(views),
      ...(!this.#hasHistory && this.#recentCalls()),
    };
    // The next ones come in a second.
    if (this.#stream.send('rates', data)) this.#hasHistory = true;
  }

  audit(entry: Parameters<Watcher['audit']>[0]): void {
    this.#stream.send('audit', entry);
  }

  /** Takes a sample. @returns the calls a second of each category since the oldest sample that is kept; over the last minute before there is one */
  #recentRates(): readonly (readonly [category: string, rate: number])[] {
    const { plane, clock, measurements } = this.#parts;
    const { callsOf } = required(this.#ctx, 'tenancy');
    const at = clock.monotonic();
    const views = plane.view(this.scope);
    const totals = new Map(views.map((view) => [view.name, measurements.countedSoFar(view, callsOf)]));
    const oldest = this.#samples[0];
    if (this.#samples.push({ at, totals }) > RATE_SAMPLES) this.#samples.shift();
    if (oldest === undefined || at - oldest.at < SHORTEST_MS) {
      return views.map((view) => [view.name, measurements.callsOf(view, callsOf).callsPerSecond]);
    }
    const seconds = (at - oldest.at) / 1000;
    // Fewer calls than before: a worker of the cluster has gone.
    return [...totals].map(([name, total]) => [name, Math.max(0, total - (oldest.totals.get(name) ?? 0)) / seconds]);
  }

  /** Not kept for each tenant: a tenant would see the calls of others. */
  #recentCalls(): Pick<EventsRates, 'history'> {
    if (required(this.#ctx, 'tenancy').callsOf !== undefined) return {};
    const { secondsAgo, categories } = this.#parts.history.read();
    const short = (value: number) => Number(value.toPrecision(3));
    const called = [...categories].map(([name, rates]) => [name, rates.map(short)] as const);
    return { history: { secondsAgo: secondsAgo.map(short), categories: Object.fromEntries(called) } };
  }

  #budgetsInUse(views: readonly CategoryView[]): Pick<EventsRates, 'budgets'> {
    const tenancy = required(this.#ctx, 'tenancy');
    const used = new Map<string, EventsBudget>();
    for (const view of views) {
      const { budget, dropped } = limitsOf(view, tenancy, this.#parts.budgets);
      if (budget === undefined) continue;
      const { burst, callsLeftNow, callsLeft, bytesLeft } = budget || {};
      const inUse = callsLeftNow !== burst || callsLeft !== undefined || bytesLeft !== undefined || dropped > 0;
      if (!inUse) continue;
      used.set(view.name, { ...given({ burst, callsLeftNow, callsLeft, bytesLeft }), ...(dropped > 0 && { dropped }) });
    }
    return used.size === 0 ? {} : { budgets: Object.fromEntries(used) };
  }

  #snapshot(): void {
    if (!this.#stream.hasRoom) {
      this.#stale = true;
      return;
    }
    const { revision } = this.#parts.watchers;
    const data: EventsSnapshot = {
      ...discovered(this.#ctx, this.#parts),
      revision,
      ...(this.#fleet !== undefined && { fleet: this.#fleet }),
    };
    if (!this.#send('snapshot', data, String(revision))) return;
    this.#stale = false;
    this.#revision = revision;
  }

  #visibleFleet(): EventsFleet | undefined {
    if (this.#members === undefined) return undefined;
    const { summary, members, lost } = this.#members;
    return {
      ...summary,
      ...(!this.#isTenant && {
        members: [...members, ...lost].map((member) => {
          const { lastSeenAt: _, ...rest } = shown(member, 0);
          return rest;
        }),
      }),
    };
  }

  #send(event: string, data: object, id?: string): boolean {
    const sent = this.#stream.send(event, data, id);
    if (!sent) this.#stale = true;
    return sent;
  }
}
