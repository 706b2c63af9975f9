import { type Database, databaseFields } from './database.ts';
import type { LibraryFamily } from './family.ts';
import { Operations } from './operations.ts';
import { traced } from './tracing.ts';

interface QueryMessage extends Database {
  readonly query?: unknown;
}

const SYSTEM = 'mysql';

export const MYSQL2: LibraryFamily = {
  category: 'MYSQL2',
  description: 'queries and connections of mysql2',
  module: { name: 'mysql2', versions: '>=3.20.0 <4', file: 'index.js' },
  follow(category) {
    const operations = new Operations(category);
    const query = (channel: string) =>
      traced(operations, {
        channel,
        ended: 'query ended',
        failed: 'query failed',
        describe: (message: QueryMessage) => databaseFields(SYSTEM, message, sqlOperation(message.query)),
      });
    const connection = (channel: string, ended: string, failed: string) =>
      traced(operations, { channel, ended, failed, describe: (message: Database) => databaseFields(SYSTEM, message) });
    return {
      handlers: {
        ...query('mysql2:query'),
        ...query('mysql2:execute'),
        ...connection('mysql2:connect', 'connection established', 'connection failed'),
        ...connection('mysql2:pool:connect', 'connection taken from the pool', 'no connection from the pool'),
      },
    };
  },
};

/** The first word of a statement, such as SELECT. Nothing else of it is shown. */
function sqlOperation(statement: unknown): string | undefined {
  if (typeof statement !== 'string') return undefined;
  const start = statement.slice(0, 1000).replaceAll(/\/\*[\s\S]*?\*\/|(?:--|#)[^\n]*/g, ' ');
  return /^[\s(]*([a-z]+)/i.exec(start)?.[1]?.toUpperCase();
}
