import type { Clock, Delay } from '../../wire/time/clock.ts';
import type { Reporter } from './reporter.ts';

interface Meaning {
  /** Whether it affects authentication. Such a condition is counted, degrades the check `credentials` and is in the audit trail. */
  readonly credentials: boolean;
  readonly meanwhile?: string;
  readonly over: string;
  /** Reports only the first problem, because one outage causes several errors. @default reports every new problem */
  readonly oneProblem?: true;
}

/** Every temporary problem that is reported to operators. Documented in `docs/messages.md`. */
export const CONDITIONS = {
  keys_file: {
    credentials: true,
    meanwhile: 'the keys read before stay in force, a revoked one too',
    over: 'the keys file can be read again, its keys are in force',
  },
  signing_keys: {
    credentials: true,
    meanwhile: 'the signing keys read before stay in use',
    over: 'the signing key file can be read again, its keys are in use',
  },
  certificate: {
    credentials: true,
    meanwhile: 'the TLS files read before stay in use',
    over: 'server.tls.certFile can be used again',
  },
  private_key: {
    credentials: true,
    meanwhile: 'the TLS files read before stay in use',
    over: 'server.tls.keyFile can be used again',
  },
  ca: {
    credentials: true,
    meanwhile: 'the TLS files read before stay in use',
    over: 'server.tls.clientCaFile can be used again',
  },
  crl: {
    credentials: true,
    meanwhile: 'the list read before stays in use, a certificate revoked since is still accepted',
    over: 'server.tls.crlFile can be used again, its revocations are in force',
  },
  certificate_dates: { credentials: true, over: 'server.tls.certFile is valid again' },
  crl_dates: { credentials: true, over: 'server.tls.crlFile is up to date again' },
  jwks: {
    credentials: true,
    meanwhile: 'keys fetched before are used for a day, other tokens are refused',
    over: 'the key set of the token issuer can be fetched again',
  },
  introspection: {
    credentials: true,
    meanwhile: 'opaque tokens cannot be checked and are answered 503',
    over: 'the introspection endpoint answers again',
  },
  authenticate: {
    credentials: true,
    meanwhile: 'requests that need it are answered 503',
    oneProblem: true,
    over: 'security.authenticate answers again',
  },
  revocations: {
    credentials: true,
    meanwhile: 'sessions revoked since then may still be accepted',
    oneProblem: true,
    over: 'revoked sessions can be read again',
  },
  store: {
    credentials: false,
    meanwhile: 'what is set stays in force, permanent changes are refused',
    oneProblem: true,
    over: 'the store can be reached again',
  },
  store_check: { credentials: false, over: 'the store passes its health check again' },
  state_lost: {
    credentials: false,
    meanwhile: 'the state that it has now is in force',
    over: 'categories were switched since the store lost its state, or an hour has passed',
  },
  malformed: {
    credentials: false,
    meanwhile: 'it is ignored, and counted in rdcp.store.malformed',
    oneProblem: true,
    over: 'nothing malformed was read for a minute',
  },
  audit: {
    credentials: false,
    meanwhile: 'entries wait in memory',
    oneProblem: true,
    over: 'the audit trail can be written again',
  },
  connections: {
    credentials: false,
    meanwhile: 'new connections are closed',
    oneProblem: true,
    over: 'the number of connections is within the limits again',
  },
  fleet: { credentials: false, over: 'this process has caught up with the fleet' },
  output: {
    credentials: false,
    meanwhile: 'debug lines are dropped, and counted in rdcp.debug.dropped',
    oneProblem: true,
    over: 'debug lines are read again',
  },
  export: {
    credentials: false,
    meanwhile: 'debug lines go to stderr as well, unless emit.to is configured',
    oneProblem: true,
    over: 'log records can be exported again',
  },
  pull: {
    credentials: false,
    meanwhile: 'nothing new is switched, and what a document switched on stays until its end',
    over: 'the document of controls can be used again',
  },
  notify: {
    credentials: false,
    meanwhile: 'notifications wait in memory or are dropped, and counted in rdcp.notifications',
    over: 'notifications are delivered again',
  },
} as const satisfies Record<string, Meaning>;

