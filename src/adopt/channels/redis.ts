import { type Database, databaseFields } from './database.ts';
import type { Family, LibraryFamily } from './family.ts';
import { number, text } from './fields.ts';
import { Operations } from './operations.ts';
import { traced } from './tracing.ts';

interface CommandMessage extends Database {
  /** Its arguments are in the message too, and are never shown. */
  readonly command?: unknown;
}

interface BatchMessage extends Database {
  readonly batchMode?: unknown;
  readonly batchSize?: unknown;
}

const SYSTEM = 'redis';

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
  return (category) => {
    const operations = new Operations(category);
    return {
      handlers: {
        ...traced(operations, {
          channel: `${prefix}:command`,
          ended: 'command ended',
          failed: 'command failed',
          describe: (message: CommandMessage) => databaseFields(SYSTEM, message, text(message.command)?.toUpperCase()),
        }),
        ...traced(operations, {
          channel: `${prefix}:batch`,
          ended: 'commands ended',
          failed: 'commands failed',
          describe: (message: BatchMessage) => ({
            ...databaseFields(SYSTEM, message, text(message.batchMode)),
            'db.operation.batch.size': number(message.batchSize),
          }),
        }),
        ...traced(operations, {
          channel: `${prefix}:connect`,
          ended: 'connection established',
          failed: 'connection failed',
          describe: (message: Database) => databaseFields(SYSTEM, message),
        }),
      },
    };
  };
}
