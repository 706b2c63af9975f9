import { randomUUID } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import {
  type ControlDocument,
  type DocumentControl,
  type DocumentRefusal,
  readDocument,
  type TicketRules,
} from '../../access/tickets/verify.ts';
import type { Part } from '../../calls/emit/selection.ts';
import type { Condition } from '../../otel/report/conditions.ts';
import { isRdcpError, SettingFault } from '../../wire/errors.ts';
import type { ControlBudget } from '../../wire/messages.ts';
import type { Clock, Delay } from '../../wire/time/clock.ts';
import type { ControlPlane } from '../plane.ts';
import { CHANGE_REFUSALS } from '../refusals.ts';
import type { Isolation } from '../tenancy/isolation.ts';
import type { CommandContext } from '../types.ts';
import type { Source } from './source.ts';

interface ActiveControl {
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** Ends it early. @throws {RdcpError} when nothing was changed */
  end(why: string): Promise<void>;
}

interface DocumentFollowerOptions {
  readonly source: Source;
  readonly newest: Pick<Newest, 'note'>;
  readonly everyMs: number;
  readonly rules: TicketRules;
  /**
   * Switches the control at a place of a document on, once however often it is asked.
   * @throws {RdcpError} when nothing was switched
   */
  readonly begin: (document: ControlDocument, place: number) => Promise<ActiveControl>;
  readonly clock: Clock;
  readonly delay: Delay;
  readonly condition: Condition;
  readonly report: (error: unknown) => void;
}

/** Published keys are fetched soon after the start: a document without one is tried again so often, once a second. */
const KEY_ATTEMPTS = 5;
const KEY_WAIT_MS = 1000;

interface Problem {
  readonly message: string;
  /** It may be gone although the document stays the same. */
  readonly passes: boolean;
}

const UNKNOWN_KEY: Problem = { message: 'is refused (unknown_key)', passes: true };

/**
 * Follows a document of controls: the one that was read last is in force, each control until its end. One that cannot be used, or
 * cannot be read, changes nothing. Where there is none any more, what the last one switched on ends.
 */
export class DocumentFollower {
  readonly #options: DocumentFollowerOptions;
  /** The document that was read last, if what became of it stays so. */
  #settled: { readonly text: string; readonly problem: Problem | undefined } | undefined;
  /** What is on, by its id. */
  readonly #on = new Map<string, ActiveControl>();
  #cancel = () => {};
  #following: Promise<void>;
  #closed = false;

  constructor(options: DocumentFollowerOptions) {
    this.#options = options;
    this.#following = this.#follow();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancel();
    await this.#following;
  }

  /** @param kept a document that was read before, when its key was not there yet */
  async #follow(kept?: string, attempts = KEY_ATTEMPTS): Promise<void> {
    const { source, everyMs, delay, condition, report } = this.#options;
    let waiting: string | undefined;
    try {
      const text = kept ?? (await source.read());
      if (this.#closed) return;
      const problem = await this.#update(text);
      if (problem === UNKNOWN_KEY && attempts > 0) waiting = text;
      else if (problem === undefined) condition.end();
      else condition.begin(`${source.field} ${problem.message}`);
    } catch (error) {
      if (error instanceof SettingFault) condition.begin(`${source.field} ${error.message}`);
      else report(error);
    }
    if (this.#closed) return;
    this.#cancel = delay(waiting === undefined ? everyMs : KEY_WAIT_MS, () => {
      this.#following = waiting === undefined ? this.#follow() : this.#follow(waiting, attempts - 1);
    });
  }

  /** Puts in force what was read. @returns why that is not so */
  async #update(text: string | undefined): Promise<Problem | undefined> {
    const { rules, clock } = this.#options;
    if (text !== undefined && text === this.#settled?.text) return this.#settled.problem;
    this.#settled = undefined;
    if (text === undefined) return this.#trying(() => this.#endOthers([], 'the document was removed'));
    const document = readDocument(text, rules, clock.now());
    const problem = typeof document === 'string' ? refused(document) : await this.#apply(document);
    if (problem?.passes !== true) this.#settled = { text, problem };
    return problem;
  }

  async #apply(document: ControlDocument): Promise<Problem | undefined> {
    const { issuer, issuedAt, id, controls } = document;
    if (!this.#options.newest.note(issuer, issuedAt)) return refused('stale');
    return this.#trying(async () => {
      const begun: string[] = [];
      for (const place of controls.keys()) {
        const made = await this.#options.begin(document, place);
        this.#on.set(made.id, made);
        begun.push(made.id);
      }
      await this.#endOthers(begun, `replaced by document ${id}`);
    });
  }

  async #endOthers(kept: readonly string[], why: string): Promise<void> {
    for (const [id, begun] of this.#on) {
      if (kept.includes(id)) continue;
      if (begun.expiresAt > this.#options.clock.now()) await begun.end(why);
      this.#on.delete(id);
    }
  }

  async #trying(task: () => Promise<void>): Promise<Problem | undefined> {
    try {
      await task();
      return undefined;
    } catch (error) {
      if (!isRdcpError(error)) throw error;
      return { message: `cannot be applied: ${error.message}`, passes: error.status >= 500 };
    }
  }
}

