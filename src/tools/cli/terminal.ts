import type { SrvRecord } from 'node:dns';
import { styleText } from 'node:util';
import { escapeBeyondAscii, escapeUnprintable, escapeUnprintableInLines } from '../../wire/printable.ts';
import { type Canvas, type Column, flowing, rowsOf, type Style, type TableOptions, table } from './table.ts';

export interface Host
  extends Pick<Terminal, 'env' | 'cwd'>,
    Partial<Pick<Terminal, 'browse' | 'resolveSrv' | 'interruption'>> {
  readonly stdout: Screen;
  readonly stderr: Pick<Screen, 'write' | 'isTTY' | 'columns'>;
  /** @default not interactive, and the standard input is empty */
  readonly stdin?: Input;
  /** Ends the process as Ctrl-C does. @default Ctrl-C gives an empty answer */
  readonly interrupt?: () => void;
}

/** Where a service answers, by an SRV record (RFC 2782). */
export type Target = Pick<SrvRecord, 'name' | 'port'>;

export type Input = NodeJS.ReadableStream & {
  readonly isTTY?: boolean | undefined;
  readonly readableEnded?: boolean;
};

export interface Screen {
  write(text: string): unknown;
  readonly isTTY?: boolean | undefined;
  /** 0 for terminals of scripts, and of some containers, that do not know theirs; as `rows`. */
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
  readonly writableNeedDrain?: boolean | undefined;
  once?(event: 'drain', listener: () => void): unknown;
}

/** What a command uses of its process. Output may come from a hostile server: control characters are escaped, except line breaks. */
export interface Terminal extends Pick<Canvas, 'paint'> {
  /** The requested output; safe to pipe. */
  out(text: string): void;
  /** A sentence of the requested output. On a terminal what has no room goes on in the next line, indented. */
  say(text: string, style?: Style): void;
  /** Notes and errors, shown as sentences are. */
  note(text: string): void;
  /** Replaces the line of progress on a terminal's stderr; an empty text removes it. */
  progress(text: string): void;
  show(painted: string): void;
  table<T>(items: readonly T[], columns: readonly Column<T>[], options?: TableOptions): void;
  /** Writes a value to the output as JSON, on one line unless it is indented. */
  json(value: object, indent?: number): void;
  /** Waits for a slow reader of the output. */
  drained(): Promise<void>;
  /** Writes to the output as it is: for cursor movements. */
  readonly screen: Screen;
  /** Whether tables are merged with those of other services. @default false */
  readonly merges?: boolean;
  /** Whether the screen can be painted over: a terminal whose kind is known. */
  readonly repaints: boolean;
  readonly interactive: boolean;
  /** Whether a person reads the notes, although the output may go elsewhere. */
  readonly attended: boolean;
  /** An answer of the person; '' if there is none. */
  ask(question: string): Promise<string>;
  /** Like `ask`, without showing what is typed. Without a person, the first line of the standard input. */
  askSecret(question: string): Promise<string>;
  /** Opens an address in the person's browser. Resolves to false where there is none. @default none */
  readonly browse: (url: string) => Promise<boolean>;
  /** Asks DNS for the records of an SRV name. @default the system's resolver */
  readonly resolveSrv: (name: string) => Promise<readonly Target[]>;
  /** Called by commands that run until they are interrupted. @default never interrupted */
  readonly interruption: () => AbortSignal;
  /** Where the address and the credential were found, if that was not an option. Errors name them. */
  readonly sources: {
    address?: string | undefined;
    credential?: string | undefined;
    /** The profiles of which one should have been named. */
    profiles?: readonly string[];
  };
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly now: () => number;
}

