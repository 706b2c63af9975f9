import type { IncomingMessage, ServerResponse } from 'node:http';
import { identityKey, type Principal } from '../auth/principal.ts';
import { withDeadline } from '../deadline.ts';
import { isRdcpError } from '../errors.ts';
import type { ControlInstruments } from '../metrics/types.ts';
import { HEADERS, JSON_MEDIA_TYPE, RDCP_MEDIA_TYPE } from '../protocol/constants.ts';
import type { Addressing } from '../tenancy/address.ts';
import { addressKey, clientAddress } from './client-address.ts';
import { errorAnswer, setAnswerHeaders } from './error-answer.ts';
import { endWithAnswer } from './last-answer.ts';
import type { Identify } from './middleware/access.ts';
import { requestIdOf } from './middleware/headers.ts';
import { quotaFields, quotaSpent, type RateLimiter, type Standing } from './rate-limit.ts';
import { contentType } from './steps.ts';

/** A slower authentication, for instance over the network, takes the usual route. */
const LONGEST_LOOK_MS = 1000;

/** The rate limiters that apply to a path. */
export interface Payers {
  /** Counts by the identity of the credential. */
  readonly identified: RateLimiter;
  /** Counts by address when the credential is invalid or missing. */
  readonly failed: RateLimiter;
  readonly anonymous: RateLimiter;
}

interface Spent {
  readonly limiter: RateLimiter;
  readonly standing: Standing;
  readonly principal?: Principal | undefined;
}

export interface SpentQuotasOptions {
  /** By path. */
  readonly payers: ReadonlyMap<string, Payers>;
  readonly identify: Identify;
  readonly addressing: Addressing;
  readonly instruments: Pick<ControlInstruments, 'authFailure'>;
  readonly randomUUID: () => string;
}

/**
 * Answers callers that keep sending although they were told that their quota is spent. This costs a fraction of a
 * regular answer, and it closes the connection. The first refusal takes the regular route, which records it in the
 * trail.
 */
export class SpentQuotas {
  readonly #options: SpentQuotasOptions;

  constructor(options: SpentQuotasOptions) {
    this.#options = options;
  }

  /** Resolves to whether the request was answered. */
  async refuse(path: string, req: IncomingMessage, res: ServerResponse): Promise<boolean> {
    const payers = this.#options.payers.get(path);
    if (payers === undefined) return false;
    let spent: Spent | undefined;
    await withDeadline(
      this.#find(req, payers).then((found) => {
        spent = found;
      }),
      LONGEST_LOOK_MS,
    );
    if (spent === undefined) return false;
    await endWithAnswer(req, res);
    this.#answer(spent, req, res);
    return true;
  }

  #find(req: IncomingMessage, { identified, failed, anonymous }: Payers): Promise<Spent | undefined> {
    const ofAddress = (limiter: RateLimiter) => spentBy(addressKey(clientAddress(req)), limiter);
    return this.#options.identify(req).then(
      (principal) =>
        principal === undefined ? ofAddress(anonymous) : spentBy(identityKey(principal), identified, principal),
      // A server error says nothing about the credential.
      (failure: unknown) => (isRdcpError(failure) && failure.status < 500 ? ofAddress(failed) : undefined),
    );
  }

  #answer({ limiter, standing, principal }: Spent, req: IncomingMessage, res: ServerResponse): void {
    const { addressing, instruments, randomUUID } = this.#options;
    instruments.authFailure(principal?.method ?? 'none', 'rate_limited');
    const { tenant } = addressing.own(principal);
    const { status, headers, body } = errorAnswer(req, quotaSpent(limiter, standing), { tenant });
    const text = JSON.stringify(body);
    const mediaType = req.headers.accept === RDCP_MEDIA_TYPE ? RDCP_MEDIA_TYPE : JSON_MEDIA_TYPE;
    setAnswerHeaders(req, res);
    for (const [name, value] of quotaFields(limiter, standing)) res.setHeader(name, value);
    for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
    res.setHeader(HEADERS.requestId, requestIdOf(req) ?? randomUUID());
    res.setHeader('Content-Type', contentType(mediaType));
    res.setHeader('Content-Length', Buffer.byteLength(text));
    res.statusCode = status;
    res.end(text);
  }
}

function spentBy(key: string, limiter: RateLimiter, principal?: Principal): Spent | undefined {
  if (!limiter.wasRefused(key)) return undefined;
  const standing = limiter.look(key);
  return standing.allowed ? undefined : { limiter, standing, principal };
}
