import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { rdcp as command } from '../../src/tools/cli/rdcp.ts';
import type { Host } from '../../src/tools/cli/terminal.ts';
import { built } from '../support/built.ts';

export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A folder that is not there: this project's own may have a development key. */
const NOWHERE = join(tmpdir(), 'rdcp-no-such-folder');

export interface RunOptions {
  /** @default a folder without files */
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Typed at a terminal, or piped in. @default no terminal, and nothing to read */
  readonly typed?: string;
  readonly piped?: string;
  /** Width and height of that terminal. @default not known */
  readonly columns?: number;
  readonly rows?: number;
  /** Interrupts commands that run until then. */
  readonly interrupted?: AbortSignal;
  /** The browser of the person. @default none */
  readonly browse?: (url: string) => Promise<boolean>;
  /** The records of DNS. */
  readonly resolveSrv?: Host['resolveSrv'];
  /** Called with what is written to the standard output. */
  readonly heard?: (text: string) => void;
  /** Called with what is written to the error output. */
  readonly noted?: (text: string) => void;
}

/** Runs the command in this process, with nothing of our environment that it reads. */
export async function rdcp(args: readonly string[], options: RunOptions = {}): Promise<Finished> {
  const { cwd = NOWHERE, env, typed, piped, interrupted, heard, noted, browse, resolveSrv } = options;
  const [stdout, stderr]: [string[], string[]] = [[], []];
  const isTTY = typed !== undefined;
  const input = typed ?? piped;
  const code = await command(args, {
    stdout: {
      write: (text) => {
        stdout.push(text);
        heard?.(text);
      },
      isTTY,
      // A terminal may be resized.
      get columns() {
        return options.columns;
      },
      get rows() {
        return options.rows;
      },
    },
    stderr: {
      write: (text) => {
        stderr.push(text);
        noted?.(text);
      },
    },
    ...(input !== undefined && { stdin: Object.assign(Readable.from([input]), { isTTY }) }),
    ...(browse && { browse }),
    ...(resolveSrv && { resolveSrv }),
    ...(interrupted && { interruption: () => interrupted }),
    env: environment(env),
    cwd,
  });
  return { code, stdout: stdout.join(''), stderr: stderr.join('') };
}

/** The same as a process of its own, for tests that are about processes. */
export function rdcpProcess(args: readonly string[], { cwd, env }: RunOptions = {}): Promise<Finished> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [built('cli/main.js'), ...args],
      { cwd, env: environment(env) },
      (error, stdout, stderr) => {
        resolve({ code: typeof error?.code === 'number' ? error.code : error === null ? 0 : -1, stdout, stderr });
      },
    );
  });
}

function environment(env: RunOptions['env']): Record<string, string | undefined> {
  const read = /^(?:RDCP_.*|XDG_CONFIG_HOME|FORCE_COLOR|NO_COLOR|LANG|LC_ALL|LC_CTYPE)$/;
  const rest = Object.fromEntries(Object.entries(process.env).filter(([name]) => !read.test(name)));
  // No profile of the person who runs the tests.
  return { ...rest, TERM: 'xterm', XDG_CONFIG_HOME: '/nonexistent', ...env };
}

/** The words of a command line, as a shell takes them. */
export const wordsOf = (line: string) =>
  [...line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, ...words]) => words.find((word) => word !== undefined) ?? '',
  );

export interface Expected extends RunOptions {
  /** @default 0 */
  readonly code?: number;
  /** What its error output says. @default not compared */
  readonly err?: RegExp | string;
}

/** Types command lines, and compares what they print: a text with all of it. */
export function saying(run: (args: readonly string[], options: RunOptions) => Promise<Finished>) {
  return async (line: string, out?: RegExp | string, { code = 0, err, ...options }: Expected = {}) => {
    const finished = await run(wordsOf(line), options);
    assert.equal(finished.code, code, `${line}: ${finished.stderr}`);
    for (const [said, expected] of [[finished.stdout, out] as const, [finished.stderr, err] as const]) {
      if (expected instanceof RegExp) assert.match(said, expected, `${line}: ${said}`);
      else if (expected !== undefined) assert.equal(said, expected, line);
    }
    return finished;
  };
}

/** The objects of JSON lines. */
export const jsonLines = (text: string) => linesOf(text).map((line) => JSON.parse(line));
export const linesOf = (text: string) => text.trimEnd().split('\n');
/** The cells of a table, by row. */
export const cellsOf = (text: string) => linesOf(text).map((line) => line.split(/ {2,}/));

/** Ends the command as Ctrl-C does, once its output or its notes say so. */
export function ending(pattern: RegExp, noted: (text: string) => void = () => {}) {
  const stop = new AbortController();
  let seen = '';
  const heard = (text: string) => {
    seen += text;
    if (pattern.test(seen)) stop.abort();
  };
  return {
    interrupted: stop.signal,
    heard,
    noted: (text: string) => {
      noted(text);
      heard(text);
    },
  };
}
