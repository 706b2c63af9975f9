import type { Family, LibraryFamily } from './family.ts';
import { type Fields, number, text } from './fields.ts';
import { type Traced, traced } from './operations.ts';

/** The fields that channels of databases have in common. */
interface DatabaseMessage extends Traced {
  readonly database?: unknown;
  readonly serverAddress?: unknown;
  readonly serverPort?: unknown;
}

interface QueryMessage extends DatabaseMessage {
  readonly query?: unknown;
}

const CONNECTION = { ended: 'connection established', failed: 'connection failed' };

export const MYSQL2: LibraryFamily = {
  category: 'MYSQL2',
  description: 'queries and connections of mysql2',
  module: { name: 'mysql2', versions: '>=3.20.0 <4', file: 'index.js' },
  follow({ operations }) {
    const queried = (message: QueryMessage) => databaseFields('mysql', message, sqlOperation(message.query));
    const query = { ended: 'query ended', failed: 'query failed', describe: queried };
    const connected = (message: DatabaseMessage) => databaseFields('mysql', message);
    const connection = { ...CONNECTION, describe: connected };
    const pooled = {
      ended: 'connection taken from the pool',
      failed: 'no connection from the pool',
      describe: connected,
    };
    return {
      ...traced(operations, 'mysql2:query', query),
      ...traced(operations, 'mysql2:execute', query),
      ...traced(operations, 'mysql2:connect', connection),
      ...traced(operations, 'mysql2:pool:connect', pooled),
    };
  },
};

/** The first word of a statement, such as SELECT. Nothing else of it is shown. */
function sqlOperation(statement: unknown): string | undefined {
  if (typeof statement !== 'string') return undefined;
  const start = statement.slice(0, 1000).replaceAll(/\/\*[\s\S]*?\*\/|(?:--|#)[^\n]*/g, ' ');
  return /^[\s(]*([a-z]+)/i.exec(start)?.[1]?.toUpperCase();
}

interface CommandMessage extends DatabaseMessage {
  /** Its arguments are in the message too, and are never shown. */
  readonly command?: unknown;
}

interface BatchMessage extends DatabaseMessage {
  readonly batchMode?: unknown;
  readonly batchSize?: unknown;
}

export const REDIS: LibraryFamily = {
  category: 'REDIS',
  description: 'commands and connections of the redis package',
  module: { name: '@redis/client', versions: '>=5.12.0 <7', file: 'dist/index.js' },
  follow: followRedis('node-redis'),
};

export const IOREDIS: LibraryFamily = {
  category: 'IOREDIS',
  description: 'commands and connections of ioredis',
  module: { name: 'ioredis', versions: '>=5.11.0 <7', file: 'built/index.js' },
  follow: followRedis('ioredis'),
};

function followRedis(prefix: string): Family['follow'] {
  return ({ operations }) => ({
    ...traced(operations, `${prefix}:command`, {
      ended: 'command ended',
      failed: 'command failed',
      describe: (message: CommandMessage) => databaseFields('redis', message, text(message.command)?.toUpperCase()),
    }),
    ...traced(operations, `${prefix}:batch`, {
      ended: 'commands ended',
      failed: 'commands failed',
      describe: (message: BatchMessage) => ({
        ...databaseFields('redis', message, text(message.batchMode)),
        'db.operation.batch.size': number(message.batchSize),
      }),
    }),
    ...traced(operations, `${prefix}:connect`, {
      ...CONNECTION,
      describe: (message: DatabaseMessage) => databaseFields('redis', message),
    }),
  });
}

function databaseFields(system: string, message: DatabaseMessage, operation?: string): Fields {
  const { database, serverAddress, serverPort } = message;
  return {
    'db.system.name': system,
    'db.operation.name': operation,
    'db.namespace': typeof database === 'number' ? String(database) : text(database),
    'server.address': text(serverAddress),
    'server.port': number(serverPort),
  };
}
