import type { Clock } from '../../clock.ts';
import { RdcpError } from '../../errors.ts';
import { MAX_CLOCK_SKEW_MS } from '../../protocol/constants.ts';
import { timestamp } from '../../protocol/time.ts';
import { header, type Step } from '../context.ts';

/** Refuses a request whose `Date` is too far from the server's clock. */
export function clockSkew(clock: Pick<Clock, 'now'>): Step {
  return (ctx) => {
    const date = header(ctx.req, 'date');
    if (date === undefined) return;
    const sentAt = parseHttpDate(date);
    if (sentAt === undefined) {
      throw new RdcpError('RDCP_MALFORMED_REQUEST', 'Date must be an HTTP date such as Sun, 06 Nov 1994 08:49:37 GMT', {
        details: { field: 'Date' },
      });
    }
    const now = clock.now();
    if (Math.abs(now - sentAt) > MAX_CLOCK_SKEW_MS) {
      throw new RdcpError('RDCP_MALFORMED_REQUEST', 'Date is more than 5 minutes away from the clock of this server', {
        details: { field: 'Date', reason: 'clock_skew', serverTime: timestamp(now) },
      });
    }
  };
}

/** The three forms of RFC 9110, section 5.6.7. The asctime form has no zone and means UTC. */
function parseHttpDate(value: string): number | undefined {
  if (!/^[A-Z][a-z]{2,8},? [A-Za-z0-9: -]{15,}$/.test(value)) return undefined;
  const epochMs = Date.parse(value.endsWith(' GMT') ? value : `${value} GMT`);
  return Number.isNaN(epochMs) ? undefined : epochMs;
}
