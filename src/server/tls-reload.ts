import type { Schedule } from '../clock.ts';
import { isRdcpError, RdcpError } from '../errors.ts';
import { FileChanges } from '../file-changes.ts';
import { invalid, type TlsConfig, type TlsField, type TlsTexts } from './tls-files.ts';

const FIELDS: readonly TlsField[] = ['certFile', 'keyFile', 'clientCaFile', 'crlFile'];

export interface TlsWatch {
  /** Applies the new files. @throws {RdcpError} when they cannot be used */
  readonly adopt: (texts: TlsTexts) => void;
  /** Called while the files cannot be used. The previous ones stay in use. */
  readonly failed: (error: RdcpError) => void;
  /** Called when the files can be used again. */
  readonly recovered: () => void;
  readonly schedule: Schedule;
  /** Poll interval in milliseconds. */
  readonly intervalMs: number;
}

/** @throws {RdcpError} `RDCP_CONFIG_INVALID`, one line that names the field, without its path */
export function readTlsFiles(config: TlsConfig): TlsTexts {
  return filesOf(config).readSync();
}

/**
 * Polls the files and applies changes.
 * @param current the texts in use
 * @returns a function that stops polling
 */
export function watchTlsFiles(config: TlsConfig, current: TlsTexts, watch: TlsWatch): () => void {
  const files = filesOf(config);
  let inUse = current;
  let problem = '';
  let looking = false;

  async function look(): Promise<void> {
    const texts = await files.look();
    if (texts === undefined) return;
    if (problem === '' && FIELDS.every((field) => texts[field] === inUse[field])) return;
    watch.adopt(texts);
    inUse = texts;
    problem = '';
    watch.recovered();
  }

  /** Certificate and key are two writes, so a problem seen only once is an unfinished renewal and not reported. */
  function note(error: RdcpError): void {
    files.lookCloser();
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

function filesOf(config: TlsConfig): FileChanges<TlsField> {
  const files = FIELDS.flatMap((field) => {
    const path = config[field];
    return path === undefined ? [] : [[field, path] as const];
  });
  // Without the cause, whose message contains the path.
  return new FileChanges(files, (field, code) => invalid(field, `cannot be read (${code})`));
}
