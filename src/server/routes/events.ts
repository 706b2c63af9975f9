import { hasScope, identityKey } from '../../auth/principal.ts';
import type { Clock, Delay, Schedule } from '../../clock.ts';
import type { CategoryView, ControlPlane } from '../../control/types.ts';
import type { Members } from '../../fleet/types.ts';
import type { Measurements } from '../../metrics/types.ts';
import type { EventsBudget, EventsCategory, EventsFleet, EventsRates } from '../../protocol/streams.ts';
import type { WatchCredential } from '../credential-watch.ts';
import { answerHead, EventStream } from '../event-stream.ts';
import { header } from '../middleware/headers.ts';
import type { OpenStreams } from '../open-streams.ts';
import { type Context, type Handler, required, type Step } from '../steps.ts';
import type { StreamPlaces } from '../stream-places.ts';
import type { Watcher, Watchers } from '../watchers.ts';
import { visibleCalls } from './calls.ts';
import { type Budgets, described, limitsOf, type SourceOf } from './discovery.ts';
import { shown } from './fleet.ts';
import { timestampNow } from './opening.ts';

export interface EventsSources {
  readonly plane: ControlPlane;
  readonly measurements: Measurements;
  readonly sourceOf?: SourceOf | undefined;
  readonly budgets?: Budgets | undefined;
  readonly watchers: Watchers;
  readonly places: StreamPlaces;
  readonly streams: OpenStreams;
  readonly watchCredential: WatchCredential;
  /** The answer of discovery, as JSON. */
  readonly snapshot: Handler;
  readonly clock: Clock;
  readonly schedule: Schedule;
  readonly delay: Delay;
}

/** `GET /rdcp/v1/events`: the state, and how it changes. */
export function events(sources: EventsSources): Step {
  const { watchers, places, streams, watchCredential, schedule, delay } = sources;
  return async (ctx) => {
    if (ctx.method === 'HEAD') {
      answerHead(ctx);
      return;
    }
    const principal = required(ctx, 'principal');
    const ends = [places.take(identityKey(principal))];
    const members = await watchers.prepare(hasScope(principal, 'admin'));
    const end = () => {
      for (const task of ends.splice(0)) task();
      stream.end();
    };
    const stream = new EventStream(ctx, { schedule, delay, closed: end });
    const reader = new EventsReader(ctx, sources, stream, members);
    ends.push(watchers.add(reader), streams.add(end), watchCredential(ctx, 'discovery', end));
    reader.begin(header(ctx.req, 'last-event-id'));
  };
}

const NO_LIMITS = { budget: undefined, dropped: 0 };

/** One reader. When it was too slow for an event, it gets a new snapshot as soon as it has room. */
class EventsReader implements Watcher {
  readonly scope: Watcher['scope'];
  readonly tenantId: string | undefined;
  readonly audits: boolean;
  readonly #ctx: Context;
  readonly #sources: EventsSources;
  readonly #stream: EventStream;
  readonly #isTenant: boolean;
  #members: Members | undefined;
  #fleet: string | undefined;
  #stale = false;
  #revision: number | undefined;

  constructor(ctx: Context, sources: EventsSources, stream: EventStream, members: Members | undefined) {
    const principal = required(ctx, 'principal');
    const { scope, tenantId } = required(ctx, 'tenancy');
    this.#ctx = ctx;
    this.#sources = sources;
    this.#stream = stream;
    this.scope = scope;
    this.tenantId = tenantId;
    this.audits = hasScope(principal, 'admin');
    this.#isTenant = principal.tenantId !== undefined;
    this.#members = members;
  }

