import { hash } from 'node:crypto';
import { z } from 'zod';
import type { StateStore } from '../store/state-store.ts';
import type { AuditTrail } from '../trail/types.ts';
import type { AuditIdentity } from '../wire/audit-messages.ts';
import { PROTOCOL } from '../wire/constants.ts';
import { type ControlRequest, controlRequestSchema } from '../wire/control-request.ts';
import { decodeJson } from '../wire/decode.ts';
import { isRdcpError, type RdcpError } from '../wire/errors.ts';
import { given } from '../wire/json-text.ts';
import type { ControlResponse, WaitingChange } from '../wire/messages.ts';
import type { Clock } from '../wire/time/clock.ts';
import { formatDuration, timestamp } from '../wire/time.ts';
import { isBeyondAllow } from './allow.ts';
import { keptOutcome } from './commands.ts';
import type { ControlPlane } from './plane.ts';
import { CHANGE_REFUSALS } from './refusals.ts';
import type { CommandContext, ControlOutcome } from './types.ts';

/** How long a change waits for its approval, in milliseconds. */
export const APPROVAL_WINDOW_MS = 10 * 60_000;
/** Changes of one user that wait at a time. Further ones are refused. */
const MAX_WAITING = 20;
/** Changes that a list has, the newest ones. */
const MAX_LISTED = 100;
/** Characters of an id: those that are the same for a request, and random ones. */
const OF_REQUEST = 8;
const RANDOM = 4;

/** What this module needs to know of a principal. */
interface Asker {
  /** Milliseconds since the epoch; absent if the access does not expire. */
  readonly expiresAt?: number | undefined;
}

type Maker = Omit<CommandContext, 'allow' | 'approval' | 'replay'>;

const heldSchema = z.object({
  /** New for each change, so that what is approved is what was seen, also when a request id is used again. */
  id: z.string(),
  request: controlRequestSchema,
  maker: z.custom<Maker>((value) => typeof value === 'object' && value !== null && 'scope' in value),
  /** The principal that asked, to look again at what it may. */
  asker: z.custom<Asker>((value) => typeof value === 'object' && value !== null),
  problem: z.string(),
  /** Identifies the content of the request, to compare retries. */
  fingerprint: z.string(),
  at: z.number(),
  expiresAt: z.number(),
});

export type PendingChange = Omit<z.output<typeof heldSchema>, 'request'> & { readonly request: ControlRequest };

export interface ApprovalsOptions {
  readonly store: Pick<StateStore, 'findReplay'>;
  readonly trail: Pick<AuditTrail, 'record' | 'query'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly randomUUID: () => string;
}

/**
 * Changes beyond the `allow` of a credential that wait for another identity. The store keeps them, beside the answers to retries, so
 * that every process that shares it can approve them.
 */
export class Approvals {
  readonly #options: ApprovalsOptions;

  constructor(options: ApprovalsOptions) {
    this.#options = options;
  }

  /**
   * Keeps a change that was refused until somebody approves it. Returns its answer if this is the retry of one that was approved.
   * It waits no longer than the credential that asked for it lasts.
   * @param refusal of the change
   * @throws {RdcpError} `RDCP_FORBIDDEN` with `details.reason` `approval_required` and `details.approval`; the refusal, if the
   * change may not wait
   */
  async hold(
    request: ControlRequest,
    context: CommandContext,
    { asker, refusal }: { readonly asker: Asker; readonly refusal: unknown },
  ): Promise<ControlOutcome> {
    if (!isRdcpError(refusal) || !isBeyondAllow(refusal) || !canWait(request)) throw refusal;
    const { allow: _, replay, ...maker } = context;
    const { clock, trail, randomUUID } = this.#options;
    const now = clock.now();
    const fingerprint = replay?.fingerprint ?? '';
    const requestPart = hash('sha256', replay?.key ?? randomUUID()).slice(0, OF_REQUEST);
    const id = requestPart + randomUUID().replaceAll('-', '').slice(0, RANDOM);
    const earlier = await this.#heldFor(id);
    if (earlier !== undefined) {
      const isRepeated = earlier.fingerprint === fingerprint && earlier.maker.requestId === maker.requestId;
      if (!isRepeated) throw CHANGE_REFUSALS.reused();
      return (await this.#outcomeOf(earlier.id)) ?? Promise.reject(waits(earlier, refusal));
    }
    const waiting = await this.waiting();
    const { userId } = maker.identity;
    if (waiting.filter((each) => each.maker.identity.userId === userId).length >= MAX_WAITING) throw refusal;
    const problem = refusal.message;
    const expiresAt = Math.min(now + APPROVAL_WINDOW_MS, asker.expiresAt ?? Number.POSITIVE_INFINITY);
    const held: PendingChange = { id, request, maker, asker, problem, fingerprint, at: now, expiresAt };
    const { scope, identity, requestId, source } = maker;
    await trail.record(
      {
        action: 'approval',
        categories: request.categories ?? [],
        changes: [],
        outcome: 'success',
        identity,
        ...ofTenant(scope),
        requestId,
        ...given({ reason: request.options?.reason, source }),
        otelrdcp_approval: { id, action: request.action, expiresAt: timestamp(held.expiresAt) },
      },
      { key: waitingKey(id), fingerprint, response: JSON.stringify(held), expiresAt: held.expiresAt },
    );
    throw waits(held, refusal);
  }

  /** The change with this id, approved or not; `undefined` if there is none, its time is over, or another took its place. */
  async find(id: string): Promise<PendingChange | undefined> {
    const held = await this.#heldFor(id);
    return held?.id === id ? held : undefined;
  }

  async #heldFor(id: string): Promise<PendingChange | undefined> {
    const kept = await this.#kept(waitingKey(id));
    return kept && decodeJson(heldSchema, kept.response);
  }