function refused(why: DocumentRefusal): Problem {
  if (why === 'unknown_key') return UNKNOWN_KEY;
  return { message: `is refused (${why})`, passes: why === 'not_yet_valid' };
}

/**
 * When the newest document of each issuer was issued (`iat`, in seconds), so that no older one takes its place. Kept in a file, if
 * one is given and can be written, so that this also holds after a restart.
 */
export class Newest {
  readonly #file: string | undefined;
  readonly #issued = new Map<string, number>();

  constructor(file?: string) {
    this.#file = file;
  }

  /** Notes a document. @returns false if a newer one of the issuer was noted */
  note(issuer: string, issuedAt: number): boolean {
    const file = this.#file;
    // Other processes may have noted newer ones.
    for (const [each, at] of file === undefined ? [] : readFrom(file)) {
      this.#issued.set(each, Math.max(at, this.#issued.get(each) ?? 0));
    }
    const last = this.#issued.get(issuer) ?? 0;
    if (issuedAt > last) {
      this.#issued.set(issuer, issuedAt);
      if (file !== undefined) writeTo(file, this.#issued);
    }
    return issuedAt >= last;
  }
}

function readFrom(file: string): readonly [issuer: string, issuedAt: number][] {
  try {
    const entries: [string, unknown][] = Object.entries(Object(JSON.parse(readFileSync(file, 'utf8'))));
    return entries.filter((entry): entry is [string, number] => Number.isSafeInteger(entry[1]));
  } catch {
    return [];
  }
}

/** A folder that cannot be written is usual, such as a ConfigMap. */
function writeTo(file: string, issued: ReadonlyMap<string, number>): void {
  const draft = `${file}.${randomUUID()}`;
  try {
    writeFileSync(draft, `${JSON.stringify(Object.fromEntries(issued))}\n`, { mode: 0o600, flag: 'wx' });
    renameSync(draft, file);
  } catch {}
}

interface DocumentControlsOptions {
  readonly plane: Pick<ControlPlane, 'control'>;
  /** @throws {RdcpError} for what cannot be matched or evaluated */
  readonly check: (part: Pick<Part, 'match' | 'filter'>) => Promise<void>;
  readonly isolation: Pick<Isolation, 'scopeOf' | 'contextOf'>;
  /** Configured calls per second of a category; `undefined` when unlimited. */
  readonly configuredRate: (category: string) => number | undefined;
  /** Longest control, in seconds. */
  readonly maxDuration: number;
  readonly clock: Pick<Clock, 'now'>;
}

/**
 * Makes controls of documents into activations, beside the settings of operators, which a document must neither shorten nor end.
 * The store keeps what was made for as long as the control may last: the processes that share it make it once, also after a restart.
 */
export function documentControls({
  plane,
  check,
  isolation,
  configuredRate,
  maxDuration,
  clock,
}: DocumentControlsOptions) {
  return async (document: ControlDocument, place: number): Promise<ActiveControl> => {
    const { id, issuer, by = issuer, controls } = document;
    const { categories, options, tenantId, expiresAt } = controls[place] as DocumentControl;
    const { otelrdcp_target: target = {}, otelrdcp_filter: filter, otelrdcp_budget: budget, ...rest } = options;
    const scope = isolation.scopeOf(tenantId);
    // Never for everybody what was meant for one.
    if (scope.tenantId !== tenantId) throw CHANGE_REFUSALS.noTenants();
    await check({ match: target.match, filter });
    const tenant = isolation.contextOf(tenantId);
    const context: CommandContext = {
      scope,
      ...(tenant && { tenant }),
      identity: { userId: by, clientId: issuer },
      requestId: id,
    };
    const keyOf = (what: string) => JSON.stringify(['document', issuer, id, place, what]);
    const { response } = await plane.control(
      {
        action: 'enable',
        categories: [...categories],
        options: {
          ...rest,
          duration: Math.min(Math.max(1, Math.ceil((expiresAt - clock.now()) / 1000)), maxDuration),
          otelrdcp_target: target,
          ...(filter && { otelrdcp_filter: filter }),
          ...(budget && { otelrdcp_budget: withinConfigured(budget, categories) }),
        },
      },
      { ...context, until: expiresAt, early: true, replay: { key: keyOf('enable'), fingerprint: '', expiresAt } },
    );
    const made = response.otelrdcp_activation?.id ?? '';
    return {
      id: made,
      expiresAt,
      async end(reason) {
        const replay = { key: keyOf('reset'), fingerprint: '', expiresAt };
        await plane.control({ action: 'reset', options: { otelrdcp_id: made, reason } }, { ...context, replay });
      },
    };
  };

  /** No document raises a limit that the service's owner has set: of two rates the smaller holds, and the other limits stay. */
  function withinConfigured(budget: ControlBudget, categories: readonly string[]): ControlBudget {
    if (budget.callsPerSecond === undefined) return budget;
    const rates = [budget.callsPerSecond, ...categories.map(configuredRate)].filter((rate) => rate !== undefined);
    return { ...budget, callsPerSecond: Math.min(...rates) };
  }
}