  begin(lastEventId: string | undefined): void {
    const { watchers } = this.#sources;
    this.#fleet = this.#fleetText();
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
    const last = changed.at(-1);
    for (const view of changed) {
      const source = this.#sources.sourceOf?.(view.name);
      const { budget, dropped } = this.#limitsOf(view);
      const data: EventsCategory = {
        ...described(view),
        ...(budget !== undefined && { otelrdcp_budget: budget }),
        ...(dropped > 0 && { otelrdcp_dropped: dropped }),
        ...(source && { otelrdcp_source: source }),
      };
      // With the last one the reader has all of the revision. What changes without one has no id.
      const id = view === last && revision !== this.#revision ? String(revision) : undefined;
      this.#send('category', JSON.stringify(data), id);
    }
    this.#revision = revision;
  }

  fleet(members: Members): void {
    this.#members = members;
    const text = this.#fleetText();
    if (text === this.#fleet || text === undefined) return;
    if (this.#send('fleet', text)) this.#fleet = text;
  }

  rates(): void {
    if (this.#stale) this.#snapshot();
    const { plane, measurements, clock } = this.#sources;
    const calls = visibleCalls(required(this.#ctx, 'tenancy'), measurements);
    const views = plane.view(this.scope);
    const measured = views.map(({ name, index }) => [name, calls.callsPerSecond(index)] as const);
    const data: EventsRates = {
      timestamp: timestampNow(clock),
      callsPerSecond: measured.reduce((sum, [, rate]) => sum + rate, 0),
      categories: Object.fromEntries(measured.filter(([, rate]) => rate > 0)),
      ...this.#budgetsInUse(views),
    };
    // The next ones come in a second.
    this.#stream.send('rates', JSON.stringify(data));
  }

  audit(entry: Parameters<Watcher['audit']>[0]): void {
    this.#stream.send('audit', JSON.stringify(entry));
  }

  #budgetsInUse(views: readonly CategoryView[]): Pick<EventsRates, 'budgets'> {
    const used = new Map<string, EventsBudget>();
    for (const view of views) {
      const { budget, dropped } = this.#limitsOf(view);
      if (budget === undefined) continue;
      const { burst, callsLeftNow, callsLeft, bytesLeft } = budget || {};
      const inUse = callsLeftNow !== burst || callsLeft !== undefined || bytesLeft !== undefined || dropped > 0;
      if (!inUse) continue;
      used.set(view.name, {
        ...(burst !== undefined && { burst }),
        ...(callsLeftNow !== undefined && { callsLeftNow }),
        ...(callsLeft !== undefined && { callsLeft }),
        ...(bytesLeft !== undefined && { bytesLeft }),
        ...(dropped > 0 && { dropped }),
      });
    }
    return used.size === 0 ? {} : { budgets: Object.fromEntries(used) };
  }

  #limitsOf(view: CategoryView): ReturnType<typeof limitsOf> {
    const { budgets } = this.#sources;
    return budgets === undefined ? NO_LIMITS : limitsOf(view, required(this.#ctx, 'tenancy'), budgets);
  }

  #snapshot(): void {
    const { snapshot, watchers } = this.#sources;
    const answer = snapshot(this.#ctx);
    if (answer instanceof Promise || typeof answer.body !== 'string') throw new TypeError('discovery answers at once');
    const { revision } = watchers;
    const fleet = this.#fleet === undefined ? '' : `,"fleet":${this.#fleet}`;
    const text = `${answer.body.slice(0, -1)},"revision":${revision}${fleet}}`;
    if (!this.#send('snapshot', text, String(revision))) return;
    this.#stale = false;
    this.#revision = revision;
  }

  #fleetText(): string | undefined {
    if (this.#members === undefined) return undefined;
    const { revision, members } = this.#members;
    const pending = members.filter((member) => member.pending).map(({ id }) => id);
    const fleet: EventsFleet = {
      revision,
      instances: members.length,
      applied: members.length - pending.length,
      pending,
      ...(!this.#isTenant && {
        members: members.map((member) => {
          const { lastSeenAt: _, ...rest } = shown(member, 0);
          return rest;
        }),
      }),
    };
    return JSON.stringify(fleet);
  }

  #send(event: string, data: string, id?: string): boolean {
    const sent = this.#stream.send(event, data, id);
    if (!sent) this.#stale = true;
    return sent;
  }
}