export function createTerminal(host: Host): Terminal {
  const { stdout, stderr, env, cwd, interrupt = () => {} } = host;
  const colours = showsColours(env, stdout);
  // The first variable that is set decides (POSIX, 8.2). Where none is, as in most containers, the terminal shows UTF-8.
  const { LC_ALL, LC_CTYPE, LANG } = env;
  const speaksUtf8 = /utf-?8/i.test(LC_ALL || LC_CTYPE || LANG || 'UTF-8');
  const readable = speaksUtf8 ? (text: string) => text : escapeBeyondAscii;
  // A pipe or a file gets UTF-8 whatever the terminal has.
  const shown = stdout.isTTY === true ? readable : (text: string) => text;
  const plain = { paint: (text: string) => readable(escapeUnprintable(text)), screen: stderr };
  const note = (text: string) => {
    const lines = text.split('\n').map((line) => flowing(plain, [[line]]));
    stderr.write(`${lines.join('\n')}\n`);
  };
  const ask = async (question: string, hidden: boolean) => {
    const { stdin } = host;
    if (stdin?.isTTY === true) stderr.write(readable(escapeUnprintable(question)));
    const answer = stdin === undefined ? '' : await readLine(stdin, hidden && stdin.isTTY === true, interrupt);
    if (hidden && stdin?.isTTY === true) stderr.write('\n');
    return answer;
  };
  const out = (text: string) => void stdout.write(`${shown(escapeUnprintableInLines(text))}\n`);
  const show = (painted: string) => void stdout.write(`${painted}\n`);
  const paint = (text: string, style: Style | undefined) => {
    const escaped = shown(escapeUnprintable(text));
    return colours && style !== undefined ? styleText(style, escaped, { validateStream: false }) : escaped;
  };
  return {
    out,
    say: (text, style) => show(flowing({ paint, screen: stdout }, [[text, style]])),
    note,
    progress: (text) => {
      if (stderr.isTTY === true && !isDumb(env)) stderr.write(`\r${readable(escapeUnprintable(text))}\u001b[K`);
    },
    paint,
    show,
    table: (items, columns, options) => show(table({ paint, screen: stdout }, ...rowsOf(items, columns), options)),
    json: (value, indent) => out(JSON.stringify(value, undefined, indent)),
    drained: () =>
      new Promise((resolve) => {
        if (stdout.writableNeedDrain === true) stdout.once?.('drain', resolve);
        else resolve();
      }),
    screen: stdout,
    repaints: stdout.isTTY === true && !isDumb(env),
    // Node opens the standard input when it is looked at first.
    get interactive() {
      return stdout.isTTY === true && host.stdin?.isTTY === true;
    },
    get attended() {
      return host.stdin?.isTTY === true;
    },
    ask: (question) => ask(question, false),
    askSecret: (question) => ask(question, true),
    browse: host.browse ?? (async () => false),
    resolveSrv: host.resolveSrv ?? (async (name) => (await import('node:dns/promises')).resolveSrv(name)),
    interruption: host.interruption ?? (() => new AbortController().signal),
    sources: {},
    env,
    cwd,
    now: () => Date.now(),
  };
}

/** On terminals only. `FORCE_COLOR` (https://force-color.org) and `NO_COLOR` (https://no-color.org) say otherwise. */
function showsColours(env: Host['env'], { isTTY }: Screen): boolean {
  const { FORCE_COLOR: force = '', NO_COLOR: no = '' } = env;
  if (force !== '') return force !== '0' && force !== 'false';
  return no === '' && isTTY === true && !isDumb(env);
}

/** A terminal that says what it is knows escape sequences; those of Windows know them, and say nothing. */
function isDumb({ TERM: kind = process.platform === 'win32' ? 'windows' : '' }: Host['env']): boolean {
  return kind === '' || kind === 'dumb';
}

/** @param hidden the terminal echoes no keys @param interrupt called for Ctrl-C, which is then a key */
async function readLine(input: Input, hidden: boolean, interrupt: () => void): Promise<string> {
  if (input.readableEnded === true) return '';
  const [{ createInterface }, { Writable }] = await Promise.all([import('node:readline'), import('node:stream')]);
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input, output: nowhere, terminal: hidden });
  return new Promise((resolve) => {
    lines.once('line', (line) => {
      resolve(line);
      lines.close();
    });
    lines.once('SIGINT', () => {
      // The terminal echoes again from here on.
      lines.close();
      interrupt();
    });
    // The end of the input, or Ctrl-C.
    lines.once('close', () => resolve(''));
  });
}
