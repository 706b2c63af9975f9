import { RdcpError } from '../errors.ts';
import { createMemoryStore, type MemoryStoreOptions } from './memory.ts';
import { createRedisStore } from './redis.ts';
import { createSqliteStore } from './sqlite.ts';
import type { StateStore } from './state-store.ts';

/**
 * Opens the configured store; `memory` bounds a store in memory. SQLite and the `redis` package are loaded only when
 * used.
 * @throws {RdcpError} `RDCP_CONFIG_INVALID`, in one line that names the field
 */
export function openStore(store: string | StateStore, memory: Pick<MemoryStoreOptions, 'maxBytes'> = {}): StateStore {
  if (typeof store !== 'string') return store;
  if (store === 'memory:') return createMemoryStore(memory);
  if (store.startsWith('sqlite:')) {
    const file = store.slice('sqlite:'.length);
    if (file !== '' && !file.includes('\0')) return createSqliteStore(file);
    throw invalid('sqlite: must be followed by the path of a file');
  }
  if (/^rediss?:/.test(store)) return createRedisStore({ url: store });
  throw invalid("must be 'memory:', 'sqlite:FILE', 'redis://…', 'rediss://…' or a StateStore");
}

function invalid(problem: string): RdcpError {
  return new RdcpError('RDCP_CONFIG_INVALID', `configuration: store: ${problem}`, { details: { field: 'store' } });
}
