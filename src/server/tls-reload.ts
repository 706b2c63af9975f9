import { type BigIntStats, readFileSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import type { Schedule } from '../clock.ts';
import { isRdcpError, RdcpError } from '../errors.ts';
import { invalid, type TlsConfig, type TlsField, type TlsTexts } from './tls-files.ts';

/** After a change the files are read this often again: two writes within one tick may leave the same stamp. */
const SETTLING_READS = 4;

const FIELDS: readonly TlsField[] = ['certFile', 'keyFile', 'clientCaFile', 'crlFile'];

export interface TlsWatch {
  /** Takes the new files into use. @throws {RdcpError} when they cannot be used */
  readonly adopt: (texts: TlsTexts) => void;
  /** Called while there are files that cannot be used. Those from before stay in use. */
  readonly failed: (error: RdcpError) => void;
  /** Called when the files can be used. */
  readonly recovered: () => void;
  readonly schedule: Schedule;
  /** Milliseconds between two looks. */
  readonly intervalMs: number;
}

/** @throws {RdcpError} `RDCP_CONFIG_INVALID`, one line that names the field and not its path */
export function readTlsFiles(config: TlsConfig): TlsTexts {
  return textsOf(
    filesOf(config).map(([field, path]) => {
      try {
        return [field, readFileSync(path, 'utf8')];
      } catch (cause) {
        throw unreadable(field, cause);
      }
    }),
  );
}

/**
 * Looks at the files again and again and takes them into use when they have changed. They are polled because change
 * notifications do not arrive on network file systems and many container mounts.
 * @param current what is in use
 * @returns the way to stop
 */
export function watchTlsFiles(config: TlsConfig, current: TlsTexts, watch: TlsWatch): () => void {
  const files = filesOf(config);
  let inUse = current;
  let stamp = '';
  let settling = SETTLING_READS;
  let problem = '';
  let looking = false;

  async function look(): Promise<void> {
    const stamps = await Promise.all(
      files.map(async ([field, path]) => stampOf(await readable(field, stat(path, { bigint: true })))),
    );
    const seen = stamps.join('\n');
    if (seen !== stamp) settling = SETTLING_READS;
    if (settling === 0) return;
    settling--;
    stamp = seen;
    const texts = textsOf(
      await Promise.all(
        files.map(async ([field, path]) => [field, await readable(field, readFile(path, 'utf8'))] as const),
      ),
    );
    if (problem === '' && files.every(([field]) => texts[field] === inUse[field])) return;
    watch.adopt(texts);
    inUse = texts;
    problem = '';
    watch.recovered();
  }

  /** Certificate and key are two writes, so what is wrong at one look only is a renewal half done, and no problem. */
  function note(error: RdcpError): void {
    settling = SETTLING_READS;
    if (error.message === problem) watch.failed(error);
    problem = error.message;
  }

  return watch.schedule(watch.intervalMs, () => {
    if (looking) return;
    looking = true;
    look()
      .catch((error: unknown) =>
        note(
          isRdcpError(error)
            ? error
            : new RdcpError('RDCP_SERVER_ERROR', 'server.tls cannot be read again', { cause: error }),
        ),
      )
      .finally(() => {
        looking = false;
      });
  });
}

function filesOf(config: TlsConfig): (readonly [field: TlsField, path: string])[] {
  return FIELDS.flatMap((field) => {
    const path = config[field];
    return path === undefined ? [] : [[field, path] as const];
  });
}

function textsOf(entries: readonly (readonly [TlsField, string])[]): TlsTexts {
  return Object.fromEntries(entries);
}

async function readable<T>(field: TlsField, read: Promise<T>): Promise<T> {
  try {
    return await read;
  } catch (cause) {
    throw unreadable(field, cause);
  }
}

function stampOf({ mtimeNs, ctimeNs, size, ino }: BigIntStats): string {
  return [mtimeNs, ctimeNs, size, ino].join(' ');
}

function unreadable(field: TlsField, cause: unknown): RdcpError {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown error';
  // Without the cause, whose message holds the path.
  return invalid(field, `cannot be read (${code})`);
}