  async waiting(): Promise<readonly PendingChange[]> {
    const { trail, clock } = this.#options;
    const since = clock.now() - APPROVAL_WINDOW_MS;
    const { entries } = await trail.query({ limit: MAX_LISTED, action: 'approval', since });
    const ids = entries.flatMap(({ otelrdcp_approval: approval }) => approval?.id ?? []);
    const held = await Promise.all(
      ids.map(async (id) => ((await this.#outcomeOf(id)) === undefined ? this.find(id) : undefined)),
    );
    return held.filter((each) => each !== undefined);
  }

  /**
   * Makes a change that waits, once, in the name of who asked for it.
   * @param approver who approves it, and may not be the same user
   * @throws {RdcpError} `RDCP_FORBIDDEN` for one's own change, and for one beyond what the approver may change
   */
  async approve(
    { id, request, maker, fingerprint, expiresAt }: PendingChange,
    approver: { readonly identity: AuditIdentity } & Pick<CommandContext, 'allow'>,
    plane: Pick<ControlPlane, 'control'>,
  ): Promise<ControlOutcome> {
    const { identity, allow } = approver;
    if (identity.userId === maker.identity.userId) throw CHANGE_REFUSALS.ownRequest(identity.method);
    // Kept as long as the change could be approved again.
    const replay = { key: approvedKey(id), fingerprint, expiresAt };
    return plane.control(request, { ...maker, allow, approval: { id, by: identity }, replay });
  }

  /**
   * Declines a change that waits. Whoever asks for it or approves it afterwards gets the answer `failed`.
   * @returns the answer, which is that of the change if somebody approved it meanwhile
   */
  async decline(
    { id, request, maker, fingerprint, expiresAt }: PendingChange,
    identity: AuditIdentity,
  ): Promise<ControlOutcome> {
    const { clock, trail } = this.#options;
    const { action, categories = [] } = request;
    const response: ControlResponse = {
      ...{ protocol: PROTOCOL, timestamp: timestamp(clock.now()), action, categories, changes: [], status: 'failed' },
      message: `Declined by ${identity.userId ?? identity.clientId ?? 'an administrator'}`,
    };
    await trail.record(
      {
        ...{ action: 'approval', categories, changes: [], outcome: 'denied', identity },
        ...ofTenant(maker.scope),
        otelrdcp_approval: { id, action, expiresAt: timestamp(expiresAt) },
      },
      { key: approvedKey(id), fingerprint, response: JSON.stringify(response), expiresAt },
    );
    return (await this.#outcomeOf(id)) ?? { response, replayed: false };
  }

  /** The answer to a change that was approved or declined. */
  async #outcomeOf(id: string): Promise<ControlOutcome | undefined> {
    const kept = await this.#kept(approvedKey(id));
    return kept && keptOutcome(kept);
  }

  #kept(key: string) {
    const { store, clock } = this.#options;
    return store.findReplay(key, clock.now());
  }
}

function ofTenant({ tenantId }: CommandContext['scope']) {
  return tenantId === undefined ? {} : { tenant: { id: tenantId } };
}

/** A ticket is a credential for who asked, and the answer to an approval has another reader. */
function canWait({ options }: ControlRequest): boolean {
  return options?.otelrdcp_dryRun !== true && options?.otelrdcp_target?.request !== true;
}

export function shownWaiting({ id, request, maker, problem, at, expiresAt }: PendingChange): WaitingChange {
  const { userId, clientId } = maker.identity;
  return {
    id,
    ...request,
    ...given({ tenant: maker.scope.tenantId }),
    by: { ...(userId && { userId }), ...(clientId && { clientId }) },
    problem,
    since: timestamp(at),
    expiresAt: timestamp(expiresAt),
  };
}

function waits({ id, expiresAt, at }: PendingChange, refusal: RdcpError): RdcpError {
  return CHANGE_REFUSALS.waits(refusal, formatDuration((expiresAt - at) / 1000), {
    id,
    expiresAt: timestamp(expiresAt),
  });
}

/** The same for each change of a request, so that one is kept at a time. */
function waitingKey(id: string): string {
  return JSON.stringify(['approval', id.slice(0, OF_REQUEST)]);
}

function approvedKey(id: string): string {
  return JSON.stringify(['approved', id]);
}
