import { isRdcpError, StoreOutage, storeProblem } from '../../wire/errors.ts';

/** SQLSTATE codes (https://www.postgresql.org/docs/current/errcodes-appendix.html) for which writes alone may fail. */
const REFUSED_WRITES: Readonly<Record<string, string>> = {
  '25006': 'the server is a standby, or read-only',
  '42501': 'the user lacks a permission',
  '53100': 'the disk is full',
  '53200': 'out of memory',
  '55P03': 'locked by another session',
  '57014': 'given up after statement_timeout, or cancelled',
};
const UNREACHABLE: Readonly<Record<string, string>> = {
  '28000': 'access is denied',
  '28P01': 'the password is wrong',
  '3D000': 'there is no such database',
  '53300': 'too many connections',
  '57P03': 'the server is starting or stopping',
};

/** Another statement was in the way, and nothing was done. */
const MAY_REPEAT = ['40001', '40P01'];

/** The connection leads to the wrong server, or the schema is gone: another connection checks both. */
const STALE = ['25006', '42P01', '42883', '3F000'];

/** The message says in one line what is wrong, without the texts of PostgreSQL, which may quote values. */
export function postgresProblem(error: unknown): unknown {
  const code = sqlState(error);
  // Where a name has several addresses, the error has no message of its own.
  if (code === undefined) return isSystemError(error) ? new StoreOutage(storeProblem(error), { cause: error }) : error;
  const refused = REFUSED_WRITES[code];
  if (refused !== undefined) return new StoreOutage(`the store refuses writes (${refused})`, { cause: error });
  const reason = UNREACHABLE[code] ?? `SQLSTATE ${code}`;
  return new StoreOutage(`the store cannot be reached (${reason})`, { cause: error });
}

export function mayRepeat(error: unknown): boolean {
  return MAY_REPEAT.includes(sqlState(error) ?? '');
}

export function isStale(error: unknown): boolean {
  return STALE.includes(sqlState(error) ?? '');
}

/** Whether the server has refused the statement. Otherwise the connection broke, or its server process was ended. */
export function isRefusal(error: unknown): boolean {
  const code = sqlState(error);
  return code !== undefined && !/^(08|57P0[12])/.test(code);
}

function isSystemError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && !isRdcpError(error);
}

function sqlState(error: unknown): string | undefined {
  const code = error instanceof Error && 'severity' in error && 'code' in error ? String(error.code) : '';
  return /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}
