export type { PostgresClient, PostgresPool, PostgresStatement } from './store/postgres/client.ts';
export { createPostgresStore, type PostgresStoreOptions } from './store/postgres/store.ts';
