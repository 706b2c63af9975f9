import { createRequire } from 'node:module';
import { invalidStore } from '../invalid.ts';

// The parts of the `pg` package that we use, declared here so that its types are not needed.

/** A statement as the `pg` package takes it. */
export interface PostgresStatement {
  /** With `$1`, `$2` … for the values. */
  readonly text: string;
  /** The values. */
  values: unknown[];
  /** How columns are converted. */
  readonly types: {
    /** Returns what converts a column of a type. */
    getTypeParser(): (value: string) => unknown;
  };
}

/** A client of a pool of the `pg` package. */
export interface PostgresClient {
  /** Runs one statement. */
  query(statement: PostgresStatement): Promise<{
    /** What the statement returned. */
    rows: Record<string, unknown>[];
  }>;
  /** Adds a listener of an event, such as `error`. */
  on(event: 'error' | 'end', listener: () => void): unknown;
  /** Gives it back to its pool; with `true` it is closed. */
  release(destroy?: boolean): void;
}

/** A `Pool` of the `pg` package. */
export interface PostgresPool {
  /** Lends a client until it is released. */
  connect(): Promise<PostgresClient>;
}

/** A message of `NOTIFY`. */
export interface Notification {
  readonly channel: string;
  readonly payload?: string;
}

/** An open connection, the store's own or lent by a pool. */
export interface PostgresLink extends Omit<PostgresClient, 'on' | 'release'> {
  on(event: 'error' | 'end', listener: () => void): unknown;
  on(event: 'notification', listener: (message: Notification) => void): unknown;
  /** The process of the server, as the connection was told at its start. */
  readonly processID?: number | null;
  /** Lets the process end although the connection is open. */
  unref(): void;
  /** Closes it at once. */
  close(): void;
}

interface OwnClient extends Omit<PostgresLink, 'close'> {
  connect(): Promise<unknown>;
  end(): Promise<void>;
}

interface Pg {
  readonly Client: new (options: object) => OwnClient;
}

/**
 * Opens connections to the database of a URL.
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` for an invalid URL, or when the `pg` package is not installed
 */
export function connectionTo(url: string): (timeoutMs: number) => Promise<PostgresLink> {
  const { Client } = loadPg();
  if (parametersOf(url) === undefined) {
    throw invalidStore('postgres: must be a URL, postgres://[user:password@]host[:port]/database[?sslmode=…]');
  }
  const make = (timeoutMs = 0) =>
    new Client({
      connectionString: url,
      connectionTimeoutMillis: timeoutMs,
      fallback_application_name: 'opentelemetry-instrumentation-rdcp',
      keepAlive: true,
    });
  try {
    make();
  } catch (error) {
    const isFile = error instanceof Error && 'syscall' in error;
    const problem = isFile ? 'sslrootcert, sslcert or sslkey cannot be read' : 'the URL cannot be used';
    throw invalidStore(`postgres: ${problem}`, error);
  }
  return (timeoutMs) => opened(make(timeoutMs));
}

async function opened(client: OwnClient): Promise<PostgresLink> {
  // An `error` event without a listener would end the application's process.
  client.on('error', () => {});
  client.unref();
  const close = () => void client.end().catch(() => {});
  try {
    await client.connect();
  } catch (error) {
    close();
    throw error;
  }
  // TLS put another socket in the place of the first.
  client.unref();
  return Object.assign(client, { close });
}

/**
 * Keeps one client of an application's pool.
 * @throws {RdcpError} `RDCP_CONFIG_INVALID` for anything but a pool of `pg`
 */
export function connectionFrom(pool: PostgresPool): () => Promise<PostgresLink> {
  const typeOf = (name: string) => typeof Reflect.get(Object(pool), name);
  if (typeOf('connect') !== 'function' || typeOf('totalCount') !== 'number') {
    throw invalidStore('postgres: pool must be a Pool of the package pg, version 8.16 or newer');
  }
  return async () => {
    const client = (await pool.connect()) as PostgresClient & Omit<PostgresLink, 'close'>;
    client.unref();
    // What this store has set and listens to would stay with a client that goes back to the pool.
    return Object.assign(client, { close: () => client.release(true) });
  };
}

/** A parameter of a URL that is ours. */
export function parameterOf(url: string, name: 'schema' | 'owner'): string | undefined {
  return parametersOf(url)?.get(name) ?? undefined;
}

function parametersOf(url: string): URLSearchParams | undefined {
  // The host may be left out, for a socket.
  const complete = url.replace(/^(postgres(?:ql)?:\/\/[^/?]*@)(?=\/|\?|$)/, '$1localhost');
  if (!/^postgres(ql)?:\/\//.test(url) || !URL.canParse(complete)) return undefined;
  const { searchParams, username, password } = new URL(complete);
  try {
    // Invalid escapes fail here, instead of at every connection attempt.
    decodeURIComponent(username + password);
  } catch {
    return undefined;
  }
  return searchParams;
}

function loadPg(): Pg {
  try {
    return createRequire(import.meta.url)('pg');
  } catch (error) {
    throw invalidStore('needs the package pg, version 8.16 or newer: run npm install pg', error);
  }
}