export type ConditionName = keyof typeof CONDITIONS;

export interface Condition {
  /** Starts it, or continues it. @param problem one line without a credential, a path or a URL */
  begin(problem: string): void;
  /** Ends it, if it is active. @param remark appended to the message */
  end(remark?: string): void;
}

export interface Holding {
  readonly name: ConditionName;
  readonly problem: string;
  readonly credentials: boolean;
}

export type Conditions = ReturnType<typeof createConditions>;

export interface ConditionsOptions {
  readonly reporter: Reporter;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly delay: Delay;
  /** Called for every start and every new problem of a condition about credentials. */
  readonly credentialsFailed: (name: ConditionName) => void;
  /** Called with every message about credentials, for the audit trail; without a problem when the condition ends. */
  readonly credentialsChanged: (name: ConditionName, problem: string | undefined, message: string) => void;
}

const MINUTE_MS = 60_000;
/** Most messages of one condition per minute; further changes are summarized in one message at the end of the minute. */
const BURST = 10;

export const UNWATCHED: Condition = { begin: () => {}, end: () => {} };

/** Reports the start and the end of each condition once. A flapping source does not fill the log or the trail. */
export function createConditions(options: ConditionsOptions) {
  const { reporter, clock, delay } = options;
  const holding = new Map<Condition, Holding>();
  const seen = new Set<ConditionName>();
  const delayed = new Set<() => void>();
  let closed = false;

  function watch(name: ConditionName): Condition {
    const { credentials, meanwhile, over, oneProblem }: Meaning = CONDITIONS[name];
    let minuteBegan = Number.NEGATIVE_INFINITY;
    let lines = 0;
    let changes = 0;
    let waiting = false;
    let remark: string | undefined;

    function say(): void {
      const problem = holding.get(condition)?.problem;
      const often = changes > 1 ? ` (changed ${changes} times in the last minute)` : '';
      changes = 0;
      lines += 1;
      const rest = meanwhile === undefined ? '' : `; ${meanwhile}`;
      const ended = remark === undefined ? over : `${over}: ${remark}`;
      const message = `${problem === undefined ? ended : problem + rest}${often}`;
      if (problem === undefined) reporter.info(message);
      else reporter.warn(message);
      if (credentials) options.credentialsChanged(name, problem, message);
    }

    function sayLater(milliseconds: number): void {
      if (waiting) return;
      waiting = true;
      const cancel = delay(milliseconds, () => {
        waiting = false;
        delayed.delete(cancel);
        minuteBegan = clock.monotonic();
        lines = 0;
        say();
      });
      delayed.add(cancel);
    }

    function changed(): void {
      if (closed) return;
      changes += 1;
      const now = clock.monotonic();
      if (!waiting && now - minuteBegan >= MINUTE_MS) {
        minuteBegan = now;
        lines = 0;
      }
      if (!waiting && lines < BURST) say();
      else sayLater(minuteBegan + MINUTE_MS - now);
    }

    const condition: Condition = {
      begin(problem) {
        const current = holding.get(condition);
        if (current !== undefined && (oneProblem || current.problem === problem)) return;
        holding.set(condition, { name, problem, credentials });
        seen.add(name);
        if (credentials) options.credentialsFailed(name);
        changed();
      },
      end(text) {
        if (!holding.delete(condition)) return;
        remark = text;
        changed();
      },
    };
    return condition;
  }

  return {
    /** Creates a condition. Each source has its own: two token issuers have two. */
    watch,
    get holding(): readonly Holding[] {
      return [...holding.values()];
    },
    /** The names of all conditions that were ever active. */
    seen: seen as ReadonlySet<ConditionName>,
    /** Drops the active conditions without a message. One that persists is reported again. */
    forget: () => holding.clear(),
    close(): void {
      closed = true;
      for (const cancel of delayed) cancel();
    },
  };
}
