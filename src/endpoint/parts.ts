import type { Authenticator } from '../access/authenticator.ts';
import type { TokenService } from '../access/tokens/service.ts';
import type { CallHistory } from '../calls/metrics/history.ts';
import type { ControlInstruments, SharedMeasurements } from '../calls/metrics/types.ts';
import type { Reach } from '../calls/recorder/types.ts';
import type { Relay } from '../calls/tail/relay.ts';
import type { Approvals } from '../control/approvals.ts';
import type { Folder } from '../control/cluster/folder.ts';
import type { Choosing } from '../control/fleet/choosing.ts';
import type { Fleet } from '../control/fleet/fleet.ts';
import type { ControlPlane } from '../control/plane.ts';
import type { Addressing } from '../control/tenancy/address.ts';
import type { Isolation } from '../control/tenancy/isolation.ts';
import type { ResolvedConfig } from '../options/config.ts';
import type { Conditions } from '../otel/report/conditions.ts';
import type { ReportFault } from '../otel/report/reporter.ts';
import type { AuditTrail } from '../trail/types.ts';
import type { Emission } from '../wire/emission.ts';
import type { DiscoveredSource, NotificationReceiver } from '../wire/messages.ts';
import type { Clock, Delay, Schedule } from '../wire/time/clock.ts';
import type { Quotas } from './middleware/access.ts';
import type { Budgets } from './routes/categories.ts';
import type { ConsoleCodes } from './routes/console.ts';
import type { RecordAccess } from './steps.ts';
import type { WatchCredential } from './streams/event-stream.ts';
import type { OpenStreams } from './streams/open-streams.ts';
import type { Watchers } from './streams/watchers.ts';

export interface Time {
  readonly clock: Clock;
  readonly schedule: Schedule;
  readonly delay: Delay;
}

export interface EndpointParts extends Time {
  readonly config: ResolvedConfig;

  // The state in use. These live as long as its store.
  readonly plane: ControlPlane;
  readonly trail: AuditTrail;
  readonly authenticator: Authenticator;
  /** Present when the server issues tokens itself. */
  readonly tokens: TokenService | undefined;
  readonly fleet: Fleet | undefined;
  readonly choosing: Choosing;
  readonly relay: Relay;
  readonly approvals: Approvals;
  readonly streams: OpenStreams;
  /** Resolves when the store answers and accepts writes. */
  readonly checkStore: () => Promise<void>;

  // The debug calls of the process: where they come from, what limits them, and where they go.
  readonly sourceOf: (category: string) => DiscoveredSource | undefined;
  readonly hasNamed: (tenantId: string) => boolean;
  /** The tenants that the application has worked for in this process. */
  readonly namedTenants: ReadonlySet<string>;
  readonly budgets: Budgets;
  readonly recorded: () => ReadonlyMap<string, boolean>;
  /** How much the recorder keeps of work that has ended. */
  readonly reach: () => Reach;
  readonly outputs: { readonly emission: Emission; readonly lost: boolean };
  readonly measurements: SharedMeasurements;
  /** The calls of all processes that share the state, since this one started. */
  readonly history: Pick<CallHistory, 'read'>;

  // The process. These outlive a change of the store.
  readonly service: () => string;
  readonly instruments: ControlInstruments;
  readonly isolation: Isolation;
  readonly conditions: Pick<Conditions, 'watch' | 'holding'>;
  /** Shared by the processes of a cluster; `undefined` while this process is in none. */
  readonly shared: () => Folder | undefined;
  readonly notifications: () => readonly NotificationReceiver[];
  /** Aborted once the server closes; every request is then answered 503. */
  readonly closing: AbortSignal;
  readonly randomUUID: () => string;
  /** Receives errors whose details the client does not see. */
  readonly report: (error: unknown) => void;
  /** Receives unforeseen errors, which are reported to the service's owner. */
  readonly fault: ReportFault;
}

/** What a route's factory may take: the parts, and what several routes share. */
export interface RouteParts extends EndpointParts {
  readonly addressing: Addressing;
  readonly quotas: Quotas;
  readonly recordAccess: RecordAccess;
  readonly watchCredential: WatchCredential;
  readonly watchers: Watchers;
  readonly codes: ConsoleCodes;
  readonly hasPath: (path: string) => boolean;
}
