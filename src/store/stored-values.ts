import { z } from 'zod';
import { LEVELS } from '../wire/constants.ts';
import { decodeJson } from '../wire/decode.ts';
import { isMemberCalls, type MemberCalls } from '../wire/member-calls.ts';
import { isCategoryName } from '../wire/names.ts';
import { lineFilterSchema, targetSchema, whenSchema } from '../wire/target.ts';
import { LATEST_INSTANT } from '../wire/time.ts';
import type { Announcement } from './fleet.ts';
import { Listeners } from './listeners.ts';
import type { RecordKind, StoredRecord } from './records.ts';
import type { Activation, ReplayRecord, ScopeState, Setting } from './state-store.ts';

export type StoredKind = 'setting' | 'activation' | 'scope' | 'instance' | 'answer' | 'session' | 'list' | 'message';

const count = z.int().min(0);
/** Milliseconds since the epoch. JSON may hold 1e400, which is read as infinity. */
const instant = z.number().min(-LATEST_INSTANT).max(LATEST_INSTANT);
const limit = z.number().positive().max(Number.MAX_SAFE_INTEGER).optional();

const maker = z.object({
  userId: z.string().exactOptional(),
  clientId: z.string().exactOptional(),
  reason: z.string().exactOptional(),
  at: instant,
});

const budget = z.union([z.literal(false), z.object({ callsPerSecond: limit, calls: limit, bytes: limit })]).optional();

const level = z.enum(LEVELS).optional();

const setting: z.ZodType<Setting> = z.object({
  permanent: z.boolean().optional(),
  level,
  by: maker.optional(),
  temporary: z
    .object({
      enabled: z.boolean(),
      expiresAt: instant,
      budget,
      level,
      by: maker.optional(),
    })
    .optional(),
});

const categoryName = z.string().refine(isCategoryName);
const namedSetting = z.tuple([categoryName, setting]);

const activation: z.ZodType<Activation> = z.object({
  id: z.string().min(1),
  categories: z.array(categoryName).min(1),
  target: targetSchema.optional(),
  filter: lineFilterSchema.optional(),
  when: whenSchema.optional(),
  record: z.literal(true).optional(),
  level,
  budget,
  expiresAt: instant,
  by: maker.optional(),
  maskKey: z.string().min(1),
});

/** Each member is decoded by itself, so that a malformed one does not take the others with it. */
const scopeContent = z.object({
  settings: z.array(z.unknown()),
  activations: z.array(z.unknown()).optional(),
  recordings: z.array(z.unknown()).optional(),
});

const instance: z.ZodType<Omit<Announcement, 'id'>> = z.object({
  host: z.string(),
  pid: count,
  service: z.string(),
  version: z.string().exactOptional(),
  serviceInstanceId: z.string().exactOptional(),
  startedAt: instant,
  categoryDigest: z.string().max(64).exactOptional(),
  controlsEnd: instant.exactOptional(),
  // A process whose figures cannot be read is not counted; it is still there.
  calls: z
    .custom<MemberCalls>(isMemberCalls)
    .exactOptional()
    .catch(undefined as never),
});

const replay: z.ZodType<ReplayRecord> = z.object({
  key: z.string(),
  fingerprint: z.string(),
  response: z.string(),
  expiresAt: instant,
});

const record: z.ZodType<StoredRecord> = z.object({ value: z.string(), expiresAt: instant });

/** What a record is reported as. */
const REPORTED_AS: Readonly<Record<RecordKind, StoredKind>> = {
  session: 'session',
  revocation: 'session',
  beat: 'instance',
  member: 'instance',
  categories: 'list',
};

/**
 * Decodes what a store holds. Other programs and other releases may have written it, so what is malformed is dropped and
 * reported, and the rest stays usable.
 */
export class StoredValues {
  /** Called for each value that was dropped. */
  readonly malformed = new Listeners<[kind: StoredKind]>('malformed values');

  /** The revision of a scope. One that is malformed reads as if it had never been written. */
  revision(value: unknown): number {
    return this.#checked('scope', count, value) ?? 0;
  }

  scope(revision: unknown, changedAt: unknown, json: string): ScopeState {
    const at = this.#checked('scope', instant, changedAt);
    const content = this.#known('scope', decodeJson(scopeContent, json));
    const { settings = [], activations = [], recordings = [] } = content ?? {};
    const known = [...activations, ...recordings].flatMap(
      (each) => this.#checked('activation', activation, each) ?? [],
    );
    return {
      revision: this.revision(revision),
      settings: new Map(settings.flatMap((each) => [this.#checked('setting', namedSetting, each)].filter(isGiven))),
      ...(known.length > 0 && { activations: known }),
      ...(at !== undefined && { changedAt: at }),
    };
  }

  instance(json: string): Omit<Announcement, 'id'> | undefined {
    return this.#known('instance', decodeJson(instance, json));
  }

  replay(record: { readonly [Member in keyof ReplayRecord]: unknown }): ReplayRecord | undefined {
    return this.#checked('answer', replay, record);
  }

  record(kind: RecordKind, found: { readonly [Member in keyof StoredRecord]: unknown }): StoredRecord | undefined {
    return this.#checked(REPORTED_AS[kind], record, found);
  }

  #checked<T>(kind: StoredKind, schema: z.ZodType<T>, value: unknown): T | undefined {
    return this.#known(kind, schema.safeParse(value).data);
  }

  #known<T>(kind: StoredKind, decoded: T | undefined): T | undefined {
    if (decoded === undefined) this.malformed.call(kind);
    return decoded;
  }
}

function isGiven<T>(value: T | undefined): value is T {
  return value !== undefined;
}

/**
 * The storage format of a scope's content: `{"settings":[["NAME",{"permanent":true}],…],"activations":[…]}`. What is only
 * recorded stands apart, because a release that does not know recordings would write the lines.
 */
export function encodeScope({ settings, activations = [] }: Pick<ScopeState, 'settings' | 'activations'>): string {
  const { activations: written, recordings } = Object.groupBy(activations, ({ record }) =>
    record ? 'recordings' : 'activations',
  );
  return JSON.stringify({ settings: [...settings], activations: written, recordings });
}

/** The result of a commit whose request id has an answer. A malformed answer belongs to no request. */
export function replayed(key: string, replay: ReplayRecord | undefined) {
  const none = { key, fingerprint: '', response: '', expiresAt: 0 };
  return { outcome: 'replayed' as const, replay: replay ?? none };
}
