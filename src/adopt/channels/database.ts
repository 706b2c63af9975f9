import { number, text } from './fields.ts';
import type { Fields } from './operations.ts';
import type { Traced } from './tracing.ts';

/** What the channels of databases have in common. */
export interface Database extends Traced {
  readonly database?: unknown;
  readonly serverAddress?: unknown;
  readonly serverPort?: unknown;
}

export function databaseFields(system: string, message: Database, operation?: string): Fields {
  const { database, serverAddress, serverPort } = message;
  return {
    'db.system.name': system,
    'db.operation.name': operation,
    'db.namespace': typeof database === 'number' ? String(database) : text(database),
    'server.address': text(serverAddress),
    'server.port': number(serverPort),
  };
}
