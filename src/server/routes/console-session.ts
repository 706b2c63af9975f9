import type { IncomingMessage } from 'node:http';
import { codeRefusal } from '../../auth/refusal.ts';
import type { Clock } from '../../clock.ts';
import { RdcpError } from '../../errors.ts';
import { consoleSessionSchema } from '../../protocol/console-request.ts';
import { type AuthMethod, CONSOLE_CODE_SECONDS, REQUEST_HEADERS } from '../../protocol/constants.ts';
import type { ConsoleCodeResponse, ConsoleSessionResponse } from '../../protocol/messages.ts';
import type { RecordAccess } from '../access-audit.ts';
import type { ConsoleCodes, HandedOver } from '../console-codes.ts';
import { validBody } from '../middleware/body.ts';
import { header } from '../middleware/headers.ts';
import { type Handler, required, type Step } from '../steps.ts';
import { opening } from './opening.ts';

interface Sources {
  readonly codes: ConsoleCodes;
  readonly recordAccess: RecordAccess;
  readonly clock: Clock;
}

const NO_CATEGORY = { action: 'authenticate', categories: [] } as const;

/** `POST /rdcp/v1/console/code`: a one-time code for the credential of the request. */
export function consoleCode({ codes, recordAccess, clock }: Sources): Handler {
  return async (ctx) => {
    const credential = credentialIn(ctx.req);
    if (credential === undefined) {
      throw new RdcpError(
        'RDCP_MALFORMED_REQUEST',
        'A code hands over an API key or a token, and this request has neither: open the console without a code',
        { details: { reason: 'no_credential' } },
      );
    }
    const code = codes.issue(required(ctx, 'principal'), credential);
    await recordAccess(ctx, { ...NO_CATEGORY, reason: 'one-time code for the console' });
    const body: ConsoleCodeResponse = { ...opening(ctx, clock), code, expiresInSeconds: CONSOLE_CODE_SECONDS };
    return { body };
  };
}

/** `POST /rdcp/v1/console/session`: exchanges a one-time code for its credential. */
export function consoleSession({
  codes,
  recordAccess,
  clock,
  methods,
  tenancy,
}: Sources & {
  readonly methods: readonly AuthMethod[];
  /** Determines the tenant of the credential. */
  readonly tenancy: Step;
}): Handler {
  return async (ctx) => {
    const found = codes.redeem(validBody(ctx, consoleSessionSchema).code);
    if (found === undefined) throw codeRefusal(methods);
    ctx.state.principal = found.principal;
    await tenancy(ctx);
    await recordAccess(ctx, { ...NO_CATEGORY, reason: 'console, by a one-time code' });
    const body: ConsoleSessionResponse = { ...opening(ctx, clock), credential: found.credential };
    return { body };
  };
}

function credentialIn(req: IncomingMessage): HandedOver | undefined {
  const key = header(req, REQUEST_HEADERS.apiKey);
  if (key !== undefined) return { kind: 'api-key', value: key };
  const token = /^bearer +(\S+)$/i.exec(header(req, 'authorization') ?? '')?.[1];
  return token === undefined ? undefined : { kind: 'bearer', value: token };
}
