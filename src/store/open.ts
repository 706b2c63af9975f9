import { invalidStore } from './invalid.ts';
import { createMemoryStore } from './memory/store.ts';
import { createPostgresStore } from './postgres/store.ts';
import { createRedisStore } from './redis/store.ts';
import { createSqliteStore } from './sqlite/store.ts';
import type { StateStore } from './state-store.ts';

/**
 * Opens the configured store. SQLite and the packages `redis` and `pg` are loaded only when used.
 * @throws {RdcpError} `RDCP_CONFIG_INVALID`, in one line that names the field
 */
export function openStore(store: string | StateStore): StateStore {
  if (typeof store !== 'string') return store;
  if (store === 'memory:') return createMemoryStore();
  if (store.startsWith('sqlite:')) {
    const file = store.slice('sqlite:'.length);
    if (file !== '' && !file.includes('\0')) return createSqliteStore(file);
    throw invalidStore('sqlite: must be followed by the path of a file');
  }
  if (/^rediss?:/.test(store)) return createRedisStore({ url: store });
  if (/^postgres(ql)?:/.test(store)) return createPostgresStore({ url: store });
  throw invalidStore("must be 'memory:', 'sqlite:FILE', 'redis://…', 'rediss://…', 'postgres://…' or a StateStore");
}
