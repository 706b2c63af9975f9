import { z } from 'zod';
import { isCategoryName, isIdentifier } from '../protocol/names.ts';
import type { LineSpec, TapFilter } from './types.ts';

// What the processes of a fleet say to each other. A message of another release that is not understood is ignored.

const id = z.string().max(64);
const amount = z.number().min(0);
const filter = {
  categories: z.array(z.string().refine(isCategoryName)).max(4096),
  /** `null` for all calls. Required, so that a filter is never widened by a missing member. */
  tenant: z.string().refine(isIdentifier).nullable(),
};

const schema = z.discriminatedUnion('type', [
  /** The sender wants lines, or a forecast. Repeated each second; without that the tap ends. */
  z.strictObject({ type: z.literal('tail'), id, ...filter, rate: z.number().min(1), log: z.boolean() }),
  z.strictObject({ type: z.literal('forecast'), id, ...filter, milliseconds: z.number().positive() }),
  /** The sender wants no more. */
  z.strictObject({ type: z.literal('release'), id }),
  /** The answers. `lines` also says that the sender is tapped. */
  z.strictObject({
    type: z.literal('lines'),
    id,
    instance: id,
    lines: z.array(z.string()),
    dropped: amount,
    /** Lines, dropped ones included, of the messages before: what did not arrive of them was lost on the way. */
    before: amount,
  }),
  z.strictObject({
    type: z.literal('measured'),
    id,
    instance: id,
    seconds: z.number().positive(),
    categories: z.record(z.string(), z.strictObject({ calls: amount, bytes: amount, dropped: amount })),
  }),
  /** The sender shuts down. */
  z.strictObject({ type: z.literal('leave'), id, instance: id }),
]);

export type FleetMessage = z.infer<typeof schema>;
export type Lease = Extract<FleetMessage, { type: 'tail' | 'forecast' }>;

/** `undefined` for a message that is not understood. */
export function parseFleetMessage(text: string): FleetMessage | undefined {
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

export function tailLease(streamId: string, { categories, tenantId, rate, log }: LineSpec): Lease {
  return { type: 'tail', id: streamId, categories: [...categories], tenant: tenantId ?? null, rate, log };
}

export function forecastLease(forecastId: string, { categories, tenantId }: TapFilter, milliseconds: number): Lease {
  return { type: 'forecast', id: forecastId, categories: [...categories], tenant: tenantId ?? null, milliseconds };
}
